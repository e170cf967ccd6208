// suite: slow host
/** The real `openai` package as the caller, with only the base URL changed. */
import OpenAI, { APIError } from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gate, sse } from '../../src/testing/providers/scripts.ts';
import { imageBody } from '../support/bodies.ts';
import { type MountedGateway, mountedGateway } from '../support/mounted-gateway.ts';
import { collect, decodePng, hello, weatherTool } from '../testing/helpers.ts';

let harness: MountedGateway;
let chat: OpenAI;
let image: OpenAI;

beforeEach(async () => {
  harness = await mountedGateway();
  const baseURL = `${harness.origin}/v1`;
  chat = new OpenAI({ baseURL, apiKey: harness.secrets.chat });
  image = new OpenAI({ baseURL, apiKey: harness.secrets.image });
});

afterEach(() => harness.close());

describe('chat', () => {
  it('replies, with the request id that is in the usage log', async () => {
    const reply = await chat.chat.completions.create({ model: 'chat-1', messages: hello });
    const record = await harness.nextRecord();

    expect(reply.choices[0]?.message.content).toMatch(/^Hi there!/);
    expect(reply._request_id).toBe(record.requestId);
  });

  it('streams the same text as a whole reply', async () => {
    const stream = await chat.chat.completions.create({
      model: 'chat-1',
      messages: hello,
      stream: true,
    });
    const chunks = await collect(stream);

    const content = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(content).toMatch(/^Hi there!.*work on\.$/);
    expect(chunks.every(({ choices, usage }) => choices.length === 1 && usage == null)).toBe(true);
  });

  it('streams usage last where it was requested', async () => {
    const stream = await chat.chat.completions.create({
      model: 'chat-1',
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = await collect(stream);

    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 22 } });
  });

  it('completes a loop of tool calls', async () => {
    const send = (messages: OpenAI.ChatCompletionMessageParam[]) =>
      chat.chat.completions.create({ model: 'chat-1', messages, tools: [weatherTool] });

    const first = (await send(hello)).choices[0]?.message;
    const [call] = first?.tool_calls ?? [];
    if (first === undefined || call?.type !== 'function') throw new Error('no tool was called');
    const second = await send([
      ...hello,
      first,
      { role: 'tool', tool_call_id: call.id, content: '57' },
    ]);

    expect(JSON.parse(call.function.arguments)).toEqual({ city: 'sample', unit: 'c' });
    expect(second.choices[0]?.message.content).toContain('57°F');
    expect(harness.upstream.calls[1]?.json()).toMatchObject({ messages: [{}, first, {}] });
  });

  it('parses structured output', async () => {
    const reply = await chat.chat.completions.parse({
      model: 'chat-1',
      messages: hello,
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'answer',
          strict: true,
          schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
        },
      },
    });

    expect(JSON.parse(reply.choices[0]?.message.content ?? '')).toEqual({
      n: expect.any(Number),
    });
  });

  it('ends the call upstream when it breaks out of a stream', async () => {
    const never = gate();
    const first = { choices: [{ index: 0, delta: { content: 'one' } }] };
    harness.upstream.enqueue(sse([first, never.opened, '[DONE]']));

    const stream = await chat.chat.completions.create({
      model: 'chat-1',
      messages: hello,
      stream: true,
    });
    for await (const chunk of stream) {
      expect(chunk.choices[0]?.delta.content).toBe('one');
      break;
    }

    const call = await harness.upstream.nextCall();
    expect(await call.closed).toBe('aborted');
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'caller_left' });
  });

  it('throws the message of a stream that fails half-way', async () => {
    const stream = await chat.chat.completions.create({
      model: 'demo-cut',
      messages: hello,
      stream: true,
    });

    await expect(collect(stream)).rejects.toMatchObject({
      message: 'The upstream failed to answer this request. Retry later.',
      code: 'upstream_failed',
    });
  });
});

describe('images', () => {
  it('decode to a PNG', async () => {
    const reply = await image.images.generate(imageBody);

    expect(decodePng(reply.data?.[0]?.b64_json ?? '')).toEqual({ width: 1024, height: 1024 });
  });

  it('that fail are sent exactly once, although the SDK retries by itself', async () => {
    const failing = image.images.generate({ model: 'demo-500', prompt: 'A cat.' });

    await expect(failing).rejects.toBeInstanceOf(OpenAI.InternalServerError);
    expect(harness.upstream.calls).toHaveLength(1);
  });
});

describe('models', () => {
  it('are listed, and one is retrieved, a slash in its name or not', async () => {
    const listed = await collect(chat.models.list());
    const one = await chat.models.retrieve('vendor/name:free');

    expect(listed.map(({ id }) => id)).toContain('chat-1');
    expect(one).toMatchObject({ id: 'vendor/name:free', owned_by: 'OpenAI' });
  });
});

describe('an error has the SDK’s class, with status, code and request id', () => {
  const cases = [
    [
      '400',
      OpenAI.BadRequestError,
      400,
      null,
      () => chat.chat.completions.create(chatOf('chat-1', 0)),
    ],
    [
      '401',
      OpenAI.AuthenticationError,
      401,
      'invalid_api_key',
      () => clientWithUnknownKey().models.list(),
    ],
    ['403', OpenAI.PermissionDeniedError, 403, 'model_not_allowed', () => sendRequest('foreign-1')],
    ['403 for quota', OpenAI.PermissionDeniedError, 403, 'insufficient_quota', () => poor()],
    ['404', OpenAI.NotFoundError, 404, 'model_not_found', () => sendRequest('nope')],
    ['404 for edits', OpenAI.NotFoundError, 404, 'unknown_url', () => edited()],
    [
      '404 for embeddings of a model that writes text',
      OpenAI.NotFoundError,
      404,
      'model_not_found',
      () => chat.embeddings.create({ model: 'chat-1', input: 'hi' }),
    ],
    ['404 for files', OpenAI.NotFoundError, 404, 'unknown_url', () => chat.files.list()],
    ['429', OpenAI.RateLimitError, 429, 'rate_limit_exceeded', () => sendRequest('demo-429')],
    ['502', OpenAI.InternalServerError, 502, 'upstream_failed', () => sendRequest('demo-500')],
    ['503', OpenAI.InternalServerError, 503, 'no_channel', () => sendRequest('bare-1')],
  ] as const;

  it.each(cases)('%s', async (_name, kind, status, code, send) => {
    const error = await Promise.resolve(send()).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(kind);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status, code, requestID: expect.stringMatching(/^test-id-/) });
    expect(String(error)).toMatch(/\d{3} [A-Z`].{10,}/);
  });

  it('a path that does not exist gets an explanation', async () => {
    const misplaced = new OpenAI({ baseURL: harness.origin, apiKey: harness.secrets.chat });

    await expect(
      misplaced.chat.completions.create({ model: 'chat-1', messages: hello }),
    ).rejects.toThrow('Did you mean /v1/chat/completions?');
  });
});

function chatOf(model: string, max_tokens?: number) {
  return { model, messages: hello, ...(max_tokens === undefined ? {} : { max_tokens }) };
}

/** With a client that does not retry, because its delays are not what is tested. */
function sendRequest(model: string) {
  return chat.withOptions({ maxRetries: 0 }).chat.completions.create(chatOf(model));
}

function clientWithUnknownKey(): OpenAI {
  return new OpenAI({ baseURL: `${harness.origin}/v1`, apiKey: 'sk-stranger' });
}

function poor() {
  const client = new OpenAI({ baseURL: `${harness.origin}/v1`, apiKey: harness.secrets.poor });
  return client.images.generate(imageBody);
}

function edited() {
  const file = new File([new Uint8Array(4)], 'a.png', { type: 'image/png' });
  return image.images.edit({ model: 'image-1', image: file, prompt: 'A hat.' });
}
