// suite: slow host
/** The fake providers refuse the same conversations as the real ones, in the same format. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FakeUpstream } from '../../src/testing/providers/server.ts';
import { post } from '../testing/helpers.ts';
import { startStrictUpstream } from './strict-upstream.ts';

let upstream: FakeUpstream;

beforeEach(async () => {
  upstream = await startStrictUpstream();
});

afterEach(() => upstream.close());

/** The message of a refusal, or undefined. */
async function refusal(path: string, body: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  const response = await post(upstream, path, body, { headers });
  if (response.status === 200) return undefined;
  expect(response.status).toBe(400);
  return JSON.parse(await response.text());
}

describe('as Google', () => {
  const model = 'gemini-3-pro';
  const request = { role: 'user', parts: [{ text: 'Hi' }] };
  const signed = 'skip_thought_signature_validator';
  const call = (name: string, extra = {}, signature: string | undefined = signed) => ({
    functionCall: { name, args: {}, ...extra },
    thoughtSignature: signature,
  });
  const bare = (name: string, extra = {}) => ({ functionCall: { name, args: {}, ...extra } });
  const result = (name: string, extra = {}) => ({
    functionResponse: { name, response: {}, ...extra },
  });
  const talk = (messages: readonly unknown[], given: readonly unknown[]) => ({
    contents: [request, { role: 'model', parts: messages }, { role: 'user', parts: given }],
  });
  const send = (body: unknown, name = model) =>
    refusal(`/v1beta/models/${name}:generateContent`, body);

  it.each([
    ['a top member', { contents: [request], tool_choice: 'auto' }, '"tool_choice": Cannot'],
    [
      'a member of the configuration',
      { contents: [request], generationConfig: { stop: [] } },
      `Unknown name "stop" at 'generation_config'`,
    ],
    [
      'a member of a part',
      { contents: [{ parts: [{ text: 'a', type: 'text' }] }] },
      `"type" at 'contents[0].parts[0]'`,
    ],
    [
      'a keyword of a schema',
      {
        contents: [request],
        tools: [
          {
            functionDeclarations: [
              { name: 'f', parameters: { properties: { a: { $ref: '#' } }, type: 'OBJECT' } },
            ],
          },
        ],
      },
      `"$ref" at 'tools[0].function_declarations[0].parameters.properties[a].value'`,
    ],
  ])('refuses an unknown name: %s', async (_name, body, message) => {
    expect(await send(body)).toMatchObject({
      error: { code: 400, status: 'INVALID_ARGUMENT', message: expect.stringContaining(message) },
    });
  });

  it.each([
    [{ contents: [request], system_instruction: { parts: [{ text: 'Be brief.' }] } }],
    [{ contents: [request], generationConfig: { maxOutputTokens: 1, thinking_config: {} } }],
    [talk([call('a'), bare('b')], [result('a'), result('b')])],
    [
      talk(
        [call('a', { id: '1' }), bare('a', { id: '2' })],
        [result('a', { id: '2' }), result('a', { id: '1' })],
      ),
    ],
  ])('accepts a valid request: %j', async (body) => {
    expect(await send(body)).toBeUndefined();
  });

  it.each([
    [
      'an empty instruction',
      { contents: [request], systemInstruction: { parts: [] } },
      'system_inst',
    ],
    ['an empty content', { contents: [{ role: 'user', parts: [] }] }, 'contents[0].parts: '],
    ['an empty part', { contents: [{ parts: [{}] }] }, "oneof field 'data'"],
    [
      'a call without a user turn before',
      { contents: [{ role: 'model', parts: [call('a')] }] },
      'user turn',
    ],
    ['a result without a call', talk([{ text: 'a' }], [result('a')]), 'after a function call turn'],
    ['too few results', talk([call('a'), bare('b')], [result('a')]), 'number of function response'],
    ['a result too many', talk([call('a')], [result('a'), result('a')]), 'number of function'],
    [
      'calls at the end',
      { contents: [request, { role: 'model', parts: [call('a')] }] },
      'number of',
    ],
    ['results in another order', talk([call('a'), bare('b')], [result('b'), result('a')]), 'match'],
    ['another id', talk([call('a', { id: '1' })], [result('a', { id: '2' })]), 'match'],
    ['a result without its id', talk([call('a', { id: '1' })], [result('a')]), 'match'],
    ['an unsigned call', talk([bare('a')], [result('a')]), 'missing a thought_signature'],
    [
      'the signature of another call',
      talk([call('a', {}, 'c2VhbA==')], [result('a')]),
      'Corrupted thought',
    ],
  ])('refuses %s', async (_name, body, message) => {
    expect(await send(body)).toMatchObject({
      error: { status: 'INVALID_ARGUMENT', message: expect.stringContaining(message) },
    });
  });

  it('requires signatures in the current turn only, and for Gemini 3 only', async () => {
    const old = talk([bare('a')], [result('a')]);
    const later = {
      contents: [...old.contents, { role: 'model', parts: [{ text: 'b' }] }, request],
    };

    expect(await send(old, 'gemini-2.5-flash')).toBeUndefined();
    expect(await send(later)).toBeUndefined();
  });

  it('counts the tokens of valid requests only', async () => {
    const count = (body: unknown) => refusal(`/v1beta/models/${model}:countTokens`, body);

    expect(await count({ generateContentRequest: { model, contents: [request] } })).toBeUndefined();
    expect(await count({ contents: [request], generationConfig: {} })).toMatchObject({
      error: { message: expect.stringContaining('"generationConfig"') },
    });
  });

  it('requires an agent’s signature on exactly the call that it signed', async () => {
    const agent = 'gemini-3-agent-1';
    const tools = [{ functionDeclarations: [{ name: 'a' }, { name: 'b' }] }];
    const reply = await post(upstream, `/v1beta/models/${agent}:generateContent`, {
      contents: [request],
      tools,
    });
    const [message] = JSON.parse(await reply.text()).candidates;
    const [first, second] = message.content.parts;
    const given = [first, second].map(({ functionCall: { name, id } }) => result(name, { id }));
    const seal = first.thoughtSignature;

    const unchanged = await send(talk([first, second], given), agent);
    const moved = [{ functionCall: second.functionCall, thoughtSignature: seal }, first];
    const misplaced = await send(talk(moved, given), agent);

    expect(second.thoughtSignature).toBeUndefined();
    expect(unchanged).toBeUndefined();
    expect(misplaced).toMatchObject({ error: { message: 'Corrupted thought signature.' } });
  });
});

describe('as Anthropic', () => {
  const text = (text: string) => ({ type: 'text', text });
  const call = (id: string) => ({ type: 'tool_use', id, name: 'a', input: {} });
  const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'b' });
  const request = { role: 'user', content: 'Hi' };
  const talk = (messages: readonly unknown[], given: readonly unknown[]) => [
    request,
    { role: 'assistant', content: messages },
    { role: 'user', content: given },
  ];
  const send = (fields: object) =>
    refusal('/v1/messages', { model: 'claude', max_tokens: 2048, messages: [request], ...fields });
  const object = { type: 'object', properties: {} };
  const enabled = { type: 'enabled', budget_tokens: 1024 };

  it.each([
    [{ system: [text('Be brief.')] }],
    [{ messages: [request, request, { role: 'assistant', content: 'Well' }] }],
    [{ messages: [request, { role: 'system', content: 'Be brief.' }] }],
    [{ messages: talk([text('a'), call('1'), call('2')], [result('2'), result('1'), text('b')]) }],
  ])('accepts a valid request: %j', async (fields) => {
    expect(await send(fields)).toBeUndefined();
  });

  it.each([
    ['no max_tokens', { max_tokens: undefined }, 'max_tokens: Field required'],
    ['an unknown member', { seed: 1 }, 'seed: Extra inputs are not permitted'],
    ['another role', { messages: [{ role: 'tool', content: 'a' }] }, 'messages.0.role: Input'],
    ['the assistant first', { messages: [{ role: 'assistant', content: 'a' }] }, 'first message'],
    [
      'an instruction before the user',
      { messages: [request, { role: 'system', content: 'a' }, request] },
      'messages.1.role',
    ],
    ['an empty instruction', { system: [text('')] }, 'system: text content blocks'],
    ['an empty text', { messages: [{ role: 'user', content: [text('')] }] }, 'non-whitespace'],
    ['a blank text', { messages: [{ role: 'user', content: ' ' }] }, 'non-whitespace'],
    [
      'an empty text in a result',
      { messages: talk([call('1')], [{ ...result('1'), content: [text('')] }]) },
      'non-whitespace',
    ],
    ['an empty message', { messages: [{ role: 'user', content: [] }] }, 'non-empty content'],
    [
      'a prefill with trailing white space',
      { messages: [request, { role: 'assistant', content: 'a ' }] },
      'trailing',
    ],
    [
      'a call without its result',
      { messages: talk([call('1')], [text('a')]) },
      'messages.1: `tool_use` ids',
    ],
    [
      'text before a result',
      { messages: talk([call('1')], [text('a'), result('1')]) },
      '`tool_use` ids',
    ],
    ['a call at the end', { messages: talk([call('1')], []).slice(0, 2) }, '`tool_use` ids'],
    [
      'a result without its call',
      { messages: talk([text('a')], [result('1')]) },
      'unexpected `tool_use_id`',
    ],
    [
      'an id twice',
      { messages: talk([call('1'), call('1')], [result('1')]) },
      'ids must be unique',
    ],
    ['an id of other letters', { messages: talk([call('a.b')], [result('a.b')]) }, 'match pattern'],
    [
      'changed thinking',
      {
        messages: talk(
          [{ type: 'thinking', thinking: 'a', signature: 'b' }, call('1')],
          [result('1')],
        ),
      },
      'messages.1.content.0: Invalid `signature`',
    ],
    ['too small a budget', { thinking: { ...enabled, budget_tokens: 1 } }, 'budget_tokens: Input'],
    [
      'a budget as large as max_tokens',
      { thinking: enabled, max_tokens: 1024 },
      '`max_tokens` must',
    ],
    [
      'calls without the thinking before them',
      { thinking: enabled, messages: talk([call('1')], [result('1')]) },
      'Expected `thinking`',
    ],
    [
      'a schema with an open object',
      { output_config: { format: { type: 'json_schema', schema: object } } },
      'additionalProperties',
    ],
  ])('refuses %s', async (_name, fields, message) => {
    expect(await send(fields)).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining(message) },
    });
  });
});

describe('as OpenAI', () => {
  const request = { role: 'user', content: 'Hi' };
  const calls = (...ids: readonly string[]) => ({
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => ({
      id,
      type: 'function',
      function: { name: 'a', arguments: '{}' },
    })),
  });
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'b' });
  const tools = [{ type: 'function', function: { name: 'a' } }];
  const send = (fields: object) =>
    refusal('/v1/chat/completions', { model: 'gpt', messages: [request], ...fields });

  it.each([
    [{ messages: [request, calls('1', '2'), result('2'), result('1'), request] }],
    [{ tools, tool_choice: { type: 'function', function: { name: 'a' } } }],
    [{ tools, tool_choice: 'required', stream: true, stream_options: { include_usage: true } }],
  ])('accepts a valid request: %j', async (fields) => {
    expect(await send(fields)).toBeUndefined();
  });

  it.each([
    ['another role', { messages: [{ role: 'model', content: 'a' }] }, "Invalid value: 'model'"],
    ['a result without a call', { messages: [request, result('1')] }, "with role 'tool' must be"],
    ['a result of another call', { messages: [request, calls('1'), result('2')] }, "role 'tool'"],
    ['a result too late', { messages: [request, calls('1'), request, result('1')] }, "role 'tool'"],
    [
      'a call without its result',
      { messages: [request, calls('1', '2'), result('1')] },
      'messages: 2',
    ],
    ['an invalid choice', { tools, tool_choice: 'any' }, "Invalid value: 'any'"],
    ['a choice without tools', { tool_choice: 'auto' }, "only allowed when 'tools'"],
    [
      'the choice of an unknown tool',
      { tools, tool_choice: { type: 'function', function: { name: 'b' } } },
      "'b' not found",
    ],
    ['options of a stream without one', { stream_options: {} }, "'stream_options' parameter"],
    [
      'missing reasoning, for DeepSeek',
      { model: 'deepseek-x', messages: [request, calls('1'), result('1')] },
      '`reasoning_content`',
    ],
  ])('refuses %s', async (_name, fields, message) => {
    expect(await send(fields)).toMatchObject({
      error: { type: 'invalid_request_error', message: expect.stringContaining(message) },
    });
  });
});
