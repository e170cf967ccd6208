// suite: slow host
/** The paths and methods that the gateway serves, matched raw and exactly. */
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chatBody } from '../support/bodies.ts';
import {
  bearer,
  type MountedGateway,
  mountedGateway,
  vendorKey,
} from '../support/mounted-gateway.ts';
import { exchangeRaw, rawRequest } from '../support/raw-http.ts';

let harness: MountedGateway;

beforeEach(async () => {
  harness = await mountedGateway();
});

afterEach(() => harness.close());

describe('a path that is not offered', () => {
  it('/v1/images/edits gets 404, which says so', async () => {
    const response = await supertest(harness.origin)
      .post('/v1/images/edits')
      .set('content-type', 'multipart/form-data; boundary=x')
      .send('--x--')
      .expect(404);

    expect(response.body).toEqual({
      error: {
        message:
          'The path /v1/images/edits is not served here. This gateway serves ' +
          'POST /v1/chat/completions, POST /v1/images/generations, POST /v1/responses, ' +
          'POST /v1/responses/input_tokens, POST /v1/responses/compact, GET /v1/responses/{id}, ' +
          'POST /v1/messages, POST /v1/messages/count_tokens, POST /v1/embeddings, ' +
          'POST /v1beta/models/{model}:generateContent, :streamGenerateContent, :countTokens, ' +
          ':embedContent, :batchEmbedContents, GET /v1/models and GET /v1beta/models.',
        type: 'invalid_request_error',
        param: null,
        code: 'unknown_url',
      },
    });
  });

  it('gets a hint where /v1 is missing from the base URL', async () => {
    const response = await supertest(harness.origin).post('/chat/completions').send({}).expect(404);

    expect(response.body.error.message).toBe(
      'There is no /chat/completions here. Did you mean /v1/chat/completions? ' +
        "Set the client's base URL to end in /v1.",
    );
  });

  it.each([
    '/',
    '/v1',
    '/v1/',
    '/v1/chat',
    '/v1/chat/completions//',
    '/v1/chat/completions;a=b',
    '/v1/chat%2Fcompletions',
    '/v1/chat/%63ompletions',
    '/V1/chat/completions',
    '/v1/Chat/completions',
    '//v1/chat/completions',
    '/v1//chat/completions',
    '/v1/./chat/completions',
    '/v1/x/../chat/completions',
    '/v1/%2e%2e/v1/chat/completions',
    '/v10/chat/completions',
    '/v1beta1/models/native-1:generateContent',
    '/v1/responses/x/y',
    '/v1/moderations',
    '/*',
  ])('%s gets 404', async (path) => {
    const answer = await exchangeRaw(
      harness.origin,
      rawRequest(
        `POST ${path}`,
        {
          ...bearer(harness.secrets.chat),
          'content-type': 'application/json',
          connection: 'close',
        },
        JSON.stringify(chatBody),
      ),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer).toContain('"error":{');
    expect(harness.upstream.calls).toEqual([]);
  });

  it('gets 404 in the absolute form of a request to a proxy', async () => {
    const answer = await exchangeRaw(
      harness.origin,
      rawRequest('POST http://evil/v1/chat/completions', { connection: 'close' }, '{}'),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('gets Google’s form of errors below /v1beta', async () => {
    const response = await supertest(harness.origin).get('/v1beta/files').expect(404);

    expect(response.body.error).toMatchObject({ code: 404, status: 'NOT_FOUND' });
  });
});

describe('a query without a meaning is ignored', () => {
  it.each(['?api-version=2024-06-01', '?', '?a=b&alt=sse'])('on a chat: %s', async (query) => {
    await supertest(harness.origin)
      .post(`/v1/chat/completions${query}`)
      .set(bearer(harness.secrets.chat))
      .send(chatBody)
      .expect(200);

    expect(harness.upstream.calls[0]?.path).toBe('/v1/chat/completions');
  });
});

describe('a method that is not offered', () => {
  it.each([
    ['GET', '/v1/chat/completions', 'POST'],
    ['PUT', '/v1/chat/completions', 'POST'],
    ['DELETE', '/v1/images/generations', 'POST'],
    ['PATCH', '/v1/models', 'GET, HEAD'],
    ['POST', '/v1/models', 'GET, HEAD'],
    ['POST', '/v1/models/chat-1', 'GET, HEAD'],
    ['DELETE', '/v1/models/chat-1', 'GET, HEAD'],
  ] as const)('%s %s gets 405 with Allow', async (method, path, allow) => {
    const answer = await exchangeRaw(
      harness.origin,
      rawRequest(`${method} ${path}`, { connection: 'close' }),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
    expect(answer).toContain(`\r\nallow: ${allow}\r\n`);
    expect(answer).toContain(
      `{"error":{"message":"${method} is not allowed here. Use ${allow}.",` +
        '"type":"invalid_request_error","param":null,"code":"method_not_allowed"}}',
    );
  });

  it('gets 405 in Google’s form on a native path', async () => {
    const response = await supertest(harness.origin)
      .get('/v1beta/models/native-1:generateContent')
      .set(vendorKey(harness.secrets.native))
      .expect(405)
      .expect('allow', 'POST');

    expect(response.body.error).toEqual({
      code: 405,
      message: 'GET is not allowed here. Use POST.',
      status: 'INVALID_ARGUMENT',
    });
  });

  it('TRACE gets 405, because its echo would reveal a key', async () => {
    const answer = await exchangeRaw(
      harness.origin,
      rawRequest('TRACE /v1/models', { ...bearer(harness.secrets.chat), connection: 'close' }),
    );

    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
    expect(answer).not.toContain(harness.secrets.chat);
  });

  it('OPTIONS gets 204 with Allow and without CORS headers', async () => {
    const response = await supertest(harness.origin)
      .options('/v1/chat/completions')
      .set('origin', 'https://a.b')
      .expect(204)
      .expect('allow', 'POST');

    expect(
      Object.keys(response.headers).filter((name) => name.startsWith('access-control')),
    ).toEqual([]);
  });
});
