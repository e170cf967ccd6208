// suite: quick
/** Functions that return the credential of a channel, and fail: for one key, or for all. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { gatewayInProcess } from '../../../support/gateway-in-process.ts';
import { channel, model, sampleRequests } from '../../../support/models.ts';
import { type Credential, operatorSecret, tenants, type User, users } from '../../keys/tenants.ts';
import { failures, inTime, turns, untyped } from '../../ports/failing.ts';

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
      { type: 'attempt_ended', reason: 'credential_unavailable', account: undefined },
      { type: 'call_ended' },
    ]);
  });

  it.each([
    ['a secret', operatorSecret],
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

describe('secrets without the name of their account', () => {
  const someone = fc.constantFrom(...users);
  /** The codes of the warnings after these users have called. */
  async function warningsAfter(
    calls: readonly User[],
    secretFor: (user: string, call: number) => string,
  ): Promise<readonly unknown[]> {
    const emit = vi.spyOn(process, 'emitWarning').mockReturnValue();
    let call = 0;
    const credential: Credential = ({ key }) => secretFor(key.id, call);
    const { as } = tenants([{ credential }, { credential }]);
    for (const user of calls) {
      await as(user);
      call += 1;
    }
    const given: readonly unknown[][] = emit.mock.calls;
    emit.mockRestore();
    return given.map(([message, options]) => {
      expect(message).toMatch(/"c0"/);
      expect(message).not.toMatch(/sk-/);
      return options;
    });
  }

  it('cause one warning for the channel as soon as one is used again after another', () =>
    fc.assert(
      fc.asyncProperty(fc.array(someone, { maxLength: 12 }), async (calls) => {
        const isChange = (user: User, at: number): boolean => at > 0 && user !== calls[at - 1];
        const changes = calls.filter(isChange);
        const isUsedAgain = new Set([calls[0], ...changes]).size < changes.length + 1;

        const warnings = await warningsAfter(calls, (user) => `sk-${user}-0123456789`);

        expect(warnings).toEqual(
          isUsedAgain && calls.length > 0
            ? [{ type: 'TollgateWarning', code: 'TOLLGATE_UNNAMED_ACCOUNTS' }]
            : [],
        );
      }),
      { numRuns: 50 },
    ));

  it('cause none if one secret is renewed, whoever calls', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(someone, { maxLength: 12 }),
        fc.integer({ min: 1, max: 5 }),
        async (calls, callsEach) => {
          const renewed = (_user: string, call: number): string =>
            `sk-${Math.floor(call / callsEach)}-0123456789`;
          expect(await warningsAfter(calls, renewed)).toEqual([]);
        },
      ),
      { numRuns: 50 },
    ));
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
  // The function never answers; nobody waits for it for longer than this.
  harness.clock.advance(5_000);
});
