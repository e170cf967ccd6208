/** Events of replies: some written by hand, and a generator of all that a reader may return. */
import fc from 'fast-check';
import type { ProviderData } from '../../../src/canonical/provider-data.ts';
import type { ContentEvent, EventOf, FinishReason } from '../../../src/canonical/reply.ts';

/** A finish of the first choice. */
export const finish = (reason: FinishReason, native?: string): ContentEvent => ({
  type: 'finish',
  choice: 0,
  reason,
  native,
});
/** A text of the first choice. */
export const text = (content: string): ContentEvent => ({ type: 'text', choice: 0, text: content });
/** Usage with some details. */
export const usage: EventOf<'usage'> = {
  type: 'usage',
  usage: {
    inputTokens: 11,
    outputTokens: 7,
    cachedInputTokens: 3,
    cacheWriteTokens: undefined,
    reasoningTokens: 2,
    audioInputTokens: undefined,
    audioOutputTokens: undefined,
  },
};
/** A call that arrives in one piece, with Google's signature. */
export const weather: readonly ContentEvent[] = [
  {
    type: 'tool_begin',
    choice: 0,
    call: 0,
    id: 'call_a',
    name: 'weather',
    arguments: '{"city":"Oslo","id":12345678901234567890}',
    providerData: { provider: 'gemini', kind: 'signature', data: 'c2ln' },
  },
  { type: 'tool_end', choice: 0, call: 0 },
];
/** A second call, without arguments. */
export const time: readonly ContentEvent[] = [
  { type: 'tool_begin', choice: 0, call: 1, id: 'call_b', name: 'time', arguments: '' },
  { type: 'tool_end', choice: 0, call: 1 },
];

type MakeEvents = (choice: number, call: number) => readonly ContentEvent[];

const texts = fc.string({ unit: 'binary', maxLength: 8 });
const base64 = fc
  .uint8Array({ minLength: 1, maxLength: 5 })
  .map((bytes) => Buffer.from(bytes).toString('base64'));

const providerDataOf = (provider: string, ...kinds: readonly ProviderData['kind'][]) =>
  fc.option(
    fc.record({ provider: fc.constant(provider), kind: fc.constantFrom(...kinds), data: base64 }),
    {
      nil: undefined,
    },
  );

const textual: fc.Arbitrary<MakeEvents> = fc.oneof(
  fc.record({ text: texts, providerData: providerDataOf('gemini', 'signature') }).map(
    (event): MakeEvents =>
      (choice) => [{ type: 'text', choice, ...event }],
  ),
  fc
    .record({ text: texts, providerData: providerDataOf('anthropic', 'signature', 'encrypted') })
    .map(
      (event): MakeEvents =>
        (choice) => [{ type: 'reasoning', choice, ...event }],
    ),
  texts.map(
    (text): MakeEvents =>
      (choice) => [{ type: 'refusal', choice, text }],
  ),
);

const called: fc.Arbitrary<MakeEvents> = fc
  .record({
    begin: fc.record({
      id: base64,
      name: base64,
      arguments: fc.constantFrom('', '{"a":1}'),
      providerData: providerDataOf('gemini', 'signature'),
    }),
    more: fc.array(texts, { maxLength: 3 }),
  })
  .map(
    ({ begin, more }): MakeEvents =>
      (choice, call) => [
        { type: 'tool_begin', choice, call, ...begin },
        ...more.map((text) => ({ type: 'tool_arguments', choice, call, text }) as const),
        { type: 'tool_end', choice, call },
      ],
  );

const shown: fc.Arbitrary<MakeEvents> = fc.oneof(
  fc.record({ mimeType: fc.constantFrom('image/png', 'audio/wav'), data: base64 }).map(
    (event): MakeEvents =>
      (choice) => [{ type: 'media', choice, ...event }],
  ),
  fc.record({ token: texts, logprob: fc.integer(), top: fc.constant([]) }).map(
    (token): MakeEvents =>
      (choice) => [{ type: 'logprobs', choice, tokens: [token] }],
  ),
  fc
    .record({
      url: fc.webUrl(),
      title: fc.constantFrom(undefined, 'A'),
      start: fc.nat(),
      end: fc.nat(),
    })
    .map(
      (citation): MakeEvents =>
        (choice) => [{ type: 'citations', choice, citations: [citation] }],
    ),
  fc
    .record({
      provider: fc.constantFrom('gemini', 'anthropic'),
      name: fc.constant('blocks'),
      value: fc.array(fc.record({ n: fc.nat() }), { maxLength: 2 }),
    })
    .map(
      (event): MakeEvents =>
        (choice) => [{ type: 'provider_specific', choice, ...event }],
    ),
);

const ending = fc.record({
  reason: fc.constantFrom<FinishReason>('stop', 'length', 'tool_calls', 'content_filter', 'other'),
  native: fc.constantFrom(undefined, 'OTHER'),
  message: fc.constantFrom(undefined, 'Because.'),
});

/**
 * Events of up to two choices in the order of a reader: calls numbered by choice, finishes last.
 */
export const replyEvents: fc.Arbitrary<readonly ContentEvent[]> = fc
  .record({
    blocks: fc.array(fc.tuple(fc.nat(1), fc.oneof(textual, called, shown)), { maxLength: 12 }),
    endings: fc.tuple(ending, ending),
    usages: fc.constantFrom([], [usage]),
  })
  .map(({ blocks, endings, usages }) => {
    const calls = [0, 0];
    const content = blocks.flatMap(([choice, block]) => {
      const events = block(choice, calls[choice] ?? 0);
      if (events[0]?.type === 'tool_begin') calls[choice] = (calls[choice] ?? 0) + 1;
      return events;
    });
    const finishes = endings.map((end, choice) => ({ type: 'finish', choice, ...end }) as const);
    return [{ type: 'start', id: 'abc', model: undefined }, ...content, ...finishes, ...usages];
  });
