// suite: slow
/** What a refusal says about a quota, and the event that little of a quota is left. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ReserveResult } from '../../../src/ports/quota-store.ts';
import { formatMoney } from '../../../src/prices/amount.ts';
import { quotaLevels } from '../../../src/stages/settle/reserve.ts';
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
  it('is sent once at 80 % and once at 95 % of what a subject may spend', async () => {
    const quota = [{ id: 'caller', period: 'month', limitNanos: 10_000n }] as const;
    const harness = gatewayInProcess({
      key: { quota },
      handlers: Array.from({ length: 495 }, () => completeReply('chat')),
    });
    const spend = async (calls: number): Promise<void> => {
      for (let call = 0; call < calls; call += 1) await harness.call(sampleRequests.chat);
    };
    const event = { type: 'quota_low', subject: 'caller', period: month, limitNanos: 10_000n };
    const at80 = { ...event, percent: 80, remainingNanos: 2_000n };
    const at95 = { ...event, percent: 95, remainingNanos: 500n };

    await spend(400);
    expect(quotaLow(harness)).toEqual([]);
    await spend(75);
    expect(quotaLow(harness)).toEqual([at80]);
    await spend(20);
    expect(quotaLow(harness)).toEqual([at80, at95]);
  });

  it('is sent for a call that is refused, too', async () => {
    const harness = gatewayInProcess({
      key: { quota: [{ id: 'caller', period: 'month', limitNanos: 300n }] },
      handlers: Array.from({ length: 13 }, () => completeReply('chat')),
    });
    await harness.quota.adjust({
      ...{ id: 'correction_000001', partition: 'default', subject: 'caller', period: month },
      addLimit: -290n,
    });

    expect((await harness.call(sampleRequests.chat)).status).toBe(403);

    expect(quotaLow(harness)).toMatchObject([{ percent: 95, remainingNanos: 10n }]);
  });

  it('is decided by what is left before a call, for each subject and period', () => {
    const events: unknown[] = [];
    const levels = quotaLevels((event) => events.push(event));
    const line = (subject: string, period: string, limit?: bigint) => ({
      ...{ subject, period, amount: 10n },
      ...(limit === undefined ? {} : { limit }),
    });
    const remaining = (nanos: bigint, subject = 'a', period = month): void =>
      levels([line(subject, period, 1_000n)], held(nanos - 10n));

    remaining(201n);
    remaining(200n);
    remaining(199n);
    remaining(51n);
    remaining(50n);
    remaining(-5n);
    remaining(40n, 'b');
    remaining(150n, 'a', '2026-02');
    remaining(200n, 'b');
    levels([line('c', month), line('d', month, 0n)], held(-10n, -10n));

    expect(events).toEqual([
      quotaEvent('a', month, 80, 200n),
      quotaEvent('a', month, 95, 50n),
      quotaEvent('b', month, 95, 40n),
      quotaEvent('a', '2026-02', 80, 150n),
    ]);
  });

  it('forgets the oldest of ten thousand subjects', () => {
    let events = 0;
    const levels = quotaLevels(() => {
      events += 1;
    });
    const note = (subject: string): void =>
      levels([{ subject, period: '', amount: 0n, limit: 100n }], held(1n));
    for (let subject = 0; subject <= 10_000; subject += 1) note(`s${subject}`);
    note('s10000');
    expect(events).toBe(10_001);

    note('s0');

    expect(events).toBe(10_002);
  });
});

function held(...available: readonly bigint[]): ReserveResult {
  return { status: 'held', replay: false, expiresAtMs: 0, available };
}

function quotaEvent(
  subject: string,
  period: string,
  percent: number,
  remainingNanos: bigint,
): object {
  return { type: 'quota_low', subject, period, percent, limitNanos: 1_000n, remainingNanos };
}
