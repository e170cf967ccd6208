// suite: quick
/** The limit on invalid keys from one address. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isGatewayError } from '../../../src/errors.ts';
import type { KeyStore } from '../../../src/ports/keys/key-store.ts';
import { failedKeys } from '../../../src/stages/keys/failed-keys.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { gatewayInProcess, type InProcessGateway } from '../../support/gateway-in-process.ts';
import { completeReply, kinds, sampleRequests } from '../../support/models.ts';
import { failures, inTime, untyped } from '../ports/failing.ts';

const addressHeader = 'x-client-address';
const perMinute = 3;

interface Limited {
  readonly running: InProcessGateway;
  /** The secrets that the key store was asked for. */
  readonly lookups: readonly string[];
  call(secret: string, address?: string): Promise<{ status: number; wait: string }>;
}

type Find = (secret: string) => ReturnType<KeyStore['find']>;

function limited(
  kind: (typeof kinds)[number] = 'chat',
  limit: object = { perMinute },
  findOther: Find = () => undefined,
): Limited {
  const lookups: string[] = [];
  const key = {
    id: 'caller',
    group: 'staff',
    disabled: false,
    quota: [{ id: 'caller', period: 'total', limitNanos: 1_000_000n }],
  } as const;
  const running = gatewayInProcess({
    handlers: Array(50).fill(completeReply(kind)),
    options: {
      keys: {
        find: (secret) => {
          lookups.push(secret);
          return secret === 'good' ? key : findOther(secret);
        },
      },
      failedKeyLimit: {
        addressOf: ({ headers }) => headers[addressHeader]?.toString(),
        ...limit,
      },
    },
  });
  return {
    running,
    lookups,
    call: async (secret, address = 'a') => {
      const { status, headers } = await running.call({
        ...sampleRequests[kind],
        headers: {
          [addressHeader]: address,
          authorization: `Bearer ${secret}`,
          'x-vendor-api-key': secret,
        },
      });
      return { status, wait: headers['retry-after'] ?? '' };
    },
  };
}

describe.each(kinds)('%s: an address that sent too many invalid keys', (kind) => {
  it('is refused without a lookup, whatever key it sends, until its time has passed', async () => {
    const { call, lookups, running } = limited(kind);
    for (let sent = 0; sent < perMinute; sent += 1) {
      expect((await call('bad')).status).toBe(401);
    }

    expect(await call('bad')).toEqual({ status: 429, wait: '20' });
    expect(await call('good')).toEqual({ status: 429, wait: '20' });
    expect(lookups).toHaveLength(perMinute);
    running.clock.advance(19_999);
    expect((await call('good')).status).toBe(429);
    running.clock.advance(1);
    expect((await call('good')).status).toBe(200);
  });

  it('does not stop other addresses, or those that are not limited', async () => {
    const { call } = limited(kind);
    for (let sent = 0; sent <= perMinute; sent += 1) await call('bad');

    expect((await call('good', 'b')).status).toBe(200);
  });
});

it('valid keys do not count', async () => {
  const { call } = limited();

  for (let sent = 0; sent < 10 * perMinute; sent += 1) {
    expect((await call('good')).status).toBe(200);
  }
});

const outages: readonly (readonly [string, () => unknown])[] = [
  ...failures.map(({ how, fail }) => [how, fail] as const),
  ['rejects with an error of its own', () => Promise.reject(new TypeError('no pool'))],
  ['rejects with nothing', () => Promise.reject(undefined)],
  ['rejects with the code of an invalid key', () => Promise.reject({ code: 'invalid_key' })],
  ...['', 'key', 5, true, [], {}, { id: 'caller' }, { id: '', group: 'staff', quota: [] }].map(
    (found) => [`returns ${JSON.stringify(found)}`, untyped(found)] as const,
  ),
];

it.each(outages)('no key counts while the key store %s', async (_how, fail) => {
  let isOut = true;
  const find = (): never | undefined => (isOut ? untyped(fail())() : undefined);
  const { call, running } = limited('chat', { perMinute }, find);
  for (let wave = 0; wave < 2; wave += 1) {
    const sent = Promise.all(Array.from({ length: 2 * perMinute }, () => call('unknown')));
    for (const { status } of await inTime(running.clock, sent)) expect(status).toBe(503);
  }
  isOut = false;

  const statuses = [];
  for (let sent = 0; sent <= perMinute; sent += 1) statuses.push((await call('bad')).status);
  expect(statuses).toEqual([...Array(perMinute).fill(401), 429]);
});

it('requests from an undefined address do not count', async () => {
  const { call } = limited('chat', { perMinute, addressOf: () => undefined });

  for (let sent = 0; sent < 2 * perMinute; sent += 1) {
    expect((await call('bad')).status).toBe(401);
  }
});

it.each([
  [
    'throws',
    () => {
      throw new Error('no address');
    },
  ],
  ['returns no text', () => 5],
  ['returns an empty text', () => ''],
])('an addressOf that %s lets nobody in, and is reported', async (_name, addressOf) => {
  const { call, running, lookups } = limited('chat', { addressOf });

  expect((await call('good')).status).toBe(503);
  expect(lookups).toEqual([]);
  expect(running.events).toContainEqual(
    expect.objectContaining({ type: 'port_failed', port: 'failed_key_limit' }),
  );
});

describe('requests that come at the same time', () => {
  it.each([1, 3, 30])('cause no more lookups of invalid keys than the limit: %i', async (limit) => {
    const { call, lookups, running } = limited('chat', { perMinute: limit });
    const wave = async (): Promise<readonly number[]> =>
      (await Promise.all(Array.from({ length: 200 }, () => call('bad')))).map(
        ({ status }) => status,
      );

    const first = await wave();
    expect(first.filter((status) => status === 401)).toHaveLength(limit);
    expect(first.filter((status) => status === 429)).toHaveLength(200 - limit);
    expect(lookups).toHaveLength(limit);
    running.clock.advance(60_000 / limit);
    await wave();
    expect(lookups).toHaveLength(limit + 1);
  });

  it('are all served with valid keys, however many there are', async () => {
    const { call } = limited('chat', { perMinute: 2 });

    const replies = await Promise.all(Array.from({ length: 40 }, () => call('good')));

    expect(replies.map(({ status }) => status)).toEqual(Array(40).fill(200));
  });

  it('are all answered, whatever the order in which lookups end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 4 }),
        fc.array(fc.record({ isValid: fc.boolean(), after: fc.nat(5) }), { maxLength: 40 }),
        async (limit, callers) => {
          const failed = failedKeys(fakeClock());
          let invalid = 0;
          const send = async ({ isValid, after }: (typeof callers)[number]): Promise<boolean> => {
            for (let turn = 0; turn < after; turn += 1) await Promise.resolve();
            const lookup = await failed.begin('a', limit).catch(() => undefined);
            if (lookup === undefined) return false;
            for (let turn = 0; turn < after; turn += 1) await Promise.resolve();
            if (!isValid) invalid += 1;
            lookup.end(!isValid);
            return true;
          };
          const allowed = await Promise.all(callers.map(send));

          const sentInvalid = callers.filter(({ isValid }) => !isValid).length;
          expect(invalid).toBeLessThanOrEqual(limit);
          if (sentInvalid < limit) expect(allowed).not.toContain(false);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** Sends one key and its answer; false if the address has to wait. */
async function sendInvalid(
  failed: ReturnType<typeof failedKeys>,
  address: string,
  limit: number,
): Promise<number | undefined> {
  try {
    (await failed.begin(address, limit)).end(true);
    return undefined;
  } catch (error) {
    return isGatewayError(error) ? error.retryAfterMs : Number.NaN;
  }
}

it('never lets more keys through than a bucket that refills evenly', async () => {
  const event = fc.tuple(fc.constantFrom('a', 'b'), fc.nat(90_000));
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 60 }),
      fc.array(event, { maxLength: 200 }),
      async (limit, events) => {
        const clock = fakeClock();
        const failed = failedKeys(clock);
        const sent = new Map<string, number[]>();
        for (const [address, afterMs] of events) {
          clock.advance(afterMs % 7 === 0 ? afterMs : afterMs % 500);
          if ((await sendInvalid(failed, address, limit)) !== undefined) continue;
          sent.set(address, [...(sent.get(address) ?? []), clock.monotonicMs()]);
        }
        for (const times of sent.values()) {
          for (const [index, startMs] of times.entries()) {
            for (const [later, endMs] of times.entries()) {
              if (later < index) continue;
              const allowed = limit + ((endMs - startMs) / 60_000) * limit;
              expect(later - index + 1).toBeLessThanOrEqual(allowed + 1e-6);
            }
          }
        }
      },
    ),
    { numRuns: 200 },
  );
});

it('states the time to wait, to within two milliseconds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 100 }), fc.nat(60_000), async (limit, afterMs) => {
      const clock = fakeClock();
      const failed = failedKeys(clock);
      for (let sent = 0; sent < limit; sent += 1) await sendInvalid(failed, 'a', limit);
      clock.advance(afterMs);
      const waitMs = await sendInvalid(failed, 'a', limit);
      if (waitMs === undefined) return;
      // Two, because of rounding.
      clock.advance(Math.max(0, waitMs - 2));
      expect(await sendInvalid(failed, 'a', limit)).toBeGreaterThan(0);
      clock.advance(2);
      expect(await sendInvalid(failed, 'a', limit)).toBeUndefined();
    }),
    { numRuns: 200 },
  );
});

it('forgets the address whose last lookup is longest ago, above 10,000 of them', async () => {
  const failed = failedKeys(fakeClock());
  const send = (address: string): Promise<number | undefined> => sendInvalid(failed, address, 2);
  for (const address of ['first', 'first', 'second', 'second']) await send(address);
  const lookup = await failed.begin('third', 2);
  await send('first');
  for (let index = 0; index < 9_999; index += 1) await send(String(index));
  lookup.end(true);

  expect(await send('second')).toBeUndefined();
  expect(await send('3')).toBeUndefined();
});
