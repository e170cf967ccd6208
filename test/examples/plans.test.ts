// suite: slow
/** The example's plans limit what users spend, and change at once. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  creditPayment,
  keysOfUsers,
  type Plan,
  plans,
  type UserKey,
} from '../../examples/plans.ts';
import { cachedKeyStore, digestSecret, memoryQuotaStore, money } from '../../src/index.ts';
import {
  callerSecret,
  gatewayInProcess,
  type InProcessGateway,
} from '../support/gateway-in-process.ts';
import { completeReply, heldNanos, sampleRequests } from '../support/models.ts';

const pepper = 'a pepper of the host';
/** A call holds 211 nanos and costs 20. */
const callNanos = 20n;
/** Plans that are small enough to be used up: one call, and three. */
const rates = { calls: { perMinute: 100 } };
const small: Readonly<Record<string, Plan>> = {
  free: { group: 'staff', period: 'month', limitNanos: heldNanos.chat, rates },
  pro: { group: 'staff', period: 'month', limitNanos: heldNanos.chat + 2n * callNanos, rates },
  prepaid: { group: 'staff', period: 'total', limitNanos: 0n, rates },
  slow: {
    group: 'staff',
    period: 'month',
    limitNanos: 1_000n,
    rates: { calls: { perMinute: 2 }, tokens: { perMinute: 1_000 } },
  },
};

interface Host {
  readonly gateway: InProcessGateway;
  /** Changes the user's row, as the host's own routes do. */
  change(row: Partial<UserKey>): void;
  /** The status of one chat. */
  chat(): Promise<number>;
  left(): Promise<unknown>;
}

/** A gateway over a table with one user, who has one key. */
function host(plan: string): Host {
  let row: UserKey = { keyId: 'key-of-ada', userId: 'ada', plan, suspended: false };
  const users = {
    keyByDigest: async (digest: string) =>
      digest === digestSecret(callerSecret, pepper) ? row : undefined,
  };
  const keys = cachedKeyStore(keysOfUsers(users, { plans: small, pepper }));
  const gateway = gatewayInProcess({
    options: { keys, ownerRoutes: true },
    handlers: Array.from({ length: 20 }, () => completeReply('chat')),
  });
  return {
    gateway,
    change: (change) => {
      keys.forget(row.keyId);
      row = { ...row, ...change };
    },
    chat: async () => (await gateway.call(sampleRequests.chat)).status,
    left: async () => {
      const { text } = await gateway.call({ method: 'GET', path: '/v1/key' });
      return JSON.parse(text).tollgate.quota[0].remaining;
    },
  };
}

/** Calls until one is refused, and returns how many were served. */
async function callsServed({ chat }: Host): Promise<number> {
  for (let served = 0; ; served += 1) if ((await chat()) !== 200) return served;
}

describe('examples/plans', () => {
  it('a user who has used up the plan continues as soon as the plan is upgraded', async () => {
    const ada = host('free');

    const before = await callsServed(ada);
    ada.change({ plan: 'pro' });
    const after = await callsServed(ada);

    expect([before, after]).toEqual([1, 2]);
  });

  it('all keys of a user share the rate limits of the plan', async () => {
    const ada = host('slow');

    const first = await ada.chat();
    ada.change({ keyId: 'second-key-of-ada' });
    const second = await ada.chat();
    const third = await ada.gateway.call(sampleRequests.chat);

    expect([first, second, third.status]).toEqual([200, 200, 429]);
    expect(third.headers['x-ratelimit-remaining-requests']).toBe('0');
    ada.change({ plan: 'pro' });
    expect(await ada.chat()).toBe(200);
  });

  it('a downgrade counts at once too', async () => {
    const ada = host('pro');

    const before = await ada.chat();
    ada.change({ plan: 'free' });

    expect([before, await ada.chat()]).toEqual([200, 403]);
  });

  it('a suspended user is refused, and so is one with an unknown plan', async () => {
    const ada = host('pro');

    ada.change({ suspended: true });
    const suspended = await ada.chat();
    ada.change({ suspended: false, plan: 'gold' });

    expect([suspended, await ada.chat()]).toEqual([401, 401]);
  });

  it('a payment is credited once, however often and whenever it is reported', async () => {
    const ada = host('prepaid');
    const { quota } = ada.gateway;
    const payment = { id: 'pi_1', userId: 'ada', amount: '0.000000251' };

    const unpaid = await ada.chat();
    await Promise.all([creditPayment(quota, payment), creditPayment(quota, payment)]);
    const paid = await ada.left();
    const served = await callsServed(ada);
    await creditPayment(quota, payment);
    const left = await ada.left();
    await creditPayment(quota, { ...payment, id: 'pi_2' });

    expect(unpaid).toBe(403);
    expect(paid).toBe('0.000000251');
    expect(served).toBe(3);
    expect(left).toBe('0.000000191');
    expect(await ada.left()).toBe('0.000000442');
  });

  it.each([
    ['three characters', 'p_1'],
    ['dots', 'pay.2026.11.4711'],
    ['66 characters', `cs_test_${'a1B2'.repeat(14)}Zz`],
    ['255 characters', 'x'.repeat(255)],
    ['spaces and a slash', 'order 4711 / part 2'],
    ['characters beyond ASCII', 'Zahlung-für-Ädä-💶'],
    ['nothing', ''],
  ])('a payment whose id has %s is credited once', async (_what, id) => {
    const ada = host('prepaid');
    const { quota } = ada.gateway;
    const payment = { id, userId: 'ada', amount: '0.000000251' };

    await creditPayment(quota, payment);
    await creditPayment(quota, payment);
    const credited = await ada.left();
    await creditPayment(quota, { ...payment, id: `${id}.` });

    expect(credited).toBe('0.000000251');
    expect(await ada.left()).toBe('0.000000502');
  });

  it('a payment of any id is credited once', async () => {
    const ids = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 255 }), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(ids, async (paymentIds) => {
        const quota = memoryQuotaStore();
        for (const id of [...paymentIds, ...paymentIds]) {
          await creditPayment(quota, { id, userId: 'ada', amount: '1' });
        }

        const row = await quota.read('ada', '', 'default');
        expect(row?.extra ?? 0n).toBe(BigInt(paymentIds.length) * money('1'));
      }),
      { numRuns: 60 },
    );
  });

  it('the owner sees the plan, in units', async () => {
    const ada = host('pro');
    const { text } = await ada.gateway.call({ method: 'GET', path: '/v1/key' });

    expect(JSON.parse(text).data).toMatchObject({
      label: 'key-of-ada',
      limit: 0.000_000_251,
      limit_reset: 'monthly',
    });
    expect(plans.pro).toMatchObject({ period: 'month', limitNanos: 20_000_000_000n });
  });
});
