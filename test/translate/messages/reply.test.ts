// suite: quick
/** Replies to Messages callers: what each event of the common form becomes. */
import { describe, expect, it } from 'vitest';
import { openEnvelope } from '../../../src/canonical/envelope.ts';
import type { ContentEvent, FinishReason, ReplyUsage } from '../../../src/canonical/reply.ts';
import { items, type JsonValue, member } from '../../../src/json.ts';
import { someUsage } from '../responses/events.ts';
import { blocksOf, estimatedInput, replyOf, showing, shown, streamOf, wholeOf } from './writer.ts';

const choice = 0;
const text = (value: string): ContentEvent => ({ type: 'text', choice, text: value });
const reasoning = (value: string): ContentEvent => ({ type: 'reasoning', choice, text: value });
const gemini = (data: string) => ({ provider: 'gemini', kind: 'signature', data }) as const;
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
const stopOf = (message: JsonValue) => [
  member(message, 'stop_reason'),
  member(message, 'stop_sequence'),
  member(message, 'stop_details'),
];

describe('the reason to stop', () => {
  const refusal = (explanation: string | null) => [
    'refusal',
    null,
    { type: 'refusal', category: null, explanation },
  ];
  const plain = (reason: string) => [reason, null, undefined];

  it.each<[string, readonly ContentEvent[], readonly unknown[]]>([
    ['an end', [text('a'), finish('stop')], plain('end_turn')],
    ['another end', [text('a'), finish('other', { native: 'OTHER' })], plain('end_turn')],
    ['a call', [...call(0, '{}'), finish('tool_calls')], plain('tool_use')],
    ['a call with an ordinary end', [...call(0, '{}'), finish('stop')], plain('tool_use')],
    ['the bound', [text('a'), finish('length')], plain('max_tokens')],
    [
      'the bound after a call',
      [...call(0, '{}'), text('a'), finish('length')],
      plain('max_tokens'),
    ],
    [
      'the bound in a refusal',
      [{ type: 'refusal', choice, text: 'No' }, finish('length')],
      plain('max_tokens'),
    ],
    ['a filter', [text('a'), finish('content_filter')], refusal(null)],
    [
      'a filter that explains',
      [finish('content_filter', { message: 'Too rude.', native: 'SAFETY' })],
      refusal('Too rude.'),
    ],
    [
      'a filter with a name',
      [finish('content_filter', { native: 'RECITATION' })],
      refusal('Reply blocked: RECITATION'),
    ],
    ['a filter over a call', [...call(0, '{}'), finish('content_filter')], refusal(null)],
    [
      'a refusal of the model',
      [{ type: 'refusal', choice, text: 'I won’t.' }, finish('stop')],
      refusal('I won’t.'),
    ],
    [
      'a blocked prompt',
      [{ type: 'blocked', reason: 'SAFETY', message: undefined }],
      refusal('Prompt blocked: SAFETY'),
    ],
    [
      'a blocked prompt with a message',
      [{ type: 'blocked', reason: 'SAFETY', message: 'Too rude.' }],
      refusal('Prompt blocked: SAFETY. Too rude.'),
    ],
  ])('of %s', (_, events, expected) => {
    expect(stopOf(wholeOf(events))).toEqual(expected);
    expect(stopOf(streamOf([events]).message)).toEqual(expected);
  });

  it('lists an explanation that it can’t hold', () => {
    expect(replyOf([text('a'), finish('other', { message: 'Odd.' })]).dropped).toEqual([
      'finish_message',
    ]);
  });
});

describe('blocks', () => {
  it('are one for consecutive text, and another for the text of a refusal', () => {
    const refused = { type: 'refusal', choice, text: 'No.' } as const;

    expect(blocksOf(wholeOf([text('a'), text(''), text('b'), refused]))).toEqual([
      { type: 'text', text: 'ab' },
      { type: 'text', text: 'No.' },
    ]);
  });

  it('have the arguments of a call digit by digit', () => {
    const args = '{"n":12345678901234567890,"f":1.0}';

    expect(replyOf([...call(0, args)]).text).toContain(`"input":${args}`);
  });

  it.each([
    ['[1]', '{"_raw":"[1]"}'],
    ['{a:1}', '{"_raw":"{a:1}"}'],
    ['{"a":', '{"_raw":"{\\"a\\":"}'],
    ['Paris', '{"_raw":"Paris"}'],
  ])('have %s as an object, and list it', (args, input) => {
    const { text: json, dropped } = replyOf([...call(0, args), finish('stop')]);

    expect(json).toContain(`"input":${input}`);
    expect(dropped).toEqual(['tool_use.input']);
  });

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

  it('have an id that all providers accept', () => {
    const [block] = blocksOf(wholeOf(call(0, '{}', 'functions.look:0')));

    expect(member(block, 'id')).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it('leave out media and what only its provider understands', () => {
    const {
      text: json,
      dropped,
      isUnusable,
    } = replyOf([
      { type: 'media', choice, mimeType: 'image/png', data: 'AAAA' },
      { type: 'media', choice, mimeType: 'audio/wav', data: 'AAAA' },
      { type: 'media_url', choice, url: 'https://a.example/b.png' },
      { type: 'logprobs', choice, tokens: [] },
      { type: 'citations', choice, citations: [] },
      { type: 'provider_specific', choice, provider: 'gemini', name: 'parts', value: {} },
      text('a'),
    ]);

    expect(dropped).toEqual(['content.image', 'content.audio', 'logprobs', 'citations', 'parts']);
    expect(blocksOf(JSON.parse(json))).toEqual([{ type: 'text', text: 'a' }]);
    expect(isUnusable).toBe(false);
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

  it('has the input that was neither read from a cache nor written to one', () => {
    const expected = {
      input_tokens: 6,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 3,
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 2 },
    };

    expect(member(wholeOf([text('a'), usage(written)]), 'usage')).toEqual(expected);
    expect(member(streamOf([[text('a')], [usage(written)]]).message, 'usage')).toEqual(expected);
  });

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

describe('thinking', () => {
  const envelopesIn = (message: JsonValue) =>
    items(member(message, 'content')).map((block) => {
      const sealed = member(block, 'signature') ?? member(block, 'data');
      const words = member(block, 'thinking') ?? member(block, 'text') ?? member(block, 'name');
      const envelope = typeof sealed === 'string' ? openEnvelope(sealed) : undefined;
      return [member(block, 'type'), words, envelope].filter((one) => one !== undefined);
    });
  const [begin, end] = call(0, '{}');
  const signedCall: readonly ContentEvent[] =
    begin?.type === 'tool_begin' && end !== undefined
      ? [{ ...begin, providerData: gemini('of call') }, end]
      : [];
  const reply: readonly ContentEvent[] = [
    reasoning('Hm'),
    reasoning('.'),
    text('Look'),
    { type: 'text', choice, text: '', providerData: gemini('of text') },
    ...signedCall,
  ];
  const unsigned = { provider: 'any', kind: 'thinking', data: '' };
  const ofText = { provider: 'gemini', kind: 'text', data: 'of text' };
  const ofCall = { provider: 'gemini', kind: 'call', data: 'of call', callId: 'c0' };

  it('has its text and its signatures in their places', () => {
    expect(envelopesIn(wholeOf(reply))).toEqual([
      ['thinking', 'Hm.', unsigned],
      ['text', 'Look'],
      ['thinking', '', ofText],
      ['thinking', '', ofCall],
      ['tool_use', 'look'],
    ]);
  });

  it('has no text if it is to be omitted', () => {
    expect(envelopesIn(wholeOf(reply, showing('omitted')))).toEqual([
      ['thinking', '', unsigned],
      ['text', 'Look'],
      ['thinking', '', ofText],
      ['thinking', '', ofCall],
      ['tool_use', 'look'],
    ]);
  });

  it('carries the text inside if it is omitted and the upstream needs it back', () => {
    const head = { needsReasoningBack: true };

    expect(envelopesIn(wholeOf(reply, showing('omitted'), head))[0]).toEqual([
      'thinking',
      '',
      { ...unsigned, text: 'Hm.' },
    ]);
    expect(envelopesIn(wholeOf(reply, shown, head))[0]).toEqual(['thinking', 'Hm.', unsigned]);
  });

  it('comes only with a call if it was not requested', () => {
    const off = showing('off');

    expect(envelopesIn(wholeOf(reply, off))).toEqual([
      ['text', 'Look'],
      ['thinking', '', ofText],
      ['thinking', '', ofCall],
      ['tool_use', 'look'],
    ]);
    expect(envelopesIn(wholeOf(reply.slice(0, -2), off))).toEqual([['text', 'Look']]);
    expect(envelopesIn(wholeOf(reply, off, { needsReasoningBack: true }))[2]).toEqual([
      'thinking',
      '',
      { ...unsigned, text: 'Hm.' },
    ]);
  });

  it('that is encrypted is redacted', () => {
    const encrypted = { provider: 'openai', kind: 'encrypted', data: 'x' } as const;

    expect(
      envelopesIn(wholeOf([{ type: 'reasoning', choice, text: '', providerData: encrypted }])),
    ).toEqual([['redacted_thinking', { provider: 'openai', kind: 'redacted', data: 'x' }]]);
  });
});
