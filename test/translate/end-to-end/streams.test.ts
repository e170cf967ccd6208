// suite: quick
/** Streams that other gateways were reported to break. */
import { describe, expect, it } from 'vitest';
import { items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { called } from '../matrix/call.ts';
import { pick, textAt } from '../matrix/json.ts';
import { columnOf, receivedStream, type Way } from './translated-call.ts';

const data = (document: JsonObject): string => `data: ${JSON.stringify(document)}\n\n`;
const delta = (piece: JsonObject, finish: string | null = null): string =>
  data({ id: 'c', model: 'x', choices: [{ index: 0, delta: piece, finish_reason: finish }] });
const tool = (piece: JsonObject): string => delta({ tool_calls: [piece] });
const candidate = (parts: readonly JsonObject[], more: JsonObject = {}): string =>
  data({ candidates: [{ content: { role: 'model', parts }, ...more }] });
const done = 'data: [DONE]\n\n';
const events = { 'content-type': 'text/event-stream' };

async function streamText(way: Way, frames: readonly string[]): Promise<string> {
  const column = columnOf(way);
  const { answer: reply } = await called(column, true, {}, { headers: events, chunks: frames });
  return reply.text;
}

function documents(text: string): readonly JsonValue[] {
  return text
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data: {'))
    .map((line): JsonValue => JSON.parse(line.slice('data: '.length)));
}

describe('reading', () => {
  it.each([
    1, 2, 3, 5,
  ])('letters cut into pieces of %s bytes are whole (plano#980)', async (size) => {
    const bytes = Buffer.from(candidate([{ text: 'Zürich 🚀' }], { finishReason: 'STOP' }));
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );

    const column = columnOf('chat over gemini');
    const { answer: reply } = await called(column, true, {}, { headers: events, chunks });

    expect(reply.text).toContain('Zürich 🚀');
    expect(reply.text).not.toContain('\uFFFD');
  });

  it('a last event without a blank line is read (hermes#106404)', async () => {
    const last = candidate([{ text: 'b' }], { finishReason: 'STOP' }).trimEnd();

    const received = await receivedStream('chat over gemini', [candidate([{ text: 'a' }]), last]);

    expect(received).toMatchObject({ text: 'ab', finish: 'stop' });
  });

  it.each<[Way, readonly string[]]>([
    ['chat over gemini', [candidate([{ text: 'a' }])]],
    ['native over openai', [delta({ content: 'a' })]],
    [
      'chat over anthropic',
      [
        data({ type: 'message_start', message: { id: 'm', content: [], usage: {} } }),
        data({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'a' } }),
      ],
    ],
  ])('%s: a stream without its end is an error, not a success', async (way, frames) => {
    const received = await receivedStream(way, frames);

    expect(received.text).toBe('a');
    expect(received.error).toBeDefined();
    expect(received.finish).toBe('');
  });

  it.each<[string, string]>([
    ['an error beside choices', data({ choices: [], error: { message: 'Oh.', code: 502 } })],
    ['JSON that is broken', 'data: {"choices":[\n\n'],
  ])('%s ends the stream as an error', async (_, frame) => {
    const received = await receivedStream('native over openai', [
      delta({ content: 'a' }),
      frame,
      done,
    ]);

    expect(received.error).toBeDefined();
  });
});

describe('from Gemini to chat', () => {
  it('calls are numbered across events, not merged by name (LL#11558, omnigent#28)', async () => {
    const call = (city: string) => ({ functionCall: { name: 'now', args: { city } } });

    const text = await streamText('chat over gemini', [
      candidate([call('Rome')]),
      candidate([call('Oslo')], { finishReason: 'STOP' }),
    ]);

    const calls = documents(text).flatMap((one) =>
      items(pick(one, 'choices', 0, 'delta', 'tool_calls')),
    );
    expect(calls.map((call) => member(call, 'index'))).toEqual([0, 1]);
    expect(calls.map((call) => textAt(call, 'function', 'arguments'))).toEqual([
      '{"city":"Rome"}',
      '{"city":"Oslo"}',
    ]);
  });

  it('one finish follows all content, even with STOP on every event', async () => {
    const text = await streamText('chat over gemini', [
      candidate([{ text: 'a' }], { finishReason: 'STOP' }),
      candidate([{ functionCall: { name: 'now' } }], { finishReason: 'STOP' }),
      candidate([{ text: '' }], { finishReason: 'STOP' }),
    ]);

    const finishes = documents(text).map((one) => pick(one, 'choices', 0, 'finish_reason') ?? null);
    expect(finishes.filter((finish) => finish !== null)).toEqual(['tool_calls']);
    expect(finishes.slice(0, -2).every((finish) => finish === null)).toBe(true);
  });

  it('all chunks have one id, one time and the caller’s model name', async () => {
    const text = await streamText('chat over gemini', [
      data({ responseId: 'r', modelVersion: 'v', candidates: [{ content: { parts: [] } }] }),
      candidate([{ text: 'a' }]),
      candidate([{ text: 'b' }], { finishReason: 'STOP' }),
    ]);

    const chunks = documents(text);
    expect(new Set(chunks.map((one) => member(one, 'id')))).toEqual(new Set(['chatcmpl-r']));
    expect(new Set(chunks.map((one) => member(one, 'created'))).size).toBe(1);
    expect(new Set(chunks.map((one) => member(one, 'model')))).toEqual(new Set(['m']));
  });

  it('with include_usage, every chunk before the last has null usage', async () => {
    const text = await streamText('chat over gemini', [
      candidate([{ text: 'a' }]),
      data({
        candidates: [{ finishReason: 'STOP' }],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      }),
    ]);

    const usages = documents(text).map((one) => member(one, 'usage'));
    expect(usages.slice(0, -1).every((usage) => usage === null)).toBe(true);
    expect(usages.at(-1)).toMatchObject({ total_tokens: 2 });
    expect(pick(documents(text).at(-1), 'choices')).toEqual([]);
  });

  it('the signature of an empty text is kept', async () => {
    const { message } = await receivedStream('chat over gemini', [
      candidate([{ text: 'a' }]),
      candidate([{ text: '', thoughtSignature: 'c2ln' }], { finishReason: 'STOP' }),
    ]);

    expect(pick(message, 'extra_content', 'google', 'thought_signature')).toBe('c2ln');
  });
});

describe('from Anthropic to chat', () => {
  const begin = data({ type: 'message_start', message: { id: 'msg', content: [], usage: {} } });
  const end = [
    data({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: {} }),
    data({ type: 'message_stop' }),
  ];
  const start = (index: number, content_block: JsonObject) =>
    data({ type: 'content_block_start', index, content_block });
  const stop = (index: number) => data({ type: 'content_block_stop', index });
  const use = (input: JsonObject) => ({ type: 'tool_use', id: 'a', name: 'now', input });

  it.each<[JsonObject, JsonObject]>([
    [{}, {}],
    [{ city: 'Rome' }, { city: 'Rome' }],
  ])('a call that begins with %j and has no fragments has these arguments', async (input, args) => {
    const frames = [begin, start(0, use(input)), stop(0), ...end];

    const { calls } = await receivedStream('chat over anthropic', frames);

    expect(calls).toEqual([{ id: 'a', name: 'now', args }]);
  });

  it('pings, unknown events and unknown blocks are ignored', async () => {
    const frames = [
      begin,
      data({ type: 'ping' }),
      data({ type: 'a_new_event', index: 7 }),
      start(0, { type: 'a_new_block', stuff: 1 }),
      stop(0),
      start(1, { type: 'text', text: 'Hi.' }),
      stop(1),
      ...end,
    ];

    const received = await receivedStream('chat over anthropic', frames);

    expect(received).toMatchObject({ text: 'Hi.', error: undefined });
  });
});

describe('from OpenAI to native', () => {
  it.each<[string, readonly JsonObject[]]>([
    [
      'without an index (OpenMAIC#1556, AstrBot#6661)',
      [
        { id: 'a', function: { name: 'now', arguments: '{"city":"Rome"}' } },
        { id: 'b', function: { name: 'now', arguments: '{"city":"Oslo"}' } },
      ],
    ],
    [
      'with an index that restarts at 0',
      [
        { index: 0, id: 'a', function: { name: 'now', arguments: '{"city":"Rome"}' } },
        { index: 0, id: 'b', function: { name: 'now', arguments: '{"city":"Oslo"}' } },
      ],
    ],
    [
      'in fragments that are valid JSON too early',
      [
        { index: 0, id: 'a', function: { name: 'now', arguments: '' } },
        { index: 1, id: 'b', function: { name: 'now', arguments: '{"city":' } },
        { index: 0, function: { arguments: '{"city":"Rome"}' } },
        { index: 1, function: { arguments: '"Oslo"}' } },
      ],
    ],
  ])('calls %s are whole, all in one event', async (_, pieces) => {
    const text = await streamText('native over openai', [
      ...pieces.map(tool),
      delta({}, 'tool_calls'),
      done,
    ]);

    const parts = documents(text).map((one) =>
      items(pick(one, 'candidates', 0, 'content', 'parts')).filter(
        (part) => member(part, 'functionCall') !== undefined,
      ),
    );
    const together = parts.filter((some) => some.length > 0);
    expect(together).toHaveLength(1);
    expect(together[0]?.map((part) => pick(part, 'functionCall', 'args', 'city'))).toEqual([
      'Rome',
      'Oslo',
    ]);
  });

  it('the finish and the usage are together in the last event', async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

    const text = await streamText('native over openai', [
      delta({ content: 'a' }),
      delta({}, 'stop'),
      data({ id: 'c', choices: [], usage }),
      done,
    ]);

    const all = documents(text);
    expect(all.at(-1)).toMatchObject({
      candidates: [{ finishReason: 'STOP', content: { parts: [{ text: '' }] } }],
      usageMetadata: { totalTokenCount: 2 },
    });
    expect(all.slice(0, -1).some((one) => pick(one, 'candidates', 0, 'finishReason'))).toBe(false);
  });

  it('events have the framing that Google’s SDKs need, without OpenAI’s', async () => {
    const text = await streamText('native over openai', [delta({ content: 'a' }, 'stop'), done]);

    expect(text).toMatch(/^(?:data: \{.*\}\r\n\r\n)+$/);
    expect(text).not.toContain('[DONE]');
    expect(text).not.toContain('choices');
  });

  it('Azure’s first chunk without choices is ignored, and text stays exact', async () => {
    const received = await receivedStream('native over openai', [
      data({ choices: [], prompt_filter_results: [] }),
      delta({ role: 'assistant', content: '' }),
      delta({ content: ' a\n' }),
      delta({ content: '\n' }),
      delta({ content: 'b ' }, 'stop'),
      done,
    ]);

    expect(received.text).toBe(' a\n\nb ');
  });
});

describe('errors after the first byte', () => {
  it('of chat are one event, without a finish and without [DONE]', async () => {
    const text = await streamText('chat over gemini', [
      candidate([{ text: 'a' }]),
      data({ error: { code: 503, message: 'Busy.', status: 'UNAVAILABLE' } }),
    ]);

    expect(text.trimEnd().split('\n').at(-1)).toMatch(/^data: \{"error":\{"message"/);
    expect(text).not.toContain('[DONE]');
    expect(text).not.toMatch(/"finish_reason":"/);
  });
});
