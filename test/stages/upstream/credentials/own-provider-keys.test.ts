// suite: slow
/**
 * Callers that bring their own provider key: what one user's account does to no other user and not
 * to the operator's account, and whose secret is sent.
 */

import { describe, expect, it } from 'vitest';
import { perKey } from '../../../../src/index.ts';
import type { CallHandler, DrivenCall } from '../../../support/driven-upstream.ts';
import { gatewayInProcess } from '../../../support/gateway-in-process.ts';
import { isFailedAttempt } from '../../../support/laws/event-checks.ts';
import { channel, completeReply, model, sampleRequests } from '../../../support/models.ts';
import {
  bearer,
  type Credential,
  keyOf,
  operatorSecret,
  ownKeys,
  secretIn,
  secretOfUser,
  tenants,
  type User,
  users,
} from '../../keys/tenants.ts';

/** The ways in which an upstream treats a bad account. */
const treatments: Readonly<Record<string, CallHandler>> = {
  'refuses the key': (up) => up.answer(401, { error: { code: 'invalid_api_key' } }),
  'is unpaid': (up) => up.answer(402, { error: { message: 'Pay.' } }),
  'forbids it': (up) => up.answer(403, { error: { message: 'No.' } }),
  'does not have the model': (up) => up.answer(404, { error: { message: 'No model.' } }),
  'limits its rate': (up) => up.answer(429, { error: { message: 'Slow down.' } }),
  'is out of quota': (up) => up.answer(429, { error: { code: 'insufficient_quota' } }),
  fails: (up) => up.answer(500, { error: { message: 'Oops.' } }),
  'is overloaded': (up) => up.answer(503, { error: { message: 'Busy.' } }),
  redirects: (up) => up.answer(302, ''),
  'is unreachable': (up) => up.breakOff('connect_refused', { stage: 'connect' }),
  'breaks off': (up) => up.breakOff('reset'),
  'times out': (up) => up.breakOff('headers_timeout', { timedOut: true }),
  'answers no JSON': (up) => up.answer(200, 'not json'),
};

const gaps = [0, 1_000, 11_000, 31_000, 61_000];

describe.each(Object.entries(treatments))('an account that the upstream %s', (_how, treat) => {
  const badFor =
    (secret: string) =>
    (up: DrivenCall): boolean => {
      if (secretIn(up) !== secret) return false;
      treat(up);
      return true;
    };

  it('is one user’s own: no call of another user or of the operator fails', async () => {
    const { as, sent, clock, events, gateway } = tenants(
      [{ credential: ownKeys }],
      badFor(secretOfUser.alice),
    );

    for (let round = 0; round < 12; round += 1) {
      expect((await as('alice')).status).not.toBe(200);
      for (const user of ['bob', 'operator'] as const) expect((await as(user)).status).toBe(200);
      clock.advance(gaps[round % gaps.length] ?? 0);
    }

    expect(sent().filter((secret) => secret === secretOfUser.bob)).toHaveLength(12);
    expect(sent().filter((secret) => secret === operatorSecret)).toHaveLength(12);
    expect(events.filter(({ type }) => type === 'channel_changed')).toEqual([]);
    expect(gateway.channels()).toMatchObject([{ channelId: 'c0', state: 'ready', models: [] }]);
  });

  it('is the operator’s: users with a key of their own are served', async () => {
    const { as, clock } = tenants([{ credential: ownKeys }], badFor(operatorSecret));

    for (let round = 0; round < 12; round += 1) {
      expect((await as('operator')).status).not.toBe(200);
      for (const user of ['alice', 'bob'] as const) expect((await as(user)).status).toBe(200);
      clock.advance(gaps[round % gaps.length] ?? 0);
    }
  });
});

describe('an account with the name of the channel or of its own account', () => {
  const names = ['c0', 'main', 'undefined', '__proto__'];

  it.each(names)('is another account than the channel’s: %s', async (name) => {
    for (const treat of Object.values(treatments)) {
      for (const bad of [secretOfUser.alice, operatorSecret]) {
        const named: Credential = ({ key }) =>
          key.id === 'alice' ? { secret: secretOfUser.alice, account: name } : operatorSecret;
        const { as, events } = tenants(
          [{ credential: perKey(named), account: 'main' }],
          (up, secret) => {
            if (secret !== bad) return false;
            treat(up);
            return true;
          },
        );
        const [failing, other] =
          bad === operatorSecret ? (['bob', 'alice'] as const) : (['alice', 'bob'] as const);

        for (let round = 0; round < 6; round += 1) {
          expect((await as(failing)).status).not.toBe(200);
          expect((await as(other)).status).toBe(200);
        }

        const failed = events.filter(isFailedAttempt);
        const shown = failing === 'alice' ? name : 'main';
        expect(new Set(failed.map(({ account }) => account))).toEqual(new Set([shown]));
        const changes = events.filter(({ type }) => type === 'channel_changed');
        if (failing === 'alice') expect(changes).toEqual([]);
      }
    }
  });
});

describe('a user’s own key', () => {
  it('is sent for this user’s calls only', async () => {
    const { as, sent } = tenants([{ credential: ownKeys }]);
    const order: readonly User[] = ['alice', 'operator', 'bob', 'alice', 'bob', 'operator'];

    for (const user of order) await as(user);

    expect(sent()).toEqual(
      order.map((user) => (user === 'operator' ? operatorSecret : secretOfUser[user])),
    );
  });

  it('is skipped where the user has none, and never replaced by the operator’s', async () => {
    const perUser: Credential = ({ key }) =>
      key.id === 'alice' ? { secret: secretOfUser.alice, account: 'alice' } : undefined;
    const { as, sent, events } = tenants([{ credential: perUser }]);

    const replies = [await as('alice'), await as('bob')];

    expect(replies.map(({ status }) => status)).toEqual([200, 503]);
    expect(replies[1]?.headers).toMatchObject({ 'x-should-retry': 'false' });
    expect(sent()).toEqual([secretOfUser.alice]);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'no_channel', reason: 'no_credential' }),
    );
  });

  it('leaves calls without it to the channels that need none', async () => {
    const perUser: Credential = ({ key }) =>
      key.id === 'alice' ? { secret: secretOfUser.alice, account: 'alice' } : undefined;
    const { as, sent } = tenants([
      { credential: perUser },
      { credential: operatorSecret, priority: 1 },
    ]);

    for (const user of users) expect((await as(user)).status).toBe(200);

    expect(sent()).toEqual([secretOfUser.alice, operatorSecret, operatorSecret]);
  });

  it('gets the key, the model and the channel', async () => {
    const requests: unknown[] = [];
    const { as } = tenants([
      {
        credential: (request) => {
          requests.push(request);
          return operatorSecret;
        },
      },
    ]);

    await as('alice');

    expect(requests).toMatchObject([
      { key: { id: 'alice' }, model: { id: 'chat' }, channel: { id: 'c0' } },
    ]);
  });

  it('needs no declared parameter, once the function has named an account', async () => {
    const viaRest: Credential = (...requests) => ownKeys(...requests);
    const { as } = tenants([{ credential: viaRest }], (up, secret) => {
      if (secret !== operatorSecret) return false;
      up.answer(401, { error: { code: 'invalid_api_key' } });
      return true;
    });

    const statuses = [];
    for (const user of ['bob', 'operator', 'alice'] as const)
      statuses.push((await as(user)).status);

    expect([viaRest.length, statuses]).toEqual([0, [200, 502, 200]]);
  });

  it('is asked for once a call, and again for the next', async () => {
    let lookups = 0;
    const counted: Credential = ({ key }) => {
      lookups += 1;
      return { secret: secretOfUser.alice, account: key.id };
    };
    const { as } = tenants([{ credential: counted }]);

    await as('alice');
    await as('alice');

    expect(lookups).toBe(2);
  });

  it('replaces a refused one at once', async () => {
    let secret = 'sk-alice-mistyped-0123';
    const { as } = tenants(
      [{ credential: ({ key }) => ({ secret, account: key.id }) }],
      (up, sent) => {
        if (sent !== 'sk-alice-mistyped-0123') return false;
        up.answer(401, { error: { code: 'invalid_api_key' } });
        return true;
      },
    );

    const statuses = [(await as('alice')).status, (await as('alice')).status];
    secret = secretOfUser.alice;
    statuses.push((await as('alice')).status);

    expect(statuses).toEqual([502, 503, 200]);
  });

  it('is in no error text, event or record, even if the upstream repeats it', async () => {
    const { as, events, records } = tenants([{ credential: ownKeys }], (up, secret) => {
      up.answer(400, {
        error: { message: `Key ${secret} may not do this.`, code: secret, param: secret },
      });
      return true;
    });

    const replies = [await as('alice'), await as('bob'), await as('operator'), await as('alice')];

    expect(replies.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    const seen = JSON.stringify(
      [replies.map(({ text, headers }) => [text, headers]), events, records],
      (_name, value) => (typeof value === 'bigint' ? String(value) : value),
    );
    for (const secret of [...Object.values(secretOfUser), operatorSecret]) {
      expect(seen).not.toContain(secret);
    }
  });

  it('names its account in the event of a failed attempt', async () => {
    const { as, events } = tenants([{ credential: ownKeys }], (up) => {
      up.answer(500, {});
      return true;
    });

    for (const user of users) await as(user);

    const failed = events.filter(isFailedAttempt);
    expect(failed).toMatchObject([
      { account: 'alice', channelId: 'c0' },
      { account: 'bob', channelId: 'c0' },
      { account: undefined, channelId: 'c0' },
    ]);
  });
});

describe('the time to wait', () => {
  const limited = (seconds: number): CallHandler => {
    return (up) => up.answer(429, {}, { 'retry-after': String(seconds) });
  };

  it('is that of the caller’s own account, not of the channel’s', async () => {
    const { as } = tenants(
      [{ credential: ownKeys }, { credential: 'sk-second', priority: 1 }],
      (up, secret) => {
        const seconds = { [secretOfUser.alice]: 20, 'sk-second': 40 }[secret];
        if (seconds === undefined) return false;
        limited(seconds)(up);
        return true;
      },
    );

    const { status, headers } = await as('alice');

    expect([status, headers['retry-after']]).toEqual([429, '20']);
  });

  it('counts no channel for which the caller has no secret', async () => {
    const notBob: Credential = ({ key }) => (key.id === 'bob' ? undefined : operatorSecret);
    const { as } = tenants(
      [{ credential: notBob }, { credential: 'sk-second', priority: 1 }],
      (up, secret) => {
        limited(secret === operatorSecret ? 5 : 40)(up);
        return true;
      },
    );
    await as('operator');

    const { status, headers } = await as('bob');

    expect([status, headers['retry-after']]).toEqual([429, '40']);
  });
});

it('a caller whose own account is silent leaves for free, though others are answered', async () => {
  const harness = gatewayInProcess({
    models: [model({ channels: [channel({ credential: ownKeys })] })],
    options: { keys: { find: (secret) => keyOf(secret) } },
  });
  const waiting = harness.start({ ...sampleRequests.chat, headers: bearer('alice') });
  await harness.upstream.next();
  harness.clock.advance(15_000);
  const other = harness.start({ ...sampleRequests.chat, headers: bearer('bob') });
  completeReply('chat')(await harness.upstream.next());
  await other.reply;
  await harness.nextRecord();

  harness.clock.advance(5_000);
  waiting.disconnect();

  expect(await harness.nextRecord()).toMatchObject({ keyId: 'alice', chargeNanos: 0n });
});
