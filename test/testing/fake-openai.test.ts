// suite: slow host
/** The fake OpenAI, tested with the real SDK. */
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { member } from '../../src/json.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/providers/server.ts';
import { collect, hello, post, weatherTool } from './helpers.ts';

let upstream: FakeUpstream;
let openai: OpenAI;

beforeEach(async () => {
  upstream = await startFakeUpstream();
  openai = new OpenAI({ baseURL: upstream.openaiBaseUrl, apiKey: 'sk-test', maxRetries: 0 });
});

afterEach(() => upstream.close());

describe('as OpenAI', () => {
  it('replies to a chat with the requested model and with usage', async () => {
    const reply = await openai.chat.completions.create({ model: 'gpt-x', messages: hello });

    expect(reply.model).toBe('gpt-x');
    expect(reply.choices[0]?.message.content).toMatch(/^Hi there!/);
    expect(reply.choices[0]?.finish_reason).toBe('stop');
    expect(reply.usage).toMatchObject({
      prompt_tokens: 12,
      completion_tokens: 10,
      total_tokens: 22,
    });
  });

  it('returns n choices', async () => {
    const reply = await openai.chat.completions.create({ model: 'm', messages: hello, n: 3 });

    expect(reply.choices.map((choice) => choice.index)).toEqual([0, 1, 2]);
    expect(reply.usage?.completion_tokens).toBe(30);
  });

  it('streams the same text as a whole reply, with usage only on request', async () => {
    const whole = await openai.chat.completions.create({ model: 'm', messages: hello });

    const stream = await openai.chat.completions.create({
      model: 'm',
      messages: hello,
      stream: true,
    });
    const chunks = await collect(stream);

    const deltas = chunks.map((chunk) => chunk.choices[0]?.delta);
    expect(deltas[0]?.role).toBe('assistant');
    expect(deltas.map((delta) => delta?.content ?? '').join('')).toBe(
      whole.choices[0]?.message.content,
    );
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
  });

  it('sends a last chunk with usage and no choices when include_usage is set', async () => {
    const stream = await openai.chat.completions.create({
      model: 'm',
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await collect(stream);

    expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 22 } });
  });

  it('frames a stream like OpenAI and ends it with [DONE]', async () => {
    const response = await post(upstream, '/v1/chat/completions', {
      model: 'm',
      messages: hello,
      stream: true,
    });

    const text = await response.text();
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(text).toMatch(/^(data: [^\r\n]+\n\n)+$/);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('calls an offered tool with arguments that are valid by its schema', async () => {
    const reply = await openai.chat.completions.create({
      model: 'm',
      messages: hello,
      tools: [weatherTool],
    });

    expect(reply.choices[0]?.finish_reason).toBe('tool_calls');
    expect(reply.choices[0]?.message).toMatchObject({
      content: null,
      tool_calls: [
        {
          type: 'function',
          function: { name: 'get_weather', arguments: '{"city":"sample","unit":"c"}' },
        },
      ],
    });
  });

  it('streams a tool call in fragments that add up', async () => {
    const stream = openai.chat.completions.stream({
      model: 'm',
      messages: hello,
      tools: [weatherTool],
    });
    const reply = await stream.finalChatCompletion();

    const call = reply.choices[0]?.message.tool_calls?.[0];
    expect(call).toMatchObject({
      function: { name: 'get_weather', arguments: '{"city":"sample","unit":"c"}' },
    });
  });

  it('replies to a tool result with text', async () => {
    const send = (messages: OpenAI.ChatCompletionMessageParam[]) =>
      openai.chat.completions.create({ model: 'm', messages, tools: [weatherTool] });
    const called = (await send(hello)).choices[0]?.message;
    const id = called?.tool_calls?.[0]?.id ?? '';

    const reply = await send([
      ...hello,
      called ?? { role: 'assistant' },
      { role: 'tool', tool_call_id: id, content: '57' },
    ]);

    expect(reply.choices[0]?.message.content).toContain('57°F');
  });

  it('takes a message with the image of a result as a part of the result', async () => {
    const tools = [weatherTool];
    const url = 'data:image/png;base64,iVBORw0KGgo=';
    const image = { type: 'image_url' as const, image_url: { url } };
    const called = await openai.chat.completions.create({ model: 'm', messages: hello, tools });
    const message = called.choices[0]?.message;
    const send = async (content: OpenAI.ChatCompletionContentPart[]) => {
      const reply = await openai.chat.completions.create({
        model: 'm',
        tools,
        messages: [
          ...hello,
          message ?? { role: 'assistant' },
          { role: 'tool', tool_call_id: message?.tool_calls?.[0]?.id ?? '', content: 'Attached.' },
          { role: 'user', content },
        ],
      });
      return reply.choices[0]?.finish_reason;
    };

    expect(await send([image])).toBe('stop');
    expect(await send([image, { type: 'text', text: 'And now?' }])).toBe('tool_calls');
  });

  it('makes parallel calls in as many rounds as an agent’s name says', async () => {
    const messages = [...hello];
    const rounds: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const stream = openai.chat.completions.stream({
        model: 'any-agent-3',
        messages,
        tools: [weatherTool, { ...weatherTool, function: { name: 'get_time' } }, weatherTool],
      });
      const message = (await stream.finalChatCompletion()).choices[0]?.message;
      const calls = message?.tool_calls ?? [];
      rounds.push(calls.length);
      messages.push(message ?? { role: 'assistant' });
      for (const { id } of calls) messages.push({ role: 'tool', tool_call_id: id, content: '' });
    }

    expect(rounds).toEqual([2, 2, 2, 0]);
  });

  it('sends reasoning before the content, like DeepSeek', async () => {
    const request = { model: 'deepseek-x', messages: hello };
    const whole = await openai.chat.completions.create(request);
    const chunks = await collect(
      await openai.chat.completions.create({ ...request, stream: true }),
    );

    const thought = chunks
      .map(({ choices }) => member(choices[0]?.delta, 'reasoning_content') ?? '')
      .join('');
    expect(member(whole.choices[0]?.message, 'reasoning_content')).toBe('The user greets me.');
    expect(thought).toBe('The user greets me.');
  });

  it('respects a JSON schema, also a recursive one', async () => {
    const reply = await openai.chat.completions.create({
      model: 'm',
      messages: hello,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'tree',
          schema: {
            $defs: {
              node: {
                type: 'object',
                properties: { label: { type: 'string' }, child: { $ref: '#/$defs/node' } },
                required: ['label'],
              },
            },
            type: 'object',
            properties: {
              root: { $ref: '#/$defs/node' },
              count: { type: 'integer', minimum: 3 },
              tags: { type: 'array', items: { enum: ['a', 'b'] }, minItems: 2 },
            },
            required: ['root', 'count', 'tags'],
          },
        },
      },
    });

    expect(JSON.parse(reply.choices[0]?.message.content ?? '')).toEqual({
      root: { label: 'sample' },
      count: 3,
      tags: ['a', 'a'],
    });
  });

  it('lists its models and returns one', async () => {
    const listed = await collect(openai.models.list());
    const one = await openai.models.retrieve('gpt-image-1');

    expect(listed.map((model) => model.id)).toContain('demo-503');
    expect(one).toMatchObject({ id: 'gpt-image-1', object: 'model' });
    await expect(openai.models.retrieve('nope')).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
  });

  it.each([
    ['POST', '/v1/x', 'Invalid URL (POST /v1/x)'],
    ['GET', '/v1/chat/completions', 'Invalid URL (GET /v1/chat/completions)'],
    ['DELETE', '/%E0%A4%A?x=%', 'Invalid URL (DELETE /%E0%A4%A)'],
  ])('returns its own 404 for %s %s', async (method, path, message) => {
    const response = await fetch(`${upstream.origin}${path}`, { method });

    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      error: { message, type: 'invalid_request_error', param: null, code: null },
    });
  });

  it.each([
    '',
    'not json',
    '[]',
    'null',
    '{"model":7}',
    '{"model":"m"}',
  ])('returns 400 for the chat body %j', async (body) => {
    const response = await fetch(`${upstream.openaiBaseUrl}/chat/completions`, {
      method: 'POST',
      body,
    });

    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
  });
});
