// suite: slow host
/** Chat completions, whole and streamed. */
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { json, sse } from '../../src/testing/providers/scripts.ts';
import { chatBody } from '../support/bodies.ts';
import {
  bearer,
  type MountedGateway,
  mountedGateway,
  upstreamSecret,
} from '../support/mounted-gateway.ts';

let harness: MountedGateway;

beforeEach(async () => {
  harness = await mountedGateway();
});

afterEach(() => harness.close());

describe('a chat', () => {
  it('has the reply text at choices[0].message.content, as JSON by default', async () => {
    const response = await chat(chatBody).expect(200).expect('content-type', 'application/json');

    expect(response.body.choices[0].message.content).toMatch(/^Hi there!/);
  });

  it('is answered with the bytes of the upstream, whatever members they have', async () => {
    const reply = '{ "id":1e400,"choices" : [], "n":12345678901234567890, "t": 1.0, "u":"a\\/b"}\n';
    harness.upstream.enqueue({ headers: { 'content-type': 'application/json' }, body: reply });

    const response = await chat(chatBody).buffer(true).parse(asText).expect(200);

    expect(response.body).toBe(reply);
  });

  it('is sent upstream as the caller’s bytes, with the upstream’s name for the model', async () => {
    const body =
      '{ "seed":12345678901234567890,\t"temperature": 1.0, "model" : "chat-1" ,"x":"a\\/b"' +
      ', "messages":[ {"role":"user","content":"\\u0041"} ]}\n';

    await chat(body).expect(200);

    expect(harness.upstream.calls[0]?.path).toBe('/v1/chat/completions');
    expect(harness.upstream.calls[0]?.body.toString()).toBe(
      body.replace('"chat-1"', '"gpt-4o-mini"'),
    );
  });

  it('accepts every role, content and field that a provider may support', async () => {
    const body = {
      model: 'both-1',
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
        { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.b/c.png' } }] },
        { role: 'assistant', content: null, tool_calls: [] },
        { role: 'tool', tool_call_id: 'call_1', content: '57', name: null },
      ],
      temperature: 0.2,
      max_tokens: 20,
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: 'auto',
      response_format: null,
      stream: false,
      something_new: { of: ['tomorrow'] },
    };

    await chat(body).expect(200);

    expect(harness.upstream.calls[0]?.json()).toEqual(body);
  });

  it('is found by an alias of its model', async () => {
    await chat({ ...chatBody, model: 'both-latest' }).expect(200);

    expect(harness.upstream.calls[0]?.json()).toMatchObject({ model: 'both-1' });
  });

  it('is sent with the account’s credential and no header of the caller’s', async () => {
    await chat(chatBody)
      .set({ cookie: 'a=b', 'x-api-key': 'x', 'x-forwarded-for': '1.2.3.4', 'x-custom': 'c' })
      .expect(200);

    const headers = { ...harness.upstream.calls[0]?.headers };
    expect(headers).toEqual({
      host: new URL(harness.upstream.origin).host,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': expect.stringMatching(/^\d+$/),
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
      authorization: `Bearer ${upstreamSecret}`,
    });
  });

  it('charges the reported usage, and logs one line without a prompt', async () => {
    const response = await chat(chatBody).expect(200);
    const record = await harness.nextRecord();

    expect(record).toMatchObject({
      requestId: response.headers['x-request-id'],
      keyId: 'chat-key',
      group: 'chat',
      modelId: 'chat-1',
      upstreamModel: 'gpt-4o-mini',
      channelId: 'openai-1',
      status: 200,
      outcome: 'complete',
      basis: 'usage',
      usage: { inputTokens: 12, cachedInputTokens: 0, outputTokens: 10, images: 0 },
      chargeNanos: 5_200n,
    });
    expect(JSON.stringify(record, (_name, value) => String(value))).not.toContain('Hello!');
  });
});

describe('a streamed chat', () => {
  const streamed = { ...chatBody, stream: true };

  it('is server-sent events that end with [DONE], without usage unless requested', async () => {
    const response = await chat(streamed)
      .expect(200)
      .expect('content-type', 'text/event-stream; charset=utf-8');

    expect(response.text).toMatch(/^(data: [^\r\n]+\n\n)+$/);
    expect(response.text.endsWith('data: [DONE]\n\n')).toBe(true);
    expect(response.text).not.toContain('prompt_tokens');
  });

  it('requests usage from the upstream anyway, and is charged by it', async () => {
    await chat(streamed).expect(200);
    const record = await harness.nextRecord();

    expect(harness.upstream.calls[0]?.json()).toMatchObject({
      stream_options: { include_usage: true },
    });
    expect(record).toMatchObject({ streamed: true, basis: 'usage', chargeNanos: 5_200n });
  });

  it('has the usage frame where the caller requested it', async () => {
    const response = await chat({ ...streamed, stream_options: { include_usage: true } });

    expect(response.text).toContain('"choices":[],"usage":{"prompt_tokens":12,');
  });

  it('keeps the status of an upstream that refuses before the first event', async () => {
    const response = await chat({ ...streamed, model: 'demo-429' }).expect(429);

    expect(response.headers['content-type']).toBe('application/json');
    expect(response.headers['retry-after']).toBe('2');
  });

  it('ends with an error event and a clean end where the upstream fails half-way', async () => {
    for (const model of ['demo-cut', 'demo-error-event']) {
      const response = await chat({ ...streamed, model }).expect(200);
      const events = response.text.trimEnd().split('\n\n');

      expect(events.length).toBeGreaterThan(1);
      expect(JSON.parse(events.at(-1)?.slice('data: '.length) ?? '')).toEqual({
        error: {
          message: 'The upstream failed to answer this request. Retry later.',
          type: 'server_error',
          param: null,
          code: 'upstream_failed',
        },
      });
    }
  });

  it('answers 502 where the upstream sends JSON instead of events', async () => {
    harness.upstream.enqueue(json(200, { choices: [] }));

    const response = await chat(streamed).expect(502);

    expect(response.body.error.code).toBe('upstream_failed');
  });

  it('forwards events of every kind unchanged', async () => {
    const delta = { id: 'x', choices: [{ index: 0, delta: { content: 'é\u2028"' } }] };
    const last = { id: 'x', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    harness.upstream.enqueue(sse([delta, last, '[DONE]']));

    const response = await chat(streamed).expect(200);

    expect(response.text).toBe(
      `data: ${JSON.stringify(delta)}\n\ndata: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`,
    );
  });
});

describe('an invalid chat body gets 400', () => {
  const cases: readonly (readonly [string, object | string, string | null])[] = [
    ['invalid JSON', '{"model":', null],
    ['an array', '[]', null],
    ['nothing', '', null],
    ['no model', { messages: chatBody.messages }, 'model'],
    ['a model that is not a string', { ...chatBody, model: 1 }, 'model'],
    ['an empty model', { ...chatBody, model: '' }, 'model'],
    ['no messages', { model: 'chat-1' }, 'messages'],
    ['messages that are not an array', { ...chatBody, messages: 'Hello!' }, 'messages'],
    ['no message', { ...chatBody, messages: [] }, 'messages'],
    ['a message without a role', { ...chatBody, messages: [{ content: 'a' }] }, 'messages'],
    ['a stream that is not a boolean', { ...chatBody, stream: 'yes' }, 'stream'],
    ['a temperature that is not a number', { ...chatBody, temperature: '1' }, 'temperature'],
    ['max_tokens of 0', { ...chatBody, max_tokens: 0 }, 'max_tokens'],
    ['max_tokens of 1.5', { ...chatBody, max_tokens: 1.5 }, 'max_tokens'],
    ['n of -1', { ...chatBody, n: -1 }, 'n'],
    ['tools that are not an array', { ...chatBody, tools: {} }, 'tools'],
    ['a member named twice', '{"model":"chat-1","model":"dear-1","messages":[]}', null],
    ['a byte order mark', `\uFEFF${JSON.stringify(chatBody)}`, null],
    ['text after the object', `${JSON.stringify(chatBody)} {}`, null],
  ];

  it.each(cases)('for %s', async (_case, body, param) => {
    const response = await chat(body).expect(400);

    expect(response.body).toEqual({
      error: {
        message: expect.stringMatching(/^.{20,200}\.$/),
        type: 'invalid_request_error',
        param,
        code: null,
      },
    });
    expect(harness.upstream.calls).toEqual([]);
    expect(harness.records).toEqual([]);
  });
});

function chat(body: object | string): supertest.Test {
  return supertest(harness.origin)
    .post('/v1/chat/completions')
    .set(bearer(harness.secrets.chat))
    .type('application/json')
    .send(body);
}

function asText(
  response: supertest.Response,
  done: (error: Error | null, text: string) => void,
): void {
  let text = '';
  response.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  response.on('end', () => done(null, text));
}
