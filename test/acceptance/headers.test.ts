// suite: slow host
/** The complete set of response headers of each route, by outcome. */
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { chatBody, imageBody, nativeBody } from '../support/bodies.ts';
import {
  bearer,
  type MountedGateway,
  mountedGateway,
  vendorKey,
} from '../support/mounted-gateway.ts';

let harness: MountedGateway;

beforeEach(async () => {
  // The clock does not advance, so `Retry-After` is exactly the upstream's.
  harness = await mountedGateway({ clock: fakeClock() });
});

afterEach(() => harness.close());

const id = 'caller-chose-this-id';
const always = {
  'x-request-id': id,
  vary: 'authorization, x-api-key, x-vendor-api-key, x-goog-api-key, anthropic-version',
  'x-content-type-options': 'nosniff',
};
const document = {
  ...always,
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'content-length': expect.stringMatching(/^[1-9]\d*$/),
};
const stream = {
  ...always,
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'transfer-encoding': 'chunked',
};

interface Golden {
  readonly outcome: string;
  readonly status: number;
  readonly send: () => supertest.Test;
  readonly headers: object;
}

const goldens: readonly Golden[] = [
  {
    outcome: 'a chat',
    status: 200,
    send: () => chat(chatBody),
    headers: document,
  },
  {
    outcome: 'a streamed chat',
    status: 200,
    send: () => chat({ ...chatBody, stream: true }),
    headers: { ...stream, 'content-type': 'text/event-stream; charset=utf-8' },
  },
  {
    outcome: 'a streamed chat that breaks off',
    status: 200,
    send: () => chat({ ...chatBody, model: 'demo-cut', stream: true }),
    headers: { ...stream, 'content-type': 'text/event-stream; charset=utf-8' },
  },
  {
    outcome: 'a small image',
    status: 200,
    send: () => image({ model: 'demo-slow', prompt: 'A cat.' }),
    headers: document,
  },
  {
    outcome: 'an image above 64 KiB',
    status: 200,
    send: () => image({ ...imageBody, n: 4 }),
    headers: { ...document, 'content-length': undefined, 'transfer-encoding': 'chunked' },
  },
  {
    outcome: 'a native call',
    status: 200,
    send: () => native('native-1:generateContent'),
    headers: document,
  },
  {
    outcome: 'a native stream of events',
    status: 200,
    send: () => native('native-1:streamGenerateContent?alt=sse'),
    headers: { ...stream, 'content-type': 'text/event-stream; charset=utf-8' },
  },
  {
    outcome: 'a native stream as an array',
    status: 200,
    send: () => native('native-1:streamGenerateContent'),
    headers: { ...stream, 'content-type': 'application/json' },
  },
  {
    outcome: 'a count of tokens',
    status: 200,
    send: () => native('native-1:countTokens'),
    headers: document,
  },
  {
    outcome: 'a list of models',
    status: 200,
    send: () => supertest(harness.origin).get('/v1/models').set(bearer(harness.secrets.chat)),
    headers: document,
  },
  {
    outcome: 'a bad request',
    status: 400,
    send: () => chat({}),
    headers: document,
  },
  {
    outcome: 'no key',
    status: 401,
    send: () => supertest(harness.origin).post('/v1/chat/completions').send(chatBody),
    headers: { ...document, 'x-should-retry': 'false' },
  },
  {
    outcome: 'a model of another group',
    status: 403,
    send: () => chat({ ...chatBody, model: 'foreign-1' }),
    headers: { ...document, 'x-should-retry': 'false' },
  },
  {
    outcome: 'an unknown route',
    status: 404,
    send: () => supertest(harness.origin).get('/v1/nothing'),
    headers: document,
  },
  {
    outcome: 'a wrong method',
    status: 405,
    send: () => supertest(harness.origin).get('/v1/chat/completions'),
    headers: { ...document, allow: 'POST' },
  },
  {
    outcome: 'OPTIONS',
    status: 204,
    send: () => supertest(harness.origin).options('/v1/models'),
    headers: { 'x-request-id': id, vary: always.vary, allow: 'GET, HEAD' },
  },
  {
    outcome: 'another content type',
    status: 415,
    send: () => chat('a', 'text/plain'),
    headers: document,
  },
  {
    outcome: 'an upstream that rate-limits',
    status: 429,
    send: () => chat({ ...chatBody, model: 'demo-429' }),
    headers: { ...document, 'retry-after': '2', 'retry-after-ms': '2000' },
  },
  {
    outcome: 'an upstream that fails',
    status: 502,
    send: () => chat({ ...chatBody, model: 'demo-500' }),
    headers: document,
  },
  {
    outcome: 'an upstream that fails an image',
    status: 502,
    send: () => image({ model: 'demo-500', prompt: 'A cat.' }),
    headers: { ...document, 'x-should-retry': 'false' },
  },
  {
    outcome: 'no channel',
    status: 503,
    send: () => native('bare-1:generateContent'),
    headers: { ...document, 'x-should-retry': 'false' },
  },
];

describe('the headers of', () => {
  it.each(goldens)('$outcome, $status', async ({ status, send, headers }) => {
    const response = await send().set('x-request-id', id);

    // Added by Node's server.
    const { date, connection, 'keep-alive': keepAlive, ...ours } = response.headers;
    expect(response.status).toBe(status);
    expect(ours).toEqual(headers);
  });
});

describe('x-request-id', () => {
  it('is generated where the caller sends none, a new one each time', async () => {
    const ids = await Promise.all([1, 2, 3].map(async () => (await chat(chatBody)).headers[name]));

    expect(new Set(ids).size).toBe(3);
    expect(ids).toEqual(ids.map(() => expect.stringMatching(/^test-id-\d{8}$/)));
  });

  it.each([
    'abcdefgh',
    'A-Za-z0-9_-',
    'x'.repeat(64),
  ])('is taken from the caller: %s', async (own) => {
    const response = await chat(chatBody).set(name, own);
    const record = await harness.nextRecord();

    expect([response.headers[name], record.requestId]).toEqual([own, own]);
  });

  it.each([
    'short',
    'x'.repeat(65),
    'with space',
    'semi;colon',
    '<script>',
  ])('is not taken from the caller if it is malformed: %s', async (own) => {
    const response = await chat(chatBody).set(name, own);

    expect(response.headers[name]).toMatch(/^test-id-\d{8}$/);
  });

  it('is on a refusal too', async () => {
    const response = await supertest(harness.origin).get('/v1/nothing').set(name, id);

    expect(response.headers[name]).toBe(id);
  });
});

const name = 'x-request-id';

function chat(body: object | string, type = 'application/json'): supertest.Test {
  return supertest(harness.origin)
    .post('/v1/chat/completions')
    .set(bearer(harness.secrets.chat))
    .type(type)
    .send(body);
}

function image(body: object): supertest.Test {
  return supertest(harness.origin)
    .post('/v1/images/generations')
    .set(bearer(harness.secrets.image))
    .send(body);
}

function native(target: string): supertest.Test {
  return supertest(harness.origin)
    .post(`/v1beta/models/${target}`)
    .set(vendorKey(harness.secrets.native))
    .send(nativeBody);
}
