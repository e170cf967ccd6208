// suite: search
/** Events of a stream that differ in little from the one before are not parsed, with one result. */
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { runsOf } from '../support/sample.ts';
import { type Route, routes, tappedStreamFor } from './loss/translate.ts';

type Dialect = Route['dialect'];

const texts = fc.oneof(
  fc.constantFrom('a', 'b "c"', 'line\nline', 'é漢😀', '\u2028', '\\', '', 'model', 'stop', '1'),
  fc.constantFrom('data:image/png;base64,iVBORw0KGgo=', 'message_stop', '[DONE]', '}\n\n'),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const counts = fc.constantFrom(0, 1, 7, 2 ** 60, 2.5);

/** JSON text; some servers escape all that is not ASCII. */
const printed = (value: unknown, isEscaped: boolean): string => {
  const json = JSON.stringify(value);
  if (!isEscaped) return json;
  return json.replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
};

/** Padding; the last ones are no JSON strings. */
const paddings = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('', 'x', 'xxxx', '\\"') },
  fc.constantFrom('\\', '\\u12', '\\x', '\t', '\r'),
);

/** Members after the text, and at the end, that replace others, some with an escaped name. */
const replacing = fc.oneof(
  { weight: 3, arbitrary: fc.constant(['', '']) },
  fc.constantFrom(
    [',"t\\u0065xt":"b"', ''],
    [',"content":"b"', ''],
    [',"c\\u006fntent":"b"', ''],
    ['', ',"usage\\u004detadata":{"promptTokenCount":9,"totalTokenCount":9}'],
  ),
);

const candidate = (parts: unknown, more = {}) => ({
  candidates: [{ content: { parts, role: 'model' }, index: 0, ...more }],
});
const delta = (members: unknown, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta: members, finish_reason }],
});
const block = (members: unknown) => ({ type: 'content_block_delta', index: 0, delta: members });

const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };

/** The members of the events of each dialect. */
const documents: Readonly<Record<string, (text: string, kind: number, count?: number) => object>> =
  {
    gemini: (text, kind, count) => ({
      ...[
        candidate([{ text }]),
        candidate([{ text, thought: true }]),
        candidate([{ text }], { finishReason: 'STOP' }),
        candidate([{ text }, { text: 'more' }]),
        candidate([{ functionCall: { name: 'f', args: { text } } }]),
        { error: { message: text } },
      ][kind],
      usageMetadata:
        count === undefined
          ? undefined
          : {
              ...(count === 7 ? {} : { promptTokenCount: 3, candidatesTokenCount: count }),
              totalTokenCount: count,
            },
      responseId: 'r',
    }),
    openai: (text, kind, count) => ({
      id: 'c',
      ...[
        delta({ content: text }),
        delta({ reasoning_content: text }),
        { ...delta({ content: text }), usage: { prompt_tokens: 1, completion_tokens: count } },
        delta({ content: text }, 'stop'),
        delta({ tool_calls: [call] }),
        { error: { message: text } },
      ][kind],
    }),
    anthropic: (text, kind, count) =>
      [
        block({ type: 'text_delta', text }),
        block({ type: 'thinking_delta', thinking: text }),
        { type: 'ping' },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text } },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          usage: { output_tokens: count },
        },
        { type: 'error', error: { type: 'overloaded_error', message: text } },
      ][kind] ?? {},
  };

/** Mostly deltas, because only those repeat. */
const kinds = fc.oneof(
  { weight: 12, arbitrary: fc.constant(0) },
  { weight: 4, arbitrary: fc.constant(1) },
  { weight: 4, arbitrary: fc.constant(2) },
  { weight: 3, arbitrary: fc.integer({ min: 3, max: 5 }) },
);

/** Events of a stream follow each other in runs of the same kind. */
const runsOfEvents = fc.array(
  fc.record({
    kind: kinds,
    statesUsage: fc.boolean(),
    isPadded: fc.boolean(),
    replacing,
    events: fc.array(
      fc.record({
        text: texts,
        count: counts,
        isEscaped: fc.boolean(),
        spaces: fc.nat(2),
        isCut: fc.nat(60),
        padding: paddings,
      }),
      { minLength: 1, maxLength: 4 },
    ),
  }),
  { minLength: 1, maxLength: 4 },
);

const eventsOf = (dialect: Dialect): fc.Arbitrary<readonly string[]> =>
  fc.tuple(runsOfEvents, fc.constantFrom('\n', '\r\n')).map(([runs, lineEnd]) =>
    runs.flatMap(({ kind, statesUsage, isPadded, replacing, events }) =>
      events.map(({ text, count, isEscaped, spaces, isCut, padding }) => {
        const document = documents[dialect]?.(text, kind, statesUsage ? count : undefined) ?? {};
        const json = printed(document, isEscaped).replace(
          /"(?:text|content)":"(?:[^"\\]|\\.)*"/,
          (member) => member + replacing[0],
        );
        const padded = isPadded ? `,"obfuscation":"${padding}"` : '';
        // What is not JSON ends a stream, wherever it comes.
        const end = isCut === 0 ? '\\u12' : `${replacing[1]}${padded}${' '.repeat(spaces)}}`;
        const name = 'type' in document ? `event: ${document.type}${lineEnd}` : '';
        return `${name}data: ${json.slice(0, -1)}${end}${lineEnd}${lineEnd}`;
      }),
    ),
  );

const resultOf = (route: Route, chunks: readonly string[]) => {
  const { text, tap } = tappedStreamFor(
    route,
    chunks.map((chunk) => Buffer.from(chunk)),
  );
  return {
    text,
    failure: tap.failure(),
    usage: tap.usage(),
    state: [tap.hasBegun(), tap.finished(), tap.complete(), tap.countedTokens()],
  };
};

const reading = routes.filter(
  ({ protocol, dialect }, index) =>
    routes.findIndex((one) => one.protocol === protocol && one.dialect === dialect) === index,
);

it.each(
  reading,
)('$protocol over $dialect: repeated events are translated as parsed ones', (route) => {
  fc.assert(
    fc.property(eventsOf(route.dialect), (events) => {
      // Comments are ignored, but no event begins like another.
      const different = events.map((event, at) => `:${at}\n${event}`);

      const result = resultOf(route, [events.join('')]);

      expect(result).toEqual(resultOf(route, [different.join('')]));
    }),
    { numRuns: runsOf(400) },
  );
});

it.each(reading)('$protocol over $dialect: repeated events are not parsed', (route) => {
  const event = (text: string, count: number) =>
    `data: ${JSON.stringify(documents[route.dialect]?.(text, 0, count))}\n\n`;
  const events = Array.from({ length: 50 }, (_, at) => event(`text ${at}`, 7));
  const parse = vi.spyOn(JSON, 'parse');

  resultOf(route, [events.join('')]);

  expect(parse.mock.calls.length).toBeLessThan(12);
  parse.mockRestore();
});
