/** A generator of all that a reader may return for one choice, with calls that interleave. */
import fc from 'fast-check';
import type { ProviderData } from '../../../src/canonical/provider-data.ts';
import type { ContentEvent, FinishReason, ReplyUsage } from '../../../src/canonical/reply.ts';

/** The usage of these replies. */
export const someUsage: ReplyUsage = {
  inputTokens: 11,
  outputTokens: 7,
  cachedInputTokens: 3,
  cacheWriteTokens: undefined,
  reasoningTokens: 2,
  audioInputTokens: undefined,
  audioOutputTokens: undefined,
};

/** A string of any characters, among them line separators, which end lines of some parsers. */
const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('', 'a\nb', '\u2028', '"\\', '\r\n\r\ndata: x', '\u{1F600}'),
);

const signatures = (provider: string, ...kinds: readonly ProviderData['kind'][]) =>
  fc.option(
    fc.record({
      provider: fc.constant(provider),
      kind: fc.constantFrom(...kinds),
      data: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 4 }),
    }),
    { nil: undefined, freq: 2 },
  );

const token = fc.record({ token: texts, logprob: fc.integer(), top: fc.constant([]) });

const citation = fc.record({
  url: fc.webUrl(),
  title: fc.constantFrom(undefined, 'A'),
  start: fc.option(fc.nat(20), { nil: undefined }),
  end: fc.option(fc.nat(20), { nil: undefined }),
});

const choice = 0;

const content: fc.Arbitrary<ContentEvent> = fc.oneof(
  { weight: 4, arbitrary: textual('text', signatures('gemini', 'signature')) },
  { weight: 4, arbitrary: textual('reasoning', signatures('anthropic', 'signature', 'encrypted')) },
  { weight: 1, arbitrary: textual('refusal', fc.constant(undefined)) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('media' as const),
      choice: fc.constant(choice),
      mimeType: fc.constantFrom('image/png', 'audio/wav'),
      data: fc.base64String({ minLength: 4, maxLength: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .array(token, { minLength: 1, maxLength: 2 })
      .map((tokens) => ({ type: 'logprobs', choice, tokens }) as const),
  },
  {
    weight: 1,
    arbitrary: citation.map(
      (source) => ({ type: 'citations', choice, citations: [source] }) as const,
    ),
  },
  fc.constant({ type: 'media_url', choice, url: 'https://a.example/b.png' } as const),
  fc.constant({ type: 'provider_specific', choice, provider: 'p', name: 'x', value: {} } as const),
);

function textual<Kind extends 'text' | 'reasoning' | 'refusal'>(
  type: Kind,
  providerData: fc.Arbitrary<ProviderData | undefined>,
) {
  return fc.record({
    type: fc.constant(type),
    choice: fc.constant(choice),
    text: texts,
    providerData,
  });
}

const argumentTexts = fc.oneof(
  fc.dictionary(texts, fc.integer(), { maxKeys: 2 }).map((value) => JSON.stringify(value)),
  texts.map((input) => JSON.stringify({ input })),
  // The beginnings of arguments.
  fc.tuple(texts, fc.nat(8)).map(([input, end]) => JSON.stringify({ input }).slice(0, end)),
  texts,
);

/** The pieces of one call after its beginning, which has the rest of the arguments. */
interface CallDraft {
  readonly name: string;
  readonly id: string;
  readonly pieces: readonly string[];
  readonly providerData: ProviderData | undefined;
}

const callDraft: fc.Arbitrary<CallDraft> = fc
  .record({
    name: fc.constantFrom('weather', 'patch', 'agents__spawn', 'functions__exec', 'undeclared'),
    id: fc.oneof(fc.uuid(), fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 80 })),
    text: argumentTexts,
    cuts: fc.array(fc.nat(12), { maxLength: 3 }),
    providerData: signatures('gemini', 'signature'),
  })
  .map(({ text, cuts, ...call }) => {
    const places = [...cuts, text.length].sort((one, other) => one - other);
    const pieces = places.map((end, index) => text.slice(places[index - 1] ?? 0, end));
    return { ...call, pieces };
  });

/** A call number stands for the next event of that call, `content` for an event of no call. */
type Step = ContentEvent | number;

const finishes = fc.record({
  type: fc.constant('finish' as const),
  choice: fc.constant(choice),
  reason: fc.constantFrom<FinishReason>('stop', 'length', 'tool_calls', 'content_filter', 'other'),
  native: fc.constantFrom(undefined, 'OTHER'),
  message: fc.constantFrom(undefined, 'Because.'),
});

/**
 * Events of one reply: calls begin in the order of their numbers, and their pieces may have any
 * other events between them; usage comes anywhere, and the finish after all content.
 */
export const oneChoiceEvents: fc.Arbitrary<readonly ContentEvent[]> = fc
  .record({
    calls: fc.array(callDraft, { maxLength: 4 }),
    steps: fc.array(fc.oneof(content, fc.nat(3)), { maxLength: 16 }),
    finish: fc.option(finishes, { nil: undefined, freq: 9 }),
    usage: fc.constantFrom(someUsage, undefined),
  })
  .map(({ calls, steps, finish, usage }) => {
    const queues = calls.map((call, number) => ({ next: 0, events: eventsOfCall(call, number) }));
    const rest = queues.flatMap((_, number) => Array<Step>(20).fill(number));
    const woven = [...steps, ...rest].flatMap((step): readonly ContentEvent[] => {
      if (typeof step !== 'number') return [step];
      // A call begins after those with lower numbers.
      const number = Math.min(step, queues.filter(({ next }) => next > 0).length);
      const queue = queues[number];
      const event = queue?.events[queue.next];
      if (queue === undefined || event === undefined) return [];
      queue.next += 1;
      return [event];
    });
    return [
      { type: 'start', id: 'up-1', model: undefined },
      ...woven,
      ...(finish === undefined ? [] : [finish]),
      ...(usage === undefined ? [] : [{ type: 'usage', usage } as const]),
    ];
  });

function eventsOfCall({ name, id, pieces, providerData }: CallDraft, call: number) {
  const [first = '', ...more] = pieces;
  return [
    { type: 'tool_begin', choice, call, id, name, arguments: first, providerData } as const,
    ...more.map((text) => ({ type: 'tool_arguments', choice, call, text }) as const),
    { type: 'tool_end', choice, call } as const,
  ];
}

/** The events cut into the frames of an upstream, at any places. */
export function inRows(
  events: readonly ContentEvent[],
  sizes: readonly number[],
): readonly (readonly ContentEvent[])[] {
  const rows: (readonly ContentEvent[])[] = [];
  for (let at = 0; at < events.length; ) {
    const size = sizes[rows.length % sizes.length] ?? 1;
    rows.push(events.slice(at, at + size));
    at += size;
  }
  return rows;
}

/** The events with the beginnings of calls where the calls before them have ended. */
export function inCallOrder(events: readonly ContentEvent[]): readonly ContentEvent[] {
  const ordered: ContentEvent[] = [];
  let waiting: readonly ContentEvent[] = events;
  while (waiting.length > 0) {
    const at = waiting.findIndex((event) => event.type === 'tool_begin');
    const begin = waiting[at];
    if (begin?.type !== 'tool_begin') return [...ordered, ...waiting];
    const isOwn = (event: ContentEvent): boolean => 'call' in event && event.call === begin.call;
    ordered.push(...waiting.slice(0, at), begin);
    waiting = waiting.slice(at + 1).filter((event) => !isOwn(event));
  }
  return ordered;
}
