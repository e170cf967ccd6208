// suite: quick
/**
 * What the gateway counts never costs more than the hold, nor is it more than was requested; what
 * the upstream reports is charged as it is. Over generated replies of every upstream for the
 * callers of every API: usage at any place, texts of 1 to 8 bytes a token, and each way to end.
 */
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import type { DrivenCall } from '../../support/driven-upstream.ts';
import { type CallerRequest, gatewayInProcess } from '../../support/gateway-in-process.ts';
import { channel, contents, model } from '../../support/models.ts';
import { runsOf } from '../../support/sample.ts';
import {
  type CallerName,
  eventStream,
  type Piece,
  type Stated,
  type Wire,
  wires,
} from '../upstream/upstream-wires.ts';

const outputRate = 3;
const timeouts = { idleMs: 60_000, firstTokenMs: 60_000, quietMs: 60_000 };

const messages = [{ role: 'user', content: 'hi' }];
const nativeBody = (max: number | undefined, includeThoughts: boolean) => ({
  contents,
  generationConfig: { maxOutputTokens: max, thinkingConfig: { includeThoughts } },
});
const nativePath = '/v1beta/models/m:streamGenerateContent';

/** A request for at most `max` tokens. A native caller may ask to see the reasoning. */
const requests: Readonly<
  Record<CallerName, (max: number | undefined, showsReasoning: boolean) => CallerRequest>
> = {
  chat: (max) => ({
    path: '/v1/chat/completions',
    body: { model: 'm', messages, stream: true, max_tokens: max },
  }),
  native: (max, shows) => ({ path: nativePath, search: 'alt=sse', body: nativeBody(max, shows) }),
  nativeArray: (max, shows) => ({ path: nativePath, body: nativeBody(max, shows) }),
  responses: (max) => ({
    path: '/v1/responses',
    body: { model: 'm', input: 'hi', stream: true, max_output_tokens: max },
  }),
  // This API requires a maximum.
  messages: (max = 4_096) => ({
    path: '/v1/messages',
    body: { model: 'm', messages, stream: true, max_tokens: max },
  }),
};

const ends = ['complete', 'cut short', 'reset', 'error', 'caller leaves', 'silence'] as const;

interface Plan {
  readonly pieces: readonly (Piece & { readonly bytesPerToken: number })[];
  /** Where usage is stated: before the first piece is 0, with the finish is the largest. */
  readonly statedAt: readonly number[];
  /** The prompt that the upstream counts. */
  readonly input: number;
  readonly end: (typeof ends)[number];
  readonly isJoined: boolean;
  readonly maxTokens: number | undefined;
  readonly modelMaximum: number | undefined;
  readonly showsReasoning: boolean;
}

const text = fc.integer({ min: 1, max: 400 }).map((bytes) => 'x'.repeat(bytes));
const plans: fc.Arbitrary<Plan> = fc.record({
  pieces: fc.array(
    fc.record({
      kind: fc.constantFrom('text', 'reasoning', 'tool'),
      text,
      bytesPerToken: fc.integer({ min: 1, max: 8 }),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  statedAt: fc.uniqueArray(fc.nat(7), { maxLength: 4 }),
  input: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 3_000 })),
  end: fc.constantFrom(...ends),
  isJoined: fc.boolean(),
  maxTokens: fc.option(fc.constantFrom(1, 16, 64, 2_000), { nil: undefined }),
  modelMaximum: fc.option(fc.constantFrom(64, 8_192), { nil: undefined }),
  showsReasoning: fc.boolean(),
});

/** What an upstream sends. */
interface Sent {
  readonly parts: readonly string[];
  readonly contentType?: string | undefined;
}

/** What the upstream has written, and stated, up to the end of a plan. */
interface Written extends Sent {
  readonly last: Stated | undefined;
  /** Usage came with the finish. */
  readonly isFinal: boolean;
}

function written(wire: Wire, plan: Plan): Written {
  const isComplete = plan.end === 'complete';
  let output = 0;
  let last: Stated | undefined;
  const stating = (place: number): Stated | undefined => {
    if (!plan.statedAt.includes(place)) return undefined;
    if (wire === wires.openaiResponses && place !== 7) return undefined;
    last = { input: plan.input, output };
    return last;
  };
  const parts = [wire.begin(stating(0))];
  for (const [index, piece] of plan.pieces.entries()) {
    output += tokensOf(piece);
    parts.push(wire.piece(piece, index, stating(index + 1)));
  }
  if (isComplete) parts.push(wire.finish(stating(7)));
  if (plan.end === 'error') parts.push(wire.error);
  const { contentType } = wire;
  return { parts, contentType, last, isFinal: isComplete && plan.statedAt.includes(7) };
}

async function recordOf(
  wire: Wire,
  request: CallerRequest,
  plan: Plan,
  { parts, contentType = eventStream }: Sent,
): Promise<UsageRecord> {
  const { modelMaximum, end, isJoined } = plan;
  const { maxOutputTokens: _, ...unbounded } = model({
    id: 'm',
    protocols: ['chat', 'native', 'responses', 'messages'],
    contextTokens: 4_000,
    price: { per: 'token', rates: { input: 1_000_000n, output: BigInt(outputRate) * 1_000_000n } },
    channels: [channel(wire.channel)],
  });
  const bounded = { ...unbounded, maxOutputTokens: modelMaximum ?? 0 };
  const harness = gatewayInProcess({
    options: { timeouts },
    models: [modelMaximum === undefined ? unbounded : bounded],
  });
  const calling = harness.start(request);
  const reply = calling.reply.catch(() => undefined);
  const up: DrivenCall = await harness.upstream.next();
  up.respond(200, { 'content-type': contentType });
  for (const part of isJoined ? [parts.join('')] : parts) {
    up.write(part);
    await setImmediate();
  }
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
  if (end === 'caller leaves') calling.disconnect();
  else if (end === 'reset') up.breakOff('reset');
  else if (end !== 'silence') up.end();
  else harness.clock.advance(2 * timeouts.idleMs);
  // A stream whose caller has left is read for 2 s.
  await vi.advanceTimersByTimeAsync(2_000);
  await reply;
  return harness.nextRecord();
}

/** The cost of reported usage. More output than the model has is charged at its maximum. */
function costOf({ input, output }: Stated, { modelMaximum = output }: Plan): bigint {
  return BigInt(input + Math.min(output, modelMaximum) * outputRate);
}

function checkLaws(plan: Plan, caller: CallerName, record: UsageRecord, upstream: Written): void {
  const { last = { input: 0, output: 0 }, isFinal } = upstream;
  const { chargeNanos, heldNanos, basis, usage } = record;
  const reported = costOf(last, plan);
  if (isFinal && last.output > 0) {
    expect({ chargeNanos, basis }).toEqual({ chargeNanos: reported, basis: 'usage' });
    return;
  }
  const most = reported > heldNanos ? reported : heldNanos;
  expect(chargeNanos).toBeLessThanOrEqual(most);
  // Every piece is content, so that the reply has begun, and what was reported is a minimum.
  expect(chargeNanos).toBeGreaterThanOrEqual(reported);
  expect(chargeNanos).toBeGreaterThan(0n);
  expect(['counted', 'estimate', ...(last.output > 0 ? ['usage'] : [])]).toContain(basis);
  const defaultMaximum = caller === 'messages' ? 4_096 : undefined;
  const maximum = Math.min(
    plan.maxTokens ?? defaultMaximum ?? Number.POSITIVE_INFINITY,
    plan.modelMaximum ?? Number.POSITIVE_INFINITY,
  );
  expect(usage?.outputTokens ?? 0).toBeLessThanOrEqual(Math.max(maximum, last.output));
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe.each(Object.entries(wires))('an upstream of %s', (_, wire) => {
  const callers = [wire.relays, ...wire.translates];
  const documents = wire.document === undefined ? [] : callers;

  it.each(
    callers,
  )('whose stream is charged by its usage, and else at most the hold: %s', (caller) =>
    fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const upstream = written(wire, plan);
        const request = requests[caller](plan.maxTokens, plan.showsReasoning);
        checkLaws(plan, caller, await recordOf(wire, request, plan, upstream), upstream);
      }),
      { numRuns: runsOf(200) },
    ));

  it.each(
    wire.document === undefined ? [] : wire.translates,
  )('that answers with a document in place of a stream is charged by its usage: %s', (caller) =>
    fc.assert(
      fc.asyncProperty(plans, fc.boolean(), async (plan, isJson) => {
        const last = { input: plan.input, output: 20 };
        const sent = documentOf(wire, plan, last);
        const request = requests[caller](plan.maxTokens, plan.showsReasoning);
        const contentType = isJson ? sent.contentType : eventStream;
        const complete = { ...plan, end: 'complete' } as const;
        const record = await recordOf(wire, request, complete, { ...sent, contentType });

        expect(record).toMatchObject({
          chargeNanos: costOf(last, plan),
          usage: { inputTokens: last.input, outputTokens: last.output },
        });
      }),
      { numRuns: runsOf(100) },
    ));

  it.each(
    documents.filter((caller) => caller !== 'nativeArray'),
  )('whose document is charged by its usage, and else at most the hold: %s', (caller) =>
    fc.assert(
      fc.asyncProperty(plans, fc.boolean(), async (plan, isTruncated) => {
        const output = plan.pieces.reduce((sum, piece) => sum + tokensOf(piece), 0);
        const stated = plan.statedAt.includes(0) ? { input: plan.input, output } : undefined;
        const { parts, contentType } = documentOf(wire, plan, stated);
        const sent = { parts: isTruncated ? parts.slice(0, 1) : parts, contentType };
        const end = plan.end === 'reset' ? 'reset' : 'complete';
        const request = whole(requests[caller](plan.maxTokens, plan.showsReasoning));
        const record = await recordOf(wire, request, { ...plan, end }, sent);

        const isFinal = !isTruncated && end === 'complete' && stated !== undefined;
        const last = isFinal ? stated : undefined;
        checkLaws(plan, caller, record, { ...sent, last, isFinal });
      }),
      { numRuns: runsOf(100) },
    ));
});

function tokensOf({ text, bytesPerToken }: Plan['pieces'][number]): number {
  return Math.ceil(text.length / bytesPerToken);
}

/** A whole reply, in two parts. */
function documentOf(wire: Wire, plan: Plan, stated: Stated | undefined): Sent {
  const text = JSON.stringify(wire.document?.(plan.pieces, stated));
  const half = text.length / 2;
  return { parts: [text.slice(0, half), text.slice(half)], contentType: 'application/json' };
}

/** The same request for a whole reply. */
function whole({ path, body }: CallerRequest): CallerRequest {
  const plain = path.replace('streamGenerateContent', 'generateContent');
  return { path: plain, body: JSON.stringify(body).replace('"stream":true', '"stream":false') };
}
