// suite: slow host
/** The fake Vertex AI takes what the gateway sends to Vertex, and refuses what Vertex refuses. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vertex } from '../../src/platforms/places.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { fetchUpstreamClient } from '../../src/upstream/fetch-client.ts';
import {
  anyModelGateway,
  chat,
  embeddings,
  messages,
  native,
  wholeChat,
  wholeMessage,
} from '../support/any-model-gateway.ts';
import { post } from './helpers.ts';

const token = 'ya29.fake';
let upstream: FakeUpstream;
beforeAll(async () => {
  upstream = await startFakeUpstream({ apiKey: token });
});
afterAll(() => upstream.close());

const kinds = ['google', 'anthropic', 'openapi'] as const;
const history = JSON.stringify({
  contents: [
    { role: 'model', parts: [{ functionCall: { id: 'call_1', name: 'f', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { id: 'call_1', name: 'f', response: {} } }] },
  ],
});
const count = {
  path: '/v1/messages/count_tokens',
  body: '{"model":"m","messages":[{"role":"user","content":"Hi"}]}',
};

describe.each(kinds)('a channel of the kind %s', (kind) => {
  it.each([
    ['a chat', chat(wholeChat)],
    ['a streamed chat', chat()],
    ['a message', messages(wholeMessage)],
    ['a streamed message', messages()],
    ['a count', count],
    ['a native call', native('json', history)],
    ['a native array', native('json_array', history)],
  ])('serves %s', async (_, call) => {
    const baseUrl = upstream.vertexBaseUrl;
    const channel = {
      credential: async () => ({ token }),
      ...vertex({ kind, project: 'p', location: 'us-central1', baseUrl }),
    };
    const reply = await anyModelGateway({ upstream: fetchUpstreamClient(), channel }).call(call);

    expect(reply.status, reply.text).toBe(200);
  });
});

it.each(['gemini-embedding-2', 'text-embedding-005'])('embeds by %s', async (upstreamModel) => {
  const baseUrl = upstream.vertexBaseUrl;
  const place = vertex({ kind: 'google', baseUrl });
  const channel = { credential: token, upstreamModel, ...place };
  const gateway = anyModelGateway({ upstream: fetchUpstreamClient(), channel });
  const reply = await gateway.call(embeddings('{"model":"m","input":["a","b"],"dimensions":8}'));

  expect(reply.status, reply.text).toBe(200);
  expect(JSON.parse(reply.text).data).toHaveLength(2);
});

describe('the fake alone', () => {
  const json = { 'content-type': 'application/json' };
  const bearer = { authorization: `Bearer ${token}` };
  const place = '/v1/projects/p/locations/global/publishers';
  const gemini = `${place}/google/models/gemini-3-flash:generateContent`;
  const claude = `${place}/anthropic/models/claude-x:rawPredict`;
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
  const message = { max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
  const version = { anthropic_version: 'vertex-2023-10-16' };

  it.each<readonly [string, string, object, Record<string, string>, number]>([
    ['a call without a token', gemini, { contents }, { authorization: '' }, 401],
    ['an id of a call', gemini, JSON.parse(history), {}, 400],
    ['a wrapped count', countPath(), { generateContentRequest: { contents } }, {}, 400],
    ['a message without its version', claude, message, {}, 400],
    ['a model in the body', claude, { ...message, ...version, model: 'x' }, {}, 400],
    ['a beta', claude, { ...message, ...version }, { 'anthropic-beta': 'skills-2025-10-02' }, 400],
    ['a stream by the other method', claude, { ...message, ...version, stream: true }, {}, 404],
    ['a batch of embeddings', gemini.replace(/:\w+$/, ':batchEmbedContents'), {}, {}, 404],
    ['another publisher', `${place}/acme/models/x:rawPredict`, {}, {}, 404],
  ])('refuses %s', async (_, path, body, headers, status) => {
    const reply = await post(upstream, path, body, { headers: { ...json, ...bearer, ...headers } });

    expect(reply.status).toBe(status);
    expect(await reply.json()).toHaveProperty('error');
  });

  function countPath(): string {
    return gemini.replace(/:\w+$/, ':countTokens');
  }

  it.each([
    ['Gemini', gemini, { contents }],
    ['Claude', claude, { ...message, ...version }],
  ])('takes a call of %s', async (_, path, body) => {
    const reply = await post(upstream, path, body, { headers: { ...json, ...bearer } });
    expect(reply.status).toBe(200);
  });
});
