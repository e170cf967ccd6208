// suite: slow
/** What a refusal says about a quota, and the event that little of a quota is left. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMoney } from '../../../src/prices/amount.ts';
import { reportCrossings } from '../../../src/stages/settle/quota-levels.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import {
  type CallerRequest,
  gatewayInProcess,
  type InProcessGateway,
} from '../../support/gateway-in-process.ts';
import { chat, completeReply, defaultModels, model, sampleRequests } from '../../support/models.ts';

const month = '2026-01';

function quotaLow({ events }: InProcessGateway): readonly unknown[] {
  return events.filter(({ type }) => type === 'quota_low');
}

function refusedEvent({ allEvents }: InProcessGateway): unknown {
  return allEvents.find(({ type }) => type === 'call_refused');
}

const messages = [{ role: 'user', content: 'hi' }];

/** A gateway with a model for every API of text, and a key that may spend this much. */
function withLimit(limitNanos: bigint): InProcessGateway {
  const others = defaultModels().filter(({ id }) => id !== 'chat');
  return gatewayInProcess({
    models: [model({ protocols: ['chat', 'responses', 'messages'] }), ...others],
    key: { quota: [{ id: 'caller', period: 'total', limitNanos }] },
    handlers: [(up) => up.answer(400, '{}', {})],
  });
}

/** A call of one of OpenAI's or Anthropic's APIs. */
function of(api: 'responses' | 'messages', members: object): CallerRequest {
  return { path: `/v1/${api}`, body: { model: 'chat', ...members } };
}

describe('a 403', () => {
  it('states what the call may cost and what is left of the key’s own quota', async () => {
    const harness = gatewayInProcess({
      key: { quota: [{ id: 'caller', period: 'total', limitNanos: 100n }] },
    });

    const { status, text } = await harness.call(sampleRequests.chat);

    expect(status).toBe(403);
    expect(text).toContain(
      'This request may cost up to 0.000000211, because up to 100 output tokens are reserved, ' +
        "and 0.0000001 is left of this key's quota. Send a smaller `max_tokens`, or ask whoever",
    );
  });

  it.each<readonly [member: string, request: CallerRequest, shorter: object]>([
    ['max_tokens', chat(), { max_tokens: 1 }],
    ['max_tokens', chat({ max_tokens: 90 }), { max_tokens: 1 }],
    ['max_completion_tokens', chat({ max_completion_tokens: 90 }), { max_completion_tokens: 1 }],
    ['max_output_tokens', of('responses', { input: 'hi' }), { max_output_tokens: 1 }],
    ['max_tokens', of('messages', { messages, max_tokens: 90 }), { max_tokens: 1 }],
    [
      'generationConfig.maxOutputTokens',
      sampleRequests.native,
      { generationConfig: { maxOutputTokens: 1 } },
    ],
  ])('names `%s` where a shorter reply fits, and it does', async (member, request, shorter) => {
    const remedy = `Send a smaller \`${member}\`, or ask whoever issued the key.`;

    // 11 tokens of the prompt at 1 nano, and one of the reply at 2.
    const refused = await withLimit(13n).call(request);
    const accepted = await withLimit(13n).call({
      ...request,
      body: { ...Object(request.body), ...shorter },
    });
    const hopeless = await withLimit(12n).call(request);

    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining(remedy)]);
    expect(accepted.status, accepted.text).toBe(400);
    expect(hopeless.text).toMatch(/is left of this key's quota\. Ask whoever issued the key\."/);
  });

  it('never says that less than nothing is left', async () => {
    const quota = [{ id: 'caller', period: 'total', limitNanos: 220n }] as const;
    const harness = gatewayInProcess({ key: { quota }, handlers: [completeReply('chat')] });
    await harness.quota.adjust({
      ...{ id: 'payment_000000001', partition: 'default', subject: 'caller', period: '' },
      addLimit: -500n,
    });

    expect((await harness.call(sampleRequests.chat)).text).toContain(', and 0 is left of this key');
  });

  it('says that it is a quota that the key shares, without an amount', async () => {
    const quota = [
      { id: 'caller', period: 'total', limitNanos: 1_000n },
      { id: 'team', period: 'month', limitNanos: 77n },
    ] as const;

    const { status, text } = await gatewayInProcess({ key: { quota } }).call(sampleRequests.chat);

    expect(status).toBe(403);
    expect(text).toContain('and the quota is not sufficient');
    expect(text).not.toMatch(/77|team/);
  });
});

describe('a shared subject', () => {
  const whose = fc.record({
    own: fc.integer({ min: 0, max: 400 }),
    shared: fc.integer({ min: 0, max: 400 }),
    visible: fc.constantFrom(true, false, undefined),
  });

  it('shows its balance in a 403 as the key’s own does, if it is visible', async () => {
    await fc.assert(
      fc.asyncProperty(whose, async ({ own, shared, visible }) => {
        const team = { id: 'team', period: 'month', limitNanos: BigInt(shared) } as const;
        const harness = gatewayInProcess({
          key: {
            quota: [
              { id: 'caller', period: 'total', limitNanos: BigInt(own) },
              { ...team, ...(visible === undefined ? {} : { visible }) },
            ],
          },
          handlers: [completeReply('chat')],
        });

        const { status, text } = await harness.call(sampleRequests.chat);

        const short = own < 211 ? 'caller' : shared < 211 ? 'team' : undefined;
        expect(status).toBe(short === undefined ? 200 : 403);
        const left = (nanos: number): string => `${formatMoney(BigInt(nanos))} is left of`;
        if (short === 'caller') expect(text).toContain(`${left(own)} this key's quota.`);
        if (short === undefined) return;
        const limit = formatMoney(BigInt(short === 'caller' ? own : shared));
        expect(refusedEvent(harness)).toMatchObject({
          remedy: expect.stringContaining(`"${short}" has ${limit} of its limit ${limit} left`),
        });
        if (short !== 'team') return;
        if (visible === true) expect(text).toContain(`${left(shared)} the quota. `);
        else expect(text).toContain('and the quota is not sufficient. ');
        expect(text).not.toMatch(/team|group/);
        expect(text.includes('Send a smaller')).toBe(shared > 12);
      }),
      { numRuns: 60 },
    );
  });
});

describe('quota_low', () => {
  const caller = { type: 'quota_low', subject: 'caller', period: month, keyId: 'caller' };

  it('is sent by the call whose charge reaches 80, 95 and 100 % of a limit', async () => {
    const harness = gatewayInProcess({
      key: {
        quota: [{ id: 'caller', period: 'month', limitNanos: 10_211n }],
        metadata: { a: 'b' },
      },
      handlers: Array.from({ length: 501 }, () => completeReply('chat')),
    });
    const levelsAfter: number[] = [];

    for (let call = 0; call < 501; call += 1) {
      await harness.call(sampleRequests.chat);
      levelsAfter.push(quotaLow(harness).length);
    }

    // A call is charged 20 nanos. The last one has a hold of 211, which still fits.
    expect([408, 409, 485, 486, 500].map((call) => levelsAfter[call - 1])).toEqual([0, 1, 1, 2, 2]);
    const known = { limitNanos: 10_211n, metadata: { a: 'b' } };
    expect(quotaLow(harness)).toEqual([
      { ...caller, ...known, percent: 80, usedNanos: 8_180n },
      { ...caller, ...known, percent: 95, usedNanos: 9_720n },
    ]);
    await harness.quota.adjust({
      ...{ id: 'correction_000001', partition: 'default', subject: 'caller', period: month },
      addLimit: -191n,
    });
    await harness.call(sampleRequests.chat);
    expect(quotaLow(harness).slice(2)).toEqual([]);
  });

  it('is sent once for a limit that is used up to a rest that covers no call', async () => {
    const harness = gatewayInProcess({
      key: { quota: [{ id: 'caller', period: 'month', limitNanos: 5_000n }] },
      handlers: Array.from({ length: 300 }, () => completeReply('chat')),
    });
    const refused = async (): Promise<void> => {
      for (let call = 0; call < 300; call += 1) {
        const { status } = await harness.call(sampleRequests.chat);
        if (status === 403) break;
      }
      await new Promise((resolve) => setImmediate(resolve));
    };

    await refused();
    await refused();
    harness.clock.advance(60_000);
    await refused();

    // 211 are held at first, so that 240 calls of 20 nanos fit.
    const full = { ...caller, percent: 100, limitNanos: 5_000n, usedNanos: 4_800n };
    expect(quotaLow(harness).slice(2)).toEqual([{ ...full, metadata: undefined }]);
  });

  it('is not sent for a call that is refused while little is used', async () => {
    const harness = gatewayInProcess({
      key: { quota: [{ id: 'caller', period: 'month', limitNanos: 200n }] },
    });

    expect((await harness.call(sampleRequests.chat)).status).toBe(403);
    await new Promise((resolve) => setImmediate(resolve));

    expect(quotaLow(harness)).toEqual([]);
  });

  const step = fc.record({
    process: fc.constantFrom('a', 'b'),
    charge: fc.bigInt(0n, 400n),
    raise: fc.oneof({ weight: 6, arbitrary: fc.constant(0n) }, fc.bigInt(-300n, 900n)),
  });

  it('is sent for each crossing by one of the processes that share a store', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const store = memoryQuotaStore({ clock: fakeClock() });
        const row = { partition: 'default', subject: 's', period: '' };
        const sent: string[] = [];
        const expected: string[] = [];
        let [used, limit] = [0n, 1_000n];
        for (const [index, { process, charge, raise }] of steps.entries()) {
          const number = String(index).padStart(16, '0');
          await store.adjust({ ...row, id: `raise-${number}`, addLimit: raise });
          const carried = { ...row, amount: 0n, limit: 1_000n };
          const lines = [{ ...row, amount: charge }];
          const hold = { id: `call-${number}`, partition: 'default' };
          await store.reserve({ ...hold, lines: [carried], ttlMs: 30_000, onExpire: 'release' });
          const result = await store.settle({ ...hold, lines, basis: 'usage' });
          reportCrossings(result, lines, { keyId: process, metadata: undefined }, (event) =>
            sent.push(
              JSON.stringify(event, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
            ),
          );
          const before = used;
          [used, limit] = [used + charge, limit + raise];
          const isAbove = (amount: bigint, percent: number): boolean =>
            Number(amount) / Math.max(Number(limit), 0) >= percent / 100;
          const crossed = [100, 95, 80].find(
            (percent) => limit > 0n && isAbove(used, percent) && !isAbove(before, percent),
          );
          if (crossed !== undefined) expected.push(`${process} ${crossed} ${limit} ${used}`);
        }

        expect(
          sent.map((text) => {
            const { keyId, percent, limitNanos, usedNanos } = JSON.parse(text);
            return `${keyId} ${percent} ${limitNanos} ${usedNanos}`;
          }),
        ).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
});
