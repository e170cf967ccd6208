// suite: search
/** Arguments that were cut at any character are never passed on as a complete call. */
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import type { ScriptedReply } from '../../support/scripted-upstream.ts';
import type { Protocol } from '../laws/caller-side.ts';
import {
  asking,
  document,
  eventStream,
  exchanged,
  type Layout,
  type Outcome,
  protocolsOf,
  streamLayouts,
} from '../laws/exchange.ts';

const whole = '{"p":"\\n","n":[-1.5,true]}';

/**
 * Every beginning of the arguments. The empty one is a call without arguments, unless it is the
 * last and a limit or a filter ended the reply.
 */
const beginnings = Array.from({ length: whole.length - 1 }, (_, end) => whole.slice(0, end + 1));

/** What a finish reason of the upstream says about a call that is not whole. */
type Meaning = 'limit' | 'filter' | 'error';

const finishes: Readonly<Record<'openai' | 'anthropic', readonly [string | null, Meaning][]>> = {
  openai: [
    ['length', 'limit'],
    ['content_filter', 'filter'],
    ['tool_calls', 'error'],
    ['stop', 'error'],
    ['error', 'error'],
    [null, 'error'],
  ],
  anthropic: [
    ['max_tokens', 'limit'],
    ['model_context_window_exceeded', 'limit'],
    ['refusal', 'filter'],
    ['tool_use', 'error'],
    ['end_turn', 'error'],
    ['stop_sequence', 'error'],
    ['pause_turn', 'error'],
    [null, 'error'],
  ],
};

const usage = { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 };

/**
 * Where the call is whose arguments may be cut: after another call, or before it; `mixed` if its
 * arguments continue after the other call.
 */
type Place = 'last' | 'first' | 'mixed';

function openaiCall(index: number, name: string, args: string): object {
  return { index, id: `c${index}`, type: 'function', function: { name, arguments: args } };
}

/** The pieces of both calls. */
function openaiCalls(args: string, place: Place): readonly object[] {
  if (place === 'last') return [openaiCall(0, 'look', '{"a":1}'), openaiCall(1, 'paint', args)];
  const [begun, more] = place === 'mixed' ? [args.slice(0, 1), args.slice(1)] : [args, ''];
  const rest = { index: 0, function: { arguments: more } };
  const both = [openaiCall(0, 'paint', begun), openaiCall(1, 'look', '{"a":1}')];
  return place === 'mixed' ? [...both, rest] : both;
}

function openaiReply(args: string, finish_reason: string | null, place: Place): ScriptedReply {
  const message = { role: 'assistant', content: null, tool_calls: openaiCalls(args, place) };
  return document(JSON.stringify({ choices: [{ index: 0, message, finish_reason }], usage }));
}

function openaiStream(args: string, finish_reason: string | null, place: Place): ScriptedReply {
  const choice = (delta: object, reason: string | null = null): object => ({
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const pieces = openaiCalls(args, place).map((call) => choice({ tool_calls: [call] }));
  const end = finish_reason === null ? [] : [choice({}, finish_reason)];
  return eventStream(...framed(...pieces, ...end, { choices: [], usage }), 'data: [DONE]\n\n');
}

function anthropicStream(args: string, stop_reason: string | null, place: Place): ScriptedReply {
  const [look, paint] = place === 'last' ? [0, 1] : [1, 0];
  const looking = anthropicCall(look, 'look', '{"a":1}');
  const painting = anthropicCall(paint, 'paint', args);

  return eventStream(
    ...framed(
      { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 9 } } },
      ...(place === 'last' ? [...looking, ...painting] : [...painting, ...looking]),
      { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 9 } },
      { type: 'message_stop' },
    ),
  );
}

function anthropicCall(index: number, name: string, partial_json: string): readonly object[] {
  return [
    {
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id: `toolu_${index}`, name, input: {} },
    },
    { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json } },
    { type: 'content_block_stop', index },
  ];
}

function framed(...documents: readonly object[]): readonly string[] {
  return documents.map((one) => `data: ${JSON.stringify(one)}\n\n`);
}

interface Row {
  readonly dialect: DialectName;
  readonly protocol: Protocol;
  readonly layout: Layout;
  readonly finish: string | null;
  readonly meaning: Meaning;
  readonly place: Place;
  readonly scriptedFor: (args: string) => ScriptedReply;
}

const rows: readonly Row[] = [
  ...rowsOf('openai', 'json', openaiReply),
  ...rowsOf('openai', 'stream', openaiStream),
  // A server that answers a stream with one document.
  ...rowsOf('openai', 'stream', openaiReply),
  ...rowsOf('anthropic', 'stream', anthropicStream),
];

function rowsOf(
  dialect: 'openai' | 'anthropic',
  form: 'json' | 'stream',
  scripted: (args: string, finish: string | null, place: Place) => ScriptedReply,
): readonly Row[] {
  const places: readonly Place[] =
    scripted === openaiStream ? ['last', 'first', 'mixed'] : ['last', 'first'];
  return protocolsOf(dialect).flatMap((protocol) =>
    (form === 'json' ? (['json'] as const) : streamLayouts[protocol]).flatMap((layout) =>
      finishes[dialect].flatMap(([finish, meaning]) =>
        places.map((place) => ({
          ...{ dialect, protocol, layout, finish, meaning, place },
          scriptedFor: (args: string) => scripted(args, finish, place),
        })),
      ),
    ),
  );
}

const output = {
  native: { limit: '"finishReason":"MAX_TOKENS"', filter: '"finishReason":"SAFETY"' },
  chat: { limit: '"finish_reason":"length"', filter: '"finish_reason":"content_filter"' },
  responses: {
    limit: '"incomplete_details":{"reason":"max_output_tokens"}',
    filter: '"incomplete_details":{"reason":"content_filter"}',
  },
  messages: { limit: '"stop_reason":"max_tokens"', filter: '"stop_reason":"refusal"' },
} as const;

function expectCut({ protocol, meaning }: Row, { answer: reply, gateway }: Outcome): void {
  // A whole message has an object where the text of the arguments was cut.
  if (protocol !== 'messages') expect(reply.text).not.toContain('_raw');
  expect(reply.text).not.toMatch(
    /"stop_reason":"(end_turn|tool_use)"|"finish_reason":"(tool_calls|stop)"|"STOP"|"OTHER"/,
  );
  if (protocol === 'native') expect(reply.text).not.toContain('paint');
  // A stream has announced the call, but never says that it is whole.
  if (protocol === 'responses') {
    expect(reply.text).not.toMatch(
      /^(?!data: \{"type":"response\.output_item\.added").*"name":"paint"/m,
    );
  }
  expect(reply.text).not.toMatch(/"arguments":"\{\}"/);
  if (meaning === 'error') {
    expect(reply.text).toContain('"error":{');
    expect(reply.text).not.toMatch(/"finish_reason":"|"finishReason"|\[DONE\]/);
    expect(gateway.records[0]?.outcome).not.toBe('complete');
    return;
  }
  expect(reply.status).toBe(200);
  expect(reply.text).toContain(output[protocol][meaning]);
  expect(reply.text).not.toContain('"error":{');
}

describe.each(rows)('$protocol over $dialect, $layout, finish $finish, $place', (row) => {
  it('a call that was cut is left out, stays incomplete or is an error', async () => {
    const isUnsure = row.meaning !== 'error' && row.place === 'last';
    for (const args of isUnsure ? ['', ...beginnings] : beginnings) {
      const { dialect, protocol, layout } = row;
      const outcome = await exchanged(dialect, asking(protocol, layout), row.scriptedFor(args));

      expectCut(row, outcome);
    }
  });
});

const endedRows = rows.filter(({ finish }) => finish === 'tool_calls' || finish === 'tool_use');

describe.each(endedRows)('$protocol over $dialect, $layout, $place', (row) => {
  it.each([
    whole,
    '',
    '{a:1}',
    '{"a":1}}',
    '[1]',
    'Paris',
  ])('a call is complete with the arguments %j', async (args) => {
    const { dialect, protocol, layout } = row;
    const scripted = row.scriptedFor(args);
    const { answer: reply, gateway } = await exchanged(dialect, asking(protocol, layout), scripted);

    expect(reply.text).toContain('paint');
    expect(reply.text).not.toContain('"error":{');
    expect(gateway.records[0]?.outcome).toBe('complete');
  });
});

/** Replies whose last call has no arguments, or as many as were parsed before the limit. */
const wholeInputs: readonly (readonly [string, string])[] = [
  ['{}', '""'],
  ['{"a":1}', '"{\\"a\\":1"'],
];

describe.each(protocolsOf('anthropic'))('%s over anthropic, a whole reply', (protocol) => {
  const replyOf = (input: string, stop_reason: string): ScriptedReply =>
    document(
      `{"type":"message","content":[{"type":"tool_use","id":"t1","name":"look","input":{"b":2}},` +
        `{"type":"tool_use","id":"t2","name":"paint","input":${input}}],` +
        `"stop_reason":"${stop_reason}","usage":{"input_tokens":9,"output_tokens":9}}`,
    );

  it.each(
    wholeInputs,
  )('with the input %s at a limit has no whole last call', async (input, cut) => {
    for (const stop of ['max_tokens', 'refusal']) {
      const played = replyOf(input, stop);
      const { answer: reply } = await exchanged('anthropic', asking(protocol, 'json'), played);

      expect(reply.text).toContain('look');
      if (protocol === 'native') expect(reply.text).not.toContain('paint');
      else if (protocol === 'responses') expect(reply.text).not.toContain('paint');
      else expect(reply.text).toContain(`"arguments":${cut}`);
    }
  });

  it.each(wholeInputs)('with the input %s that ended is whole', async (input) => {
    const played = replyOf(input, 'tool_use');
    const { answer: reply } = await exchanged('anthropic', asking(protocol, 'json'), played);

    expect(reply.text).toContain(protocol === 'native' ? `"args":${input}` : JSON.stringify(input));
  });
});

describe('chat over gemini', () => {
  const candidate = (args: string, finish: string): string =>
    `{"candidates":[{"index":0,"content":{"role":"model","parts":[` +
    `{"functionCall":{"name":"look"}},{"functionCall":{"name":"paint"${args}}}]},` +
    `"finishReason":"${finish}"}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":9}}`;
  const forms: readonly (readonly [Layout, (text: string) => ScriptedReply])[] = [
    ['json', document],
    ...streamLayouts.chat.map(
      (layout) => [layout, (text: string) => eventStream(`data: ${text}\n\n`)] as const,
    ),
  ];

  it.each(
    forms,
  )('%s, a last call without arguments at a limit is not whole', async (layout, of) => {
    for (const [args, finish, calls] of [
      ['', 'MAX_TOKENS', 1],
      [',"args":null', 'SAFETY', 1],
      [',"args":{}', 'MAX_TOKENS', 2],
      ['', 'STOP', 2],
    ] as const) {
      const played = of(candidate(args, finish));
      const { answer: reply } = await exchanged('gemini', asking('chat', layout), played);

      expect(reply.text).toContain('paint');
      expect(reply.text.match(/"arguments":"\{\}"/g)).toHaveLength(calls);
    }
  });
});
