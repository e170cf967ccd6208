// suite: quick
/**
 * Usage of which the totals and the passes in `iterations` disagree: the larger count is charged,
 * and an event says so, of whole replies and streams, relayed and translated. Totals that are the
 * sum of their passes cause none. A part that is larger than its total causes the same event.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import type { Model } from '../../../src/ports/models/catalog.ts';
import { tokenPrice } from '../../../src/prices/codec.ts';
import { maxCostOf } from '../../../src/prices/cost.ts';
import { json, sse } from '../../relay/streams.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  messages,
  wholeChat,
  wholeMessage,
} from '../../support/any-model-gateway.ts';
import { type Fixture, fixtures } from '../../support/recorded/fixtures.ts';
import { runsOf } from '../../support/sample.ts';
import { scriptedUpstream } from '../../support/scripted-upstream.ts';

/** Every count at a rate of its own, so that a charge shows which counts it is for. */
const nanosOf = {
  input_tokens: 3,
  output_tokens: 7,
  cache_read_input_tokens: 1,
  cache_creation_input_tokens: 11,
} as const;
const price = tokenPrice({
  ...{ input: '0.003', output: '0.007', cachedInput: '0.001' },
  ...{ cacheWrite5m: '0.011', cacheWrite1h: '0.011' },
});

type CountName = keyof typeof nanosOf;
type Counts = Readonly<Record<CountName, number>>;
interface Pass extends Counts {
  readonly type: string;
}
const names = Object.keys(nanosOf).filter((name): name is CountName => name in nanosOf);

const count = fc.integer({ min: 1, max: 900 });
const passOf = (...types: readonly string[]): fc.Arbitrary<Pass> =>
  fc.record({
    type: fc.constantFrom(...types),
    input_tokens: count,
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
  });
const usages = fc.record({
  inside: fc.array(passOf('message'), { minLength: 1, maxLength: 4 }),
  beside: fc.array(passOf('compaction', 'advisor_message'), { maxLength: 2 }),
  /** Added to one of the totals; 0 for totals that are the sum. */
  error: fc.oneof(fc.constant(0), fc.integer({ min: -900, max: 900 })),
  wrong: fc.constantFrom(...names),
});

function sumOf(passes: readonly Counts[], name: CountName): number {
  return passes.reduce((sum, pass) => sum + pass[name], 0);
}

function countsBy(count: (name: CountName) => number): Counts {
  const [input_tokens, output_tokens] = [count('input_tokens'), count('output_tokens')];
  return {
    input_tokens,
    output_tokens,
    cache_read_input_tokens: count('cache_read_input_tokens'),
    cache_creation_input_tokens: count('cache_creation_input_tokens'),
  };
}

function costOf(counts: Counts): bigint {
  return BigInt(names.reduce((sum, name) => sum + counts[name] * nanosOf[name], 0));
}

type Reply = (usage: object) => { readonly text: string; readonly isStream: boolean };
const whole: Reply = (usage) => {
  const content = [{ type: 'text', text: 'Hi' }];
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' };
  const reply = { ...head, content, stop_reason: 'end_turn', usage };
  return { text: JSON.stringify(reply), isStream: false };
};
const streamed: Reply = (usage) => {
  const start = { input_tokens: 1, output_tokens: 1 };
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [] };
  const events = [
    { type: 'message_start', message: { ...head, usage: start } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
  const frames = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  return { text: frames.join(''), isStream: true };
};

const calls: readonly (readonly [string, Reply, CallerRequest])[] = [
  ['a whole reply, relayed', whole, messages(wholeMessage)],
  ['a stream, relayed', streamed, messages()],
  ['a whole reply, translated', whole, chat(wholeChat)],
  ['a stream, translated', streamed, chat()],
];

async function chargeOf(
  text: string,
  isStream: boolean,
  request: CallerRequest,
  dialect: DialectName = 'anthropic',
  model: Partial<Model> = { price, maxOutputTokens: 100_000 },
) {
  const upstream = scriptedUpstream(isStream ? sse(text) : json(text));
  const channel = { dialect };
  const gateway = anyModelGateway({ upstream, channel, model });
  await gateway.call(request);
  const [record] = gateway.records;
  if (record === undefined) throw new Error('The call left no record.');
  const found = gateway.events.filter(
    (event) => event.type === 'usage_anomaly' && event.reason === 'inconsistent',
  );
  return { record, events: found.length };
}

describe.each(calls)('%s', (_, reply, request) => {
  it('is charged the larger of each total and its passes, with an event if they differ', () =>
    fc.assert(
      fc.asyncProperty(usages, async ({ inside, beside, error, wrong }) => {
        const stated = countsBy((name) =>
          Math.max(1, sumOf(inside, name) + (name === wrong ? error : 0)),
        );
        const iterations = [...inside, ...beside];
        const { text, isStream } = reply({ ...stated, iterations });

        const { record, events } = await chargeOf(text, isStream, request);

        const larger = countsBy((name) => Math.max(stated[name], sumOf(inside, name)));
        const charged = countsBy((name) => larger[name] + sumOf(beside, name));
        expect(record.chargeNanos).toBe(costOf(charged));
        expect(events).toBe(stated[wrong] === sumOf(inside, wrong) ? 0 : 1);
        expect(record.usage).not.toHaveProperty('isInconsistent');
      }),
      { numRuns: runsOf(100) },
    ));
});

it('is not reported of last totals without passes, unless they are too small', async () => {
  const passes = [{ type: 'message', input_tokens: 5, output_tokens: 7 }];
  for (const [last, expected] of [
    [{ input_tokens: 5, output_tokens: 9 }, 0],
    [{ input_tokens: 5, output_tokens: 6 }, 1],
    [{ output_tokens: 7 }, 0],
  ] as const) {
    const { text } = streamed({ input_tokens: 5, output_tokens: 7, iterations: passes });
    const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: last };
    const [head = '', stop = ''] = text.split('event: message_stop');
    const delta = `event: message_delta\ndata: ${JSON.stringify(end)}\n\n`;

    const { events } = await chargeOf(
      `${head}${delta}event: message_stop${stop}`,
      true,
      messages(),
    );

    expect(events).toBe(expected);
  }
});

it.each([
  [500, 200, 100, 1],
  [300, 200, 100, 0],
  [300, 300, 0, 0],
  [200, 300, 0, 1],
])('is reported of writes %i that are %i and %i at the start of a stream', async (...counts) => {
  const [written, minutes, hour, expected] = counts;
  const creation = { ephemeral_5m_input_tokens: minutes, ephemeral_1h_input_tokens: hour };
  const stated = { cache_creation_input_tokens: written, cache_creation: creation };
  const { text } = streamed({ output_tokens: 7 });
  const start = JSON.stringify({ input_tokens: 1, output_tokens: 1, ...stated });
  const withStart = text.replace('{"input_tokens":1,"output_tokens":1}', start);

  for (const request of [messages(), chat()]) {
    expect((await chargeOf(withStart, true, request)).events).toBe(expected);
  }
});

const recorded = fixtures('anthropic', 'messages').filter(({ response }) =>
  Buffer.from(response).includes('"iterations":'),
);

it.each(
  recorded.map((one): [string, Fixture] => [one.name, one]),
)('is not reported of the recorded reply %s', async (_, { response, streamed: isStream }) => {
  const request = isStream ? messages() : messages(wholeMessage);

  const { events } = await chargeOf(Buffer.from(response).toString(), isStream, request);

  expect(events).toBe(0);
});

describe('usage that no model can have', () => {
  const limits = { contextTokens: 1_000, maxOutputTokens: 100 };
  const tiered = {
    ...price,
    tiers: [
      { aboveInputTokens: 200, rates: { input: 5_000_000n, output: 20_000_000n } },
      { aboveInputTokens: 900, rates: { input: 9_000_000n, output: 40_000_000n } },
    ],
  };
  const most = { textTokens: 1_000, mediaTokens: 0, outputTokens: 100, images: 0 };
  const maxNanos = maxCostOf({ ...most, mayCacheForAnHour: true }, tiered, {});
  const any = fc.oneof(fc.nat(200), fc.nat(2_000), fc.nat(1_000_000_000));
  const counts = fc.record({
    input_tokens: any,
    output_tokens: any,
    cache_read_input_tokens: any,
    cache_creation_input_tokens: any,
  });
  const pass = fc
    .tuple(fc.constantFrom('message', 'compaction', 'advisor_message'), counts)
    .map(([type, one]) => ({ type, ...one }));

  it('costs no more than the largest prompt and reply of the model', () =>
    fc.assert(
      fc.asyncProperty(counts, fc.array(pass, { maxLength: 4 }), async (stated, iterations) => {
        const { text, isStream } = whole({ ...stated, iterations });
        const model = { ...limits, price: tiered };

        const { record } = await chargeOf(
          text,
          isStream,
          messages(wholeMessage),
          'anthropic',
          model,
        );

        expect(record.chargeNanos).toBeLessThanOrEqual(maxNanos);
      }),
      { numRuns: runsOf(300) },
    ));
});

describe('cached and media tokens', () => {
  const some = fc.integer({ min: 0, max: 60 });
  const counts = fc.record({ prompt: some, cached: some, audio: some, image: some, output: some });
  const openaiDetails = (counts: { cached: number; audio: number; image: number }) => ({
    cached_tokens: counts.cached,
    audio_tokens: counts.audio,
    image_tokens: counts.image,
  });

  it('above their total are charged, with an event', () =>
    fc.assert(
      fc.asyncProperty(counts, fc.boolean(), async (counted, isTranslated) => {
        const { prompt, cached, audio, image, output } = counted;
        const message = { role: 'assistant', content: 'Hi' };
        const reply = {
          ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
          choices: [{ index: 0, message, finish_reason: 'stop' }],
          usage: {
            prompt_tokens: prompt + 1,
            completion_tokens: output + 1,
            prompt_tokens_details: openaiDetails(counted),
          },
        };
        const request = isTranslated ? messages(wholeMessage) : chat(wholeChat);
        const found = await chargeOf(JSON.stringify(reply), false, request, 'openai');

        const input = Math.max(prompt + 1, cached);
        expect(found.record.usage?.inputTokens).toBe(input);
        expect(found.events).toBe(cached > prompt + 1 || Math.max(audio, image) > input ? 1 : 0);
        const media = Number(found.record.usage?.audioInputTokens ?? 0);
        expect(media).toBeLessThanOrEqual(input);
      }),
      { numRuns: runsOf(200) },
    ));

  it('that Gemini reads from its cache above the prompt cause the event too', () =>
    fc.assert(
      fc.asyncProperty(counts, async ({ prompt, cached, output }) => {
        const content = { role: 'model', parts: [{ text: 'Hi' }] };
        const usageMetadata = {
          promptTokenCount: prompt,
          cachedContentTokenCount: cached,
          candidatesTokenCount: output + 1,
        };
        const reply = { candidates: [{ content, finishReason: 'STOP' }], usageMetadata };
        const request = chat(wholeChat);
        const found = await chargeOf(JSON.stringify(reply), false, request, 'gemini');

        expect(found.events).toBe(cached > prompt ? 1 : 0);
      }),
      { numRuns: runsOf(100) },
    ));
});
