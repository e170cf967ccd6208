// suite: slow host
/** The real gateway under every mount: what callers get, and which paths are the host's. */
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Model } from '../../src/ports/models/catalog.ts';
import { gate, sse } from '../../src/testing/providers/scripts.ts';
import { chatBody, imageBody, messagesBody, nativeBody, responsesBody } from '../support/bodies.ts';
import { brokenLaws, messagesEvents } from '../support/laws/messages-laws.ts';
import {
  bearer,
  type ModelsOf,
  type UnmountedGateway,
  unmountedGateway,
  vendorKey,
} from '../support/mounted-gateway.ts';
import { mountedModels } from '../support/mounted-models.ts';
import { exchangeRaw, rawRequest } from '../support/raw-http.ts';
import { takeWarnings } from '../support/runner/process-warnings.ts';
import { ofThisNode } from '../support/sample.ts';
import { decodePng } from '../testing/helpers.ts';
import { type Mount, mounts, type RunningMount } from './mounts.ts';

const delta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });

/** The usual models, and one for embeddings in both APIs. */
const withEmbeddings: ModelsOf = (upstream, credential) => {
  const models = mountedModels(upstream, credential);
  return [...models, ...models.filter(({ id }) => id === 'chat-1').map(embedding)];
};

function embedding(chat: Model): Model {
  return {
    ...chat,
    id: 'embedding-1',
    protocols: ['embeddings'],
    groups: ['chat', 'native'],
    price: { per: 'token', rates: { input: 20_000_000n } },
    channels: chat.channels.map((channel) => ({
      ...channel,
      upstreamModel: 'text-embedding-3-small',
    })),
  };
}

describe.each(ofThisNode(mounts))('$name', (mount: Mount) => {
  let harness: UnmountedGateway;
  let host: RunningMount;

  beforeAll(async () => {
    harness = await unmountedGateway({}, withEmbeddings);
    host = await mount.start(harness.gateway);
  });

  afterEach(async () => {
    if (mount.body === 'json') await takeWarnings();
    expect(host.reported).toEqual([]);
  });

  afterAll(async () => {
    await host.close();
    await harness.close();
  });

  // The first test, because a gateway warns only once.
  it.runIf(mount.body === 'json')('sends what the parser left, and warns once', async () => {
    await chat({ ...chatBody, model: 'both-1' });
    await chat({ ...chatBody, model: 'both-1' });

    expect(harness.upstream.calls[0]?.json()).toEqual({ ...chatBody, model: 'both-1' });
    expect((await takeWarnings()).map((warning) => Reflect.get(warning, 'code'))).toEqual([
      'TOLLGATE_BODY_REWRITTEN',
    ]);
  });

  it('answers a chat', async () => {
    const response = await chat(chatBody);

    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: expect.stringMatching(/^Hi there!/) } }],
    });
  });

  it('streams each event before the next one exists', async () => {
    const [second, third] = [gate(), gate()];
    harness.upstream.enqueue(
      sse([delta('one'), second.opened, delta('two'), third.opened, delta('three'), '[DONE]']),
    );
    const response = await chat({ ...chatBody, stream: true });
    const next = reading(response);

    expect(await next()).toContain('one');
    second.open();
    expect(await next()).toContain('two');
    third.open();
    expect(await next()).toContain('three');
    while ((await next()) !== undefined);
  });

  it('answers a Responses call, whole and streamed', async () => {
    const whole = await respond(responsesBody);
    const events = await respond({ ...responsesBody, stream: true });

    expect(await whole.json()).toMatchObject({ object: 'response', status: 'completed' });
    expect(await events.text()).toMatch(
      /^event: response\.created\n[\s\S]*\nevent: response\.completed\ndata: \{[^\n]+\}\n\n$/,
    );
  });

  it('answers a Messages call, whole and streamed', async () => {
    const whole = await message(messagesBody);
    const events = await message({ ...messagesBody, stream: true });
    const { status, headers } = events;

    expect(await whole.json()).toMatchObject({ type: 'message', stop_reason: 'end_turn' });
    expect([status, headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    expect(brokenLaws(messagesEvents(await events.text()), { isOwn: true })).toEqual([]);
  });

  it('answers embeddings of both APIs with one vector for each input', async () => {
    const content = { parts: [{ text: 'Hello!' }] };
    const input = ['Hello!', 'Good-bye!'];
    const relayed = await post(
      '/v1/embeddings',
      { model: 'embedding-1', input, encoding_format: 'base64' },
      bearer(harness.secrets.chat),
    );
    const one = await native('embedding-1:embedContent', { content });
    const batch = await native('embedding-1:batchEmbedContents', {
      requests: [{ content }, { content }],
    });

    const numbers = Array(1_536).fill(expect.any(Number));
    expect(await relayed.json()).toMatchObject({
      // 1,536 numbers of four bytes.
      data: Array(2).fill({ embedding: expect.stringMatching(/^[\w+/]{8192}$/) }),
      usage: { prompt_tokens: expect.any(Number) },
    });
    expect(await one.json()).toMatchObject({ embedding: { values: numbers } });
    expect(await batch.json()).toMatchObject({ embeddings: Array(2).fill({ values: numbers }) });
  });

  it('answers an image that decodes', async () => {
    const response = await image(imageBody);
    const [, base64 = ''] = /"b64_json": ?"([^"]+)"/.exec(await response.text()) ?? [];

    expect(response.status).toBe(200);
    expect(decodePng(base64)).toEqual({ width: 1024, height: 1024 });
  });

  it('answers native calls: whole, as events, as an array, and a token count', async () => {
    const whole = await native('native-1:generateContent');
    const events = await native('native-1:streamGenerateContent?alt=sse');
    const array = await native('native-1:streamGenerateContent');
    const count = await native('native-1:countTokens');

    expect(await whole.json()).toMatchObject({ candidates: [{ finishReason: 'STOP' }] });
    expect(await events.text()).toMatch(/^(data: \{[^\r\n]+\}\r\n\r\n)+$/);
    expect(await array.json()).toMatchObject(Array(4).fill({ candidates: [{}] }));
    expect(await count.json()).toMatchObject({ totalTokens: 9 });
  });

  it('lists models for both prefixes, and to HEAD without a body', async () => {
    const headers = bearer(harness.secrets.chat);
    const openai = await fetch(url('/v1/models'), { headers });
    const head = await fetch(url('/v1/models'), { method: 'HEAD', headers });
    const gemini = await fetch(url('/v1beta/models'), {
      headers: vendorKey(harness.secrets.native),
    });

    expect(await openai.json()).toMatchObject({ object: 'list' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect(await gemini.text()).toMatch(/^\{"models":\[\{"name":"models\/both-1"/);
  });

  it('refuses in the error format of the path: no key, no method, no such model', async () => {
    const noKey = await post('/v1/chat/completions', chatBody, {});
    const noSuffix = await post('/v1beta/models/native-1', nativeBody, {});
    const noModel = await chat({ ...chatBody, model: 'nope' });
    const noMessage = await message({ ...messagesBody, model: 'nope' });

    expect([noKey, noSuffix, noModel, noMessage].map(({ status }) => status)).toEqual([
      401, 404, 404, 404,
    ]);
    expect(await noKey.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
    expect(await noSuffix.json()).toMatchObject({ error: { status: 'NOT_FOUND' } });
    expect(await noModel.json()).toMatchObject({ error: { code: 'model_not_found' } });
    expect(await noMessage.json()).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error' },
    });
  });

  it('refuses a body that is too large, and closes the connection', async () => {
    const response = await image({ ...imageBody, prompt: 'x'.repeat(1024 * 1024) });

    expect(response.status).toBe(413);
    expect(response.headers.get('connection')).toBe('close');
    expect(await response.json()).toMatchObject({ error: { code: 'body_too_large' } });
  });

  it.runIf(mount.body === 'bytes')('sends 5 MB upstream byte for byte', async () => {
    const long = 'é'.repeat(2_500_000);
    const body = `{ "contents" :[{"parts":[{"text":"\\u00e9\\/${long}"}]}],"n":1e3}`;

    const response = await native('native-1:generateContent', body);

    expect(response.status).toBe(200);
    expect(harness.upstream.calls.at(-1)?.body.equals(Buffer.from(body))).toBe(true);
  });

  it.runIf(mount.hostAnswers)('leaves other paths and OPTIONS to the host', async () => {
    const path = await fetch(url('/v1/other'));
    const options = await fetch(url('/v1/models'), { method: 'OPTIONS' });

    expect([path.status, path.headers.get('x-host')]).toEqual([404, 'yes']);
    expect(options.headers.get('x-request-id')).toBeNull();
  });

  it.runIf(!mount.hostAnswers)('answers other paths and OPTIONS where no host does', async () => {
    const path = await fetch(url('/v1/other'));
    const options = await fetch(url('/v1/models'), { method: 'OPTIONS' });

    expect([path.status, await path.json()]).toMatchObject([404, { error: {} }]);
    expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, HEAD']);
  });

  it('keeps the connection for the next request after an error', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const refused = await send(agent, {}, chatBody);
    const wrong = await send(agent, bearer(harness.secrets.chat), { model: 'chat-1' });
    const failed = await send(agent, bearer(harness.secrets.chat), {
      ...chatBody,
      model: 'demo-500',
    });
    const right = await send(agent, bearer(harness.secrets.chat), chatBody);
    agent.destroy();

    expect([refused, wrong, failed, right]).toEqual([
      { status: 401, reused: false },
      { status: 400, reused: true },
      { status: 502, reused: true },
      { status: 200, reused: true },
    ]);
  });

  it('answers pipelined requests in order', async () => {
    const ids = ['pipelined-1', 'pipelined-2', 'pipelined-3'];
    const lines = ids.map((id, index) =>
      rawRequest(
        `POST ${host.base}/v1/chat/completions`,
        {
          ...bearer(harness.secrets.chat),
          'content-type': 'application/json',
          'x-request-id': id,
          ...(index === ids.length - 1 ? { connection: 'close' } : {}),
        },
        JSON.stringify({ ...chatBody, stream: index === 1 }),
      ),
    );

    const answers = await exchangeRaw(host.origin, lines.join(''));

    expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
    expect([...answers.matchAll(/x-request-id: (\S+)/gi)].map(([, id]) => id)).toEqual(ids);
  });

  it('answers five callers at once, each with its own reply', async () => {
    const counts = [1, 2, 3, 4, 5];

    const replies = await Promise.all(
      counts.map(async (n) => (await chat({ ...chatBody, n })).json()),
    );

    expect(replies).toMatchObject(counts.map((n) => ({ choices: Array(n).fill({}) })));
  });

  function url(path: string): string {
    return `${host.origin}${host.base}${path}`;
  }

  function post(path: string, body: object | string, key: Record<string, string>) {
    return fetch(url(path), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...key },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  function chat(body: object): Promise<Response> {
    return post('/v1/chat/completions', body, bearer(harness.secrets.chat));
  }

  function respond(body: object): Promise<Response> {
    return post('/v1/responses', body, bearer(harness.secrets.chat));
  }

  function message(body: object): Promise<Response> {
    const key = { 'x-api-key': harness.secrets.chat, 'anthropic-version': '2023-06-01' };
    return post('/v1/messages', body, key);
  }

  function image(body: object): Promise<Response> {
    return post('/v1/images/generations', body, bearer(harness.secrets.image));
  }

  function native(target: string, body: object | string = nativeBody): Promise<Response> {
    return post(`/v1beta/models/${target}`, body, vendorKey(harness.secrets.native));
  }

  async function send(agent: Agent, key: Record<string, string>, body: object) {
    const request = httpRequest(url('/v1/chat/completions'), {
      agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...key },
    });
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve).once('error', reject);
    });
    request.end(JSON.stringify(body));
    const response = await answered;
    await text(response);
    return { status: response.statusCode, reused: request.reusedSocket };
  }
});

describe.each(mounts.filter(({ name }) => name.includes('helmet')))('$name', (mount: Mount) => {
  it('keeps the headers of the host in addition to its own', async () => {
    const harness = await unmountedGateway();
    const host = await mount.start(harness.gateway);

    const { headers } = await fetch(`${host.origin}/v1/models`, {
      headers: bearer(harness.secrets.chat),
    });
    await host.close();
    await harness.close();

    expect(headers.get('content-security-policy')).toContain("default-src 'self'");
    expect(headers.get('access-control-allow-origin')).toBe('https://app.example');
    expect(new Set(headers.get('vary')?.split(', '))).toEqual(
      new Set([
        'Origin',
        'Accept-Encoding',
        'authorization',
        'x-vendor-api-key',
        'x-goog-api-key',
        'x-api-key',
        'anthropic-version',
      ]),
    );
  });
});

function reading(response: Response): () => Promise<string | undefined> {
  const reader = response.body?.getReader();
  return async () => {
    const chunk = await reader?.read();
    return chunk?.value === undefined ? undefined : Buffer.from(chunk.value).toString();
  };
}
