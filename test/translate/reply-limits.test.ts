// suite: search
/** The limits on the values in what an upstream sends, counted exactly. */
import { describe, expect, it } from 'vitest';
import {
  maxReplyContainers,
  maxReplyLevels,
  maxReplyValues,
  parseBounded,
  parseBoundedExactly,
} from '../../src/bounded-json.ts';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  native,
  wholeChat,
} from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';

/** An array of this many elements counts one value for each, and one for the array. */
const list = (unit: string, count: number): string => `[${`${unit},`.repeat(count - 1)}${unit}]`;
const nested = (levels: number, open: string, close: string): string =>
  `${open.repeat(levels)}0${close.repeat(levels)}`;
/** Makes a nested document long enough to be counted, without another value. */
const long = (text: string): string => text + ' '.repeat(64 * 1024);

describe.each([
  ['parseBounded', parseBounded],
  ['parseBoundedExactly', parseBoundedExactly],
])('%s', (_name, parse) => {
  // An array of n elements has n - 1 commas.
  it.each([
    ['numbers', '0', maxReplyValues - 1],
    ['strings', '"[{,"', maxReplyValues - 1],
    ['strings of escapes', String.raw`"\"[,\\"`, maxReplyValues - 1],
    ['objects', '{}', maxReplyContainers - 1],
    ['arrays', '[]', maxReplyContainers - 1],
    ['objects with a member', '{"a":0}', maxReplyContainers - 1],
  ])('counts %s', (_kind, unit, most) => {
    expect(parse(list(unit, most))).toHaveLength(most);
    expect(parse(list(unit, most + 1))).toBeUndefined();
  });

  it.each([
    ['arrays', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('counts levels of %s', (_kind, open, close) => {
    expect(parse(long(nested(maxReplyLevels, open, close)))).toBeDefined();
    expect(parse(long(nested(maxReplyLevels + 1, open, close)))).toBeUndefined();
  });

  it('does not count the contents of a long string', () => {
    const text = '[{,"\\'.repeat(maxReplyContainers);

    expect(parse(JSON.stringify(text))).toBe(text);
  });
});

const units: readonly (readonly [string, string])[] = [
  ['empty objects', list('{}', maxReplyContainers)],
  ['empty arrays', list('[]', maxReplyContainers)],
  ['objects of an unknown type', list('{"type":"thing","x":0}', maxReplyContainers)],
  ['numbers', list('0', maxReplyValues)],
  ['strings', list('""', maxReplyValues)],
  ['nested arrays', long(nested(maxReplyLevels + 1, '[', ']'))],
  ['nested objects', long(nested(maxReplyLevels + 1, '{"a":', '}'))],
  ['arrays of 30,000 levels', nested(30_000, '[', ']')],
  ['objects of 2,100 levels', nested(2_100, '{"a":', '}')],
  ['brackets that are never closed', '['.repeat(maxReplyContainers)],
];

const maxShortChars = 256 * 1024;

/** Good replies of each dialect, but for what takes the place of `@`. */
const replies: Readonly<Record<DialectName, readonly string[]>> = {
  openai: [
    '{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"a"}}],"x":@}',
    '{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"a","tool_calls":@}}]}',
    '{"choices":@}',
  ],
  gemini: [
    '{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],"x":@}',
    '{"candidates":[{"content":{"parts":@},"finishReason":"STOP"}]}',
    '{"candidates":@}',
  ],
  anthropic: [
    '{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn","x":@}',
    '{"type":"message","content":@,"stop_reason":"end_turn"}',
  ],
};

const callers: readonly (readonly [
  string,
  DialectName,
  'whole' | 'events' | 'array',
  CallerRequest,
])[] = [
  ['a whole chat', 'gemini', 'whole', chat(wholeChat)],
  ['a whole chat', 'anthropic', 'whole', chat(wholeChat)],
  ['a whole native call', 'openai', 'whole', native('json')],
  ['a whole native call', 'anthropic', 'whole', native('json')],
  ['a streamed chat', 'gemini', 'events', chat()],
  ['a streamed chat', 'anthropic', 'events', chat()],
  ['a streamed native call', 'openai', 'events', native()],
  ['a streamed native call', 'anthropic', 'events', native()],
  ['a relayed array', 'gemini', 'array', native('json_array')],
  ['a document in place of a stream', 'gemini', 'whole', chat()],
  ['a document in place of a stream', 'openai', 'whole', native()],
];

const framed = {
  whole: (text: string) => text,
  events: (text: string) => `data: ${text}\n\n`,
  array: (text: string) => `[${text}]`,
};
const contentTypes = {
  whole: 'application/json',
  events: 'text/event-stream',
  array: 'application/json',
};

/**
 * Each place of each reply with every short unit, and each third place with one of the long ones,
 * in turn, because those take megabytes. `TEST_FORM=full` tests all of them.
 */
const cases = callers
  .flatMap(([caller, dialect, framing, request]) =>
    replies[dialect].map((reply) => ({ caller, dialect, framing, request, reply })),
  )
  .flatMap((place, index) => unitsOf(index).map(([unit, text]) => ({ ...place, unit, text })));

function unitsOf(index: number): typeof units {
  if (process.env.TEST_FORM === 'full') return units;
  const short = units.filter(([, text]) => text.length <= maxShortChars);
  const longOnes = units.filter((unit) => !short.includes(unit));
  const turn = index / 3;
  const one = Number.isInteger(turn) ? longOnes[turn % longOnes.length] : undefined;
  return one === undefined ? short : [...short, one];
}

type Case = (typeof cases)[number];

/** What the caller gets and what is charged for the case's reply with this value in it. */
async function outcome({ dialect, framing, request, reply }: Case, value: string) {
  const body = framed[framing](reply.replace('@', () => value));
  const headers = { 'content-type': contentTypes[framing] };
  const upstream = scriptedUpstream({ headers, chunks: [body] });
  const gateway = anyModelGateway({ upstream, channel: { dialect, upstreamModel: 'm' } });
  const { status } = await gateway.call(request);
  const [record] = gateway.records;
  return { status, outcome: record?.outcome, charge: record?.chargeNanos, basis: record?.basis };
}

describe('a reply above the limits', () => {
  it.each(cases)('counts as invalid JSON: $unit in $reply to $caller', async (one) => {
    const invalid = await outcome(one, 'tru'.padEnd(one.text.length));

    expect(invalid.status).toBe(502);
    expect(await outcome(one, one.text)).toEqual(invalid);
  });
});

describe('a reply at the limits', () => {
  it.each([
    ['gemini', '{"candidates":[{"content":{"parts":@},"finishReason":"STOP"}]}'],
    ['anthropic', '{"content":@,"stop_reason":"end_turn"}'],
  ] as const)('of %s keeps a thousand unknown parts and no empty ones', async (dialect, reply) => {
    const part = '{"type":"thing","mark":0}';
    const text = reply.replace('@', `[{},{"type":"text","text":"a"},${list(part, 3_000).slice(1)}`);
    const upstream = scriptedUpstream({ chunks: [text] });
    const gateway = anyModelGateway({ upstream, channel: { dialect, upstreamModel: 'm' } });

    const answer = await gateway.call(chat(wholeChat));

    expect(answer.status).toBe(200);
    expect(answer.text.split('"mark"').length - 1).toBe(1_000);
  });
});

describe('lists of a reply', () => {
  const text = '{"type":"text","text":"a"}';
  const replyOf: Readonly<Record<string, (list: string) => string>> = {
    'parts of gemini': (list) =>
      `{"candidates":[{"content":{"parts":[${list}]},"finishReason":"STOP"}]}`,
    'blocks of anthropic': (list) => `{"content":[${list}],"stop_reason":"end_turn"}`,
    'parts of openai': (list) =>
      `{"choices":[{"index":0,"finish_reason":"stop","message":{"content":[${list}]}}]}`,
  };
  const made: Readonly<Record<string, (list: string) => string>> = {
    'calls of gemini': (list) =>
      `{"candidates":[{"content":{"parts":[${list}]},"finishReason":"STOP"}]}`,
    'calls of anthropic': (list) => `{"content":[${list}],"stop_reason":"tool_use"}`,
  };
  const units: Readonly<Record<string, string>> = {
    'calls of gemini': '{"functionCall":{"name":"f","args":{}}}',
    'calls of anthropic': '{"type":"tool_use","id":"a","name":"f","input":{}}',
  };

  async function statusOf(place: string, body: string, framing: 'whole' | 'events') {
    const dialect = (['gemini', 'anthropic', 'openai'] as const).find((one) => place.endsWith(one));
    const request =
      dialect === 'openai'
        ? native(framing === 'whole' ? 'json' : undefined)
        : chat(framing === 'whole' ? wholeChat : undefined);
    const headers = { 'content-type': contentTypes[framing] };
    const upstream = scriptedUpstream({ headers, chunks: [framed[framing](body)] });
    const gateway = anyModelGateway({
      upstream,
      channel: { dialect: dialect ?? 'openai', upstreamModel: 'm' },
    });
    return (await gateway.call(request)).status;
  }

  it.each(Object.keys(replyOf))('may have 100,000 %s', async (place) => {
    const body = replyOf[place] ?? String;

    expect(await statusOf(place, body(list(text, 100_000).slice(1, -1)), 'whole')).toBe(200);
    expect(await statusOf(place, body(list(text, 100_001).slice(1, -1)), 'whole')).toBe(502);
  });

  it.each(Object.keys(made))('may have 10,000 %s', async (place) => {
    const body = made[place] ?? String;
    const unit = units[place] ?? '';

    expect(await statusOf(place, body(list(unit, 10_000).slice(1, -1)), 'whole')).toBe(200);
    expect(await statusOf(place, body(list(unit, 10_001).slice(1, -1)), 'whole')).toBe(502);
  });

  it('are limited in events too', async () => {
    const parts = list('{"text":"a"}', 100_001).slice(1, -1);
    const choices = `{"choices":${list('{}', 10_001)}}`;

    expect(
      await statusOf('parts of gemini', replyOf['parts of gemini']?.(parts) ?? '', 'events'),
    ).toBe(502);
    expect(await statusOf('choices of openai', choices, 'events')).toBe(502);
    expect(await statusOf('choices of openai', choices, 'whole')).toBe(502);
  });
});

describe('tool calls of a reply', () => {
  const call = '{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}';
  const replyOf = (member: string, unit: string, count: number): string =>
    `{"choices":[{"index":0,"finish_reason":"stop","${member}":
    {"content":"a","tool_calls":${list(unit, count)}}}]}`.replace(/\n */g, '');

  it.each([
    ['0', 'whole'],
    ['{}', 'whole'],
    [call, 'whole'],
    ['{"function":{"name":"f"}}', 'events'],
  ] as const)('may be 10,000: %s, %s', async (unit, framing) => {
    const request = framing === 'whole' ? native('json') : native();
    const statuses = [10_000, 10_001].map(async (count) => {
      const body = replyOf(framing === 'whole' ? 'message' : 'delta', unit, count);
      const headers = { 'content-type': contentTypes[framing] };
      const upstream = scriptedUpstream({ headers, chunks: [framed[framing](body)] });
      const gateway = anyModelGateway({
        upstream,
        channel: { dialect: 'openai', upstreamModel: 'm' },
      });
      return (await gateway.call(request)).status;
    });

    expect(await Promise.all(statuses)).toEqual([200, 502]);
  });
});
