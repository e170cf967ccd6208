// suite: quick
/** Replies to Messages callers: what each event of the common form becomes. */
import { describe, expect, it } from 'vitest';
import type { ContentEvent, FinishReason, ReplyUsage } from '../../../src/canonical/reply.ts';
import { member } from '../../../src/json.ts';
import { someUsage } from '../responses/events.ts';
import { blocksOf, estimatedInput, replyOf, showing, shown, streamOf, wholeOf } from './writer.ts';

const choice = 0;
const text = (value: string): ContentEvent => ({ type: 'text', choice, text: value });
const finish = (reason: FinishReason, more: { native?: string; message?: string } = {}) =>
  ({ type: 'finish', choice, reason, ...more }) as const;
const usage = (members: Partial<ReplyUsage> = {}): ContentEvent => ({
  type: 'usage',
  usage: { ...someUsage, ...members },
});
const call = (number: number, args: string, id = `c${number}`): readonly ContentEvent[] => [
  { type: 'tool_begin', choice, call: number, id, name: 'look', arguments: args },
  { type: 'tool_end', choice, call: number },
];

describe('blocks', () => {
  it.each([
    'length',
    'content_filter',
  ] as const)('have no call without arguments that %s cut', (reason) => {
    const events = [text('a'), ...call(0, '{}'), ...call(1, ''), finish(reason)];

    expect(replyOf(events).dropped).toEqual(['tool_use']);
    for (const message of [wholeOf(events), streamOf([events]).message]) {
      expect(blocksOf(message).map((block) => member(block, 'id'))).toEqual([undefined, 'c0']);
    }
  });
});

describe('a stream', () => {
  const deltasOf = (rows: readonly (readonly ContentEvent[])[], context = shown) =>
    streamOf(rows, context)
      .events.filter(({ name }) => name === 'content_block_delta')
      .map(({ data }) => {
        const delta = member(data, 'delta');
        return [member(data, 'index'), member(delta, 'text') ?? member(delta, 'partial_json')];
      });

  it('passes on each piece of text as it comes, and arguments when they are whole', () => {
    const [begin] = call(0, '');
    const piece = (value: string) =>
      ({ type: 'tool_arguments', choice, call: 0, text: value }) as const;
    const rows = [
      [text('Let ')],
      [text('me')],
      begin === undefined ? [] : [begin],
      [piece('{"a"')],
      [piece(': 1')],
      [piece('}')],
    ];

    expect(deltasOf(rows)).toEqual([
      [0, 'Let '],
      [0, 'me'],
      [1, '{"a": 1}'],
    ]);
    expect(deltasOf(rows, showing('shown', 'look')).slice(2)).toEqual([
      [1, '{"a"'],
      [1, ': 1'],
      [1, '}'],
    ]);
  });

  it('holds back the calls after the first one that is open', () => {
    const [first, firstEnd] = call(0, '{"a"');
    const [second, secondEnd] = call(1, '{"b"');
    const piece = (number: number, value: string) =>
      ({ type: 'tool_arguments', choice, call: number, text: value }) as const;
    if (!first || !second || !firstEnd || !secondEnd) throw new Error('A call has two events.');
    const writes = [first, second, piece(1, ':2}'), piece(0, ':1}'), secondEnd, firstEnd];

    const rows = writes.map((event) => [event]);

    expect(deltasOf(rows)).toEqual([
      [0, '{"a":1}'],
      [1, '{"b":2}'],
    ]);
    expect(deltasOf(rows, showing('shown', 'look'))).toEqual([
      [0, '{"a"'],
      [0, ':1}'],
      [1, '{"b":2}'],
    ]);
  });

  it('needs no delta for a call without arguments', () => {
    expect(deltasOf([call(0, '')])).toEqual([]);
    expect(deltasOf([call(0, '{}')])).toEqual([[0, '{}']]);
  });

  it('writes nothing before the first block', () => {
    const { events } = streamOf([[usage()], [finish('stop')]]);

    expect(events.map(({ name }) => name)).toEqual([
      'message_start',
      'message_delta',
      'message_stop',
    ]);
  });
});

describe('usage', () => {
  const written = { cacheWriteTokens: 2, cacheWrite1hTokens: 1 };

  const startOf = (rows: readonly (readonly ContentEvent[])[]) =>
    member(member(streamOf(rows).events[0]?.data, 'message'), 'usage');
  const nothing = {
    input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: 0,
  };

  it('at the start is what came with the first content, without output', () => {
    const known = { ...nothing, input_tokens: 6, cache_creation_input_tokens: 2 };

    expect(startOf([[text('a'), usage(written)]])).toEqual({
      ...known,
      cache_read_input_tokens: 3,
    });
    expect(startOf([[usage(written)], [text('a')]])).toEqual({
      ...known,
      cache_read_input_tokens: 3,
    });
    expect(startOf([[text('a')], [usage(written)]])).toEqual(nothing);
    // Only a total is known.
    expect(startOf([[text('a'), usage({ gap: 'split' })]])).toEqual(nothing);
  });

  it.each<[string, readonly ContentEvent[], readonly number[]]>([
    ['is estimated if the upstream states none', [text('0123456789')], [estimatedInput, 4]],
    [
      'is estimated if the upstream states zeros',
      [
        text('0123456789'),
        usage({ inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 }),
      ],
      [estimatedInput, 4],
    ],
    [
      'is estimated for output that is not stated',
      [text('0123456789'), usage({ outputTokens: 0, reasoningTokens: 0 })],
      [8, 4],
    ],
    ['is estimated for an empty reply', [finish('stop')], [estimatedInput, 0]],
  ])('%s', (_, events, [input, output]) => {
    const { text: json, estimated } = replyOf(events);

    expect(estimated).toBe('usage');
    expect(member(JSON.parse(json), 'usage')).toMatchObject({
      input_tokens: input,
      output_tokens: output,
    });
    const { message } = streamOf([events]);
    expect(member(message, 'usage')).toEqual(member(JSON.parse(json), 'usage'));
  });

  it.each<[string, readonly ContentEvent[]]>([
    ['of a blocked prompt is nothing', [{ type: 'blocked', reason: 'SAFETY', message: undefined }]],
    ['that is stated is no estimate', [text('a'), usage()]],
  ])('%s', (_, events) => {
    expect(replyOf(events).estimated).toBeUndefined();
  });

  it('that was stated last counts', () => {
    const events = [
      text('a'),
      usage({ outputTokens: 1 }),
      finish('stop'),
      usage({ outputTokens: 9 }),
    ];

    expect(member(member(streamOf([events]).message, 'usage'), 'output_tokens')).toBe(9);
  });
});
