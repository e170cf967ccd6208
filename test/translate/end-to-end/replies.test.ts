// suite: slow
/** Replies that other gateways were reported to break. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { called } from '../matrix/call.ts';
import { pick } from '../matrix/json.ts';
import { anthropicReply, geminiReply, openaiReply, scripted } from '../matrix/upstream-replies.ts';
import { bothReceived, columnOf, receivedStream, type Way } from './translated-call.ts';

const data = (document: JsonObject): string => `data: ${JSON.stringify(document)}\n\n`;
const functionCall = (id: string | undefined, name = 'now'): JsonObject => ({
  functionCall: { ...(id === undefined ? {} : { id }), name, args: {} },
});

describe('calls', () => {
  it.each<[Way, JsonObject]>([
    ['native over openai', { tools: [{ functionDeclarations: [{ name: 'a.b:c' }] }] }],
    ['native over anthropic', { tools: [{ functionDeclarations: [{ name: 'a.b:c' }] }] }],
  ])('%s: a name that had to be changed comes back as it was', async (way, body) => {
    const column = columnOf(way);
    const first = await called(
      column,
      false,
      body,
      scripted(column.dialect, openaiReply({}), false),
    );
    const renamed = /a_b_c_[0-9a-f]{6}/.exec(JSON.stringify(first.upstream))?.[0] ?? '';
    const use = { type: 'tool_use', id: 'a', name: renamed, input: {} };
    const call = { id: 'a', type: 'function', function: { name: renamed, arguments: '{}' } };
    const replies: Readonly<Partial<Record<DialectName, JsonObject>>> = {
      openai: openaiReply({ content: null, tool_calls: [call] }, { finish_reason: 'tool_calls' }),
      anthropic: anthropicReply([use], { stop_reason: 'tool_use' }),
    };

    const received = await bothReceived(way, replies[column.dialect] ?? {}, body);

    expect(received.map(({ calls }) => calls.map(({ name }) => name))).toEqual([
      ['a.b:c'],
      ['a.b:c'],
    ]);
  });

  it.each([
    ['none', [undefined, undefined]],
    ['empty ones', ['', '']],
    ['the same', ['a', 'a']],
  ])('with %s for ids get ids of their own, short enough for OpenAI', async (_, ids) => {
    const reply = geminiReply(ids.map((id) => functionCall(id)));

    const received = await bothReceived('chat over gemini', reply);

    for (const { calls } of received) {
      expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
      expect(calls.every(({ id }) => id !== '' && id.length <= 40)).toBe(true);
    }
  });

  it.each([
    { name: 'now' },
    { name: 'now', args: null },
    { name: 'now', args: {} },
  ])('%j has {} for arguments', async (made) => {
    const received = await bothReceived('chat over gemini', geminiReply([{ functionCall: made }]));

    expect(received.map(({ calls }) => calls[0]?.args)).toEqual([{}, {}]);
  });

  it('with arguments that are not an object reach native callers', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'now', arguments: '{a:1}' } };

    const received = await bothReceived('native over openai', openaiReply({ tool_calls: [call] }));

    expect(received.map(({ calls }) => calls[0]?.args)).toEqual([
      { _raw: '{a:1}' },
      { _raw: '{a:1}' },
    ]);
  });

  it('keep every digit of their numbers', async () => {
    const text = '{"id":12345678901234567890}';
    const call = { id: 'a', type: 'function', function: { name: 'now', arguments: text } };
    const reply = scripted('openai', openaiReply({ tool_calls: [call] }), false);

    const { answer } = await called(columnOf('native over openai'), false, {}, reply);

    expect(answer.text).toContain('12345678901234567890');
  });
});

describe('finish reasons', () => {
  it.each([
    ['STOP', 'stop'],
    ['MAX_TOKENS', 'length'],
    ['SAFETY', 'content_filter'],
    ['BLOCKLIST', 'content_filter'],
    ['PROHIBITED_CONTENT', 'content_filter'],
    ['SPII', 'content_filter'],
    ['IMAGE_SAFETY', 'content_filter'],
    ['RECITATION', 'content_filter'],
    ['MODEL_ARMOR', 'content_filter'],
    ['IMAGE_PROHIBITED_CONTENT', 'content_filter'],
    ['LANGUAGE', 'stop'],
    ['OTHER', 'stop'],
    ['A_NEW_ONE', 'stop'],
    ['CONTINUATION', 'length'],
  ])('%s of Gemini with output is %s, and what came is kept', async (finishReason, finish) => {
    const received = await bothReceived(
      'chat over gemini',
      geminiReply([{ text: 'a' }], { finishReason }),
    );

    expect(received.map((one) => [one.finish, one.text])).toEqual([
      [finish, 'a'],
      [finish, 'a'],
    ]);
  });

  it.each([
    'MALFORMED_FUNCTION_CALL',
    'MALFORMED_RESPONSE',
    'UNEXPECTED_TOOL_CALL',
    'TOO_MANY_TOOL_CALLS',
    'MISSING_THOUGHT_SIGNATURE',
    'OTHER',
    'LANGUAGE',
  ])('%s of Gemini without output is an error, and is not asked again', async (finishReason) => {
    const reply = geminiReply([], { finishReason });

    const [whole, streamed] = await bothReceived('chat over gemini', reply);

    expect([whole.status, streamed.status]).toEqual([502, 502]);
  });

  it('STOP with a call is tool_calls (PK#1534, LL#21041, #22900, #12240)', async () => {
    const received = await bothReceived('chat over gemini', geminiReply([functionCall('a')]));

    expect(received.map(({ finish }) => finish)).toEqual(['tool_calls', 'tool_calls']);
  });

  it.each([
    ['end_turn', 'stop', 'STOP'],
    ['stop_sequence', 'stop', 'STOP'],
    ['max_tokens', 'length', 'MAX_TOKENS'],
    ['model_context_window_exceeded', 'length', 'MAX_TOKENS'],
    ['refusal', 'content_filter', 'SAFETY'],
    ['pause_turn', 'stop', 'OTHER'],
    ['a_new_one', 'stop', 'OTHER'],
  ])('%s of Anthropic is %s or %s (LL#23800)', async (stop_reason, chat, google) => {
    const reply = anthropicReply([{ type: 'text', text: 'a' }], { stop_reason });

    const overChat = await bothReceived('chat over anthropic', reply);
    const overNative = await bothReceived('native over anthropic', reply);

    expect(overChat.map(({ finish }) => finish)).toEqual([chat, chat]);
    expect(overNative.map(({ finish }) => finish)).toEqual([google, google]);
  });

  it.each([
    ['length', 'MAX_TOKENS'],
    ['content_filter', 'SAFETY'],
    ['eos', 'STOP'],
    ['end_turn', 'STOP'],
    ['', 'STOP'],
  ])('%j of OpenAI is %s', async (finish_reason, finish) => {
    const reply = openaiReply({ content: 'Hi.' }, { finish_reason });

    const received = await bothReceived('native over openai', reply);

    expect(received.map((one) => one.finish)).toEqual([finish, finish]);
  });

  it('an unknown reason of OpenAI without output is an error', async () => {
    const reply = openaiReply({ content: null }, { finish_reason: 'error' });

    const received = await bothReceived('native over openai', reply);

    expect(received.map(({ status }) => status)).toEqual([502, 502]);
  });

  it('a refusal of OpenAI is the text of a filtered reply, with its reason', async () => {
    const received = await bothReceived('native over openai', openaiReply({ refusal: 'No.' }));

    expect(received).toMatchObject([
      { text: 'No.', finish: 'SAFETY', refusal: 'No.' },
      { text: 'No.', finish: 'SAFETY', refusal: 'No.' },
    ]);
  });
});

describe('blocked prompts and empty replies', () => {
  it('a blocked prompt is one filtered choice, never none (LL#36881, vercel/ai#4235)', async () => {
    const reply = { promptFeedback: { blockReason: 'SAFETY' } };
    const body = scripted('gemini', reply, false);

    const [whole, streamed] = await bothReceived('chat over gemini', reply);
    const { answer } = await called(columnOf('chat over gemini'), false, {}, body);

    expect([whole, streamed]).toMatchObject([
      { status: 200, finish: 'content_filter', refusal: 'Prompt blocked: SAFETY' },
      { status: 200, finish: 'content_filter', refusal: 'Prompt blocked: SAFETY' },
    ]);
    expect(JSON.parse(answer.text)).toMatchObject({
      choices: [{ message: { content: null } }],
      usage: { total_tokens: 0 },
    });
  });

  it.each<[string, JsonObject]>([
    ['no candidates and no reason', {}],
    ['an empty list of them', { candidates: [] }],
    ['feedback without a reason', { candidates: [], promptFeedback: {} }],
  ])('%s is an error (req_llm#944, hermes#83886)', async (_, reply) => {
    const received = await bothReceived('chat over gemini', reply);

    expect(received.map(({ status }) => status)).toEqual([502, 502]);
  });

  it('a reply with only thoughts up to the limit is valid', async () => {
    const reply = geminiReply([], { finishReason: 'MAX_TOKENS' });

    const received = await bothReceived('chat over gemini', reply);

    expect(received).toMatchObject([
      { status: 200, finish: 'length' },
      { status: 200, finish: 'length' },
    ]);
  });

  it('a reply without text has a part, for clients that read the first one', async () => {
    const reply = openaiReply({ content: null }, { finish_reason: 'length' });

    const { answer } = await called(
      columnOf('native over openai'),
      false,
      {},
      scripted('openai', reply, false),
    );

    expect(JSON.parse(answer.text)).toMatchObject({
      candidates: [
        { content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'MAX_TOKENS' },
      ],
    });
  });
});

describe('usage', () => {
  it.each<[string, JsonObject, readonly number[]]>([
    [
      'thoughts and tool prompts of Gemini are included (PK, any-llm#1291)',
      {
        promptTokenCount: 10,
        toolUsePromptTokenCount: 5,
        candidatesTokenCount: 3,
        thoughtsTokenCount: 4,
        totalTokenCount: 22,
      },
      [15, 7, 22],
    ],
    ['a total is the sum', { promptTokenCount: 10, candidatesTokenCount: 3 }, [10, 3, 13]],
  ])('%s', async (_, usageMetadata, [input, output, total]) => {
    const reply = scripted('gemini', geminiReply([{ text: 'a' }], {}, { usageMetadata }), false);

    const { answer } = await called(columnOf('chat over gemini'), false, {}, reply);

    expect(pick(JSON.parse(answer.text), 'usage')).toMatchObject({
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: total,
    });
  });

  it('cached input of Anthropic is part of the input (PK#1458)', async () => {
    const usage = {
      input_tokens: 10,
      cache_read_input_tokens: 30,
      cache_creation_input_tokens: 20,
      output_tokens: 5,
    };

    const received = await bothReceived(
      'chat over anthropic',
      anthropicReply([{ type: 'text', text: 'a' }], { usage }),
    );

    expect(received.map((one) => one.usage.slice(0, 3))).toEqual([
      [60, 30, 5],
      [60, 30, 5],
    ]);
  });

  it('is missing rather than zero if it was not stated', async () => {
    const { usage: _, ...reply } = openaiReply({ content: 'Hi.' });
    const whole = scripted('openai', reply, false);

    const { answer } = await called(columnOf('native over openai'), false, {}, whole);

    expect(answer.text).not.toContain('usageMetadata');
  });

  it('of several events is merged, with the last value of each count', async () => {
    const piece = (usageMetadata: JsonObject, more: JsonObject = {}) =>
      data({ candidates: [{ content: { parts: [{ text: 'a' }] }, ...more }], usageMetadata });

    const { usage } = await receivedStream('chat over gemini', [
      piece({ promptTokenCount: 10, thoughtsTokenCount: 4, candidatesTokenCount: 1 }),
      piece({ candidatesTokenCount: 2 }, { finishReason: 'STOP' }),
    ]);

    expect(usage).toEqual([10, undefined, 6, 4]);
  });
});
