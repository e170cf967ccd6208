/**
 * Callers that bring their own provider key: what one user's account does to no other user and not
 * to the operator's account, and whose secret is sent.
 */
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../src/ports/catalog.ts';
import type { ApiKey } from '../../src/ports/key-store.ts';
import type { CallHandler, DrivenCall } from '../support/driven-upstream.ts';
import {
  type CallerReply,
  gatewayInProcess,
  type InProcessGateway,
} from '../support/gateway-in-process.ts';
import { channel, completeReply, model, sampleRequests } from '../support/models.ts';
import { failures, inTime, turns, untyped } from './failing.ts';

type User = 'alice' | 'bob' | 'operator';

const users: readonly User[] = ['alice', 'bob', 'operator'];
const operatorSecret = 'sk-operator-0123456789';
/** Alice's key is the bad one. */
const secretOfUser = { alice: 'sk-alice-9876543210', bob: 'sk-bob-5555555555' };

type Credential = Exclude<Channel['credential'], string>;

/** Users who brought a key use it; the operator's key is for the others. */
const ownKeys: Credential = async ({ key: { id } }) =>
  id === 'alice' || id === 'bob' ? { secret: secretOfUser[id], account: id } : operatorSecret;

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

interface Tenants extends Pick<InProcessGateway, 'clock' | 'events' | 'gateway' | 'records'> {
  /** Calls as this user. */
  as(user: User): Promise<CallerReply>;
  /** The secrets that were sent upstream, in order. */
  sent(): readonly string[];
}

/** A gateway whose callers are the users; `bad` treats calls with Alice's secret. */
function tenants(
  channels: readonly Partial<Channel>[],
  bad: (call: DrivenCall, user: string) => boolean = () => false,
): Tenants {
  const good = completeReply('chat');
  const handler: CallHandler = (up) => {
    if (!bad(up, secretIn(up))) good(up);
  };
  const harness = gatewayInProcess({
    models: [
      model({
        channels: channels.map((change, index) => channel({ id: `c${index}`, ...change })),
      }),
    ],
    handlers: Array.from({ length: 400 }, () => handler),
    options: { keys: { find: (secret) => keyOf(secret) } },
  });
  return {
    ...harness,
    as: (user) => harness.call({ ...sampleRequests.chat, headers: bearer(user) }),
    sent: () => harness.upstream.calls.map(secretIn),
  };
}

function bearer(user: User): { readonly authorization: string } {
  return { authorization: `Bearer ${user}` };
}

function keyOf(id: string): ApiKey {
  const quota = [{ id, period: 'total', limitNanos: 1_000_000n }] as const;
  return { id, group: 'staff', disabled: false, quota };
}

function secretIn({ request }: DrivenCall): string {
  return String(request.headers.authorization).slice('Bearer '.length);
}

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

    const failed = events.filter((event) => event.type === 'upstream_failed');
    expect(failed).toMatchObject([
      { account: 'alice', channelId: 'c0' },
      { account: 'bob', channelId: 'c0' },
      { account: undefined, channelId: 'c0' },
    ]);
  });
});

describe('a credential function that fails for one key', () => {
  it.each(failures)('and $how fails no call of another', async ({ fail }) => {
    const forAlice: Credential = ({ key }) => (key.id === 'alice' ? fail() : operatorSecret);
    const { as, clock, sent } = tenants([{ credential: forAlice }]);

    for (let round = 0; round < 8; round += 1) {
      expect((await inTime(clock, as('alice'))).status).toBeGreaterThanOrEqual(500);
      expect((await as('bob')).status).toBe(200);
    }

    expect(new Set(sent())).toEqual(new Set([operatorSecret]));
  });

  it('is not asked for a while after it has failed five times for this key', async () => {
    let lookups = 0;
    const failing: Credential = ({ key }) => {
      if (key.id !== 'alice') return operatorSecret;
      lookups += 1;
      throw new Error('no such row');
    };
    const { as, clock } = tenants([{ credential: failing }]);

    for (let round = 0; round < 8; round += 1) await as('alice');
    expect(lookups).toBe(5);
    clock.advance(60_000);
    await as('alice');

    expect(lookups).toBe(6);
  });

  it.each([
    ['a number', 5],
    ['an empty text', ''],
    ['a line break', 'sk-a\nx-other: 1'],
    ['space at its end', 'sk-a '],
    ['no ASCII', 'sk-ä'],
    ['8 KiB and more', 'a'.repeat(8_193)],
    ['an object without a secret', { account: 'alice' }],
    ['an account that is no text', { secret: 'sk-a', account: 5 }],
    ['an empty account', { secret: 'sk-a', account: '' }],
    ['an account with a line break', { secret: 'sk-a', account: '\nbob' }],
    ['an account of 129 characters', { secret: 'sk-a', account: 'a'.repeat(129) }],
  ])('or returns %s sends nothing for it', async (_what, answer) => {
    const { as, sent, events } = tenants([{ credential: untyped(answer) }]);

    const { status } = await as('alice');
    await turns();

    expect(status).toBe(502);
    expect(sent()).toEqual([]);
    expect(events).toMatchObject([
      { type: 'upstream_failed', reason: 'credential_unavailable', account: undefined },
      { type: 'call_ended' },
    ]);
  });

  it.each([
    ['a secret', operatorSecret],
    ['a secret with the name of its own account', { secret: operatorSecret, account: 'main' }],
    ['a secret without a name', { secret: operatorSecret }],
  ])('counts against the channel where it returns %s', async (_what, answer) => {
    const { as, events } = tenants(
      [{ credential: ({ key }) => (key.id === 'bob' ? undefined : answer), account: 'main' }],
      (up) => {
        up.breakOff('connect_refused', { stage: 'connect' });
        return true;
      },
    );

    for (let call = 0; call < 5; call += 1) await as('operator');

    expect(events.filter(({ type }) => type === 'channel_changed')).toMatchObject([
      { channelId: 'c0', state: 'open', reason: 'connect_refused' },
    ]);
  });
});

it('a call asks at most sixteen channels for a credential', async () => {
  let lookups = 0;
  const none: Credential = ({ key: _key }) => {
    lookups += 1;
    return undefined;
  };
  const { as } = tenants(Array.from({ length: 40 }, () => ({ credential: none })));

  expect((await as('alice')).status).toBe(503);
  expect(lookups).toBe(16);
});

it('a caller that disconnects while its credential is looked up sends nothing', async () => {
  const harness = gatewayInProcess({
    models: [
      model({
        channels: [
          channel({ credential: ({ key: _key }) => new Promise<string>(() => {}) }),
          channel({ id: 'openai-b', priority: 1 }),
        ],
      }),
    ],
  });
  const calling = harness.start(sampleRequests.chat);
  await turns();

  calling.disconnect();
  const record = await harness.nextRecord();

  expect(record).toMatchObject({ reason: 'caller_left', chargeNanos: 0n });
  expect(harness.upstream.calls).toEqual([]);
  expect(harness.gateway.channels().map(({ inFlight }) => inFlight)).toEqual([0]);
});
