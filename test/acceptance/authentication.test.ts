// suite: slow host
/** Which header carries the key, and the same answer for every key that is not accepted. */
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chatBody, imageBody, nativeBody } from '../support/bodies.ts';
import {
  bearer,
  type MountedGateway,
  mountedGateway,
  vendorKey,
} from '../support/mounted-gateway.ts';

let harness: MountedGateway;

beforeEach(async () => {
  harness = await mountedGateway();
});

afterEach(() => harness.close());

const openaiHeader = 'Send the complete key in the header `Authorization: Bearer <key>`.';
const geminiHeader =
  'Send the complete key in the header `x-goog-api-key: <key>` or `x-vendor-api-key: <key>`.';
/** No key was sent in the header that carries it. */
const missing = 'No API key was found.';
const notBearer =
  'No API key was found: the header `Authorization` is not of the form `Bearer <key>`.';
const emptyVendor = 'No API key was found: the header `x-vendor-api-key` is empty.';
const ofProvider =
  'It begins like the key of a provider: take the key that was issued for this gateway.';
const notRead = (name: string): string =>
  `No API key was found: the header \`${name}\` is not read here.`;
/** The same text for every key that was sent, so that it tells nobody which keys exist. */
const invalid = 'The API key is unknown, disabled or expired.';

const refusedOpenai = (message: string): object => ({
  error: {
    message: `${message} ${openaiHeader}`,
    type: 'invalid_request_error',
    param: null,
    code: 'invalid_api_key',
  },
});

const refusedGemini = (message: string): object => ({
  error: { code: 401, message: `${message} ${geminiHeader}`, status: 'UNAUTHENTICATED' },
});

describe('the key of a chat or image call', () => {
  it('comes as Authorization: Bearer, the scheme in any case', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
      await chat({ authorization: `${scheme} ${harness.secrets.chat}` }).expect(200);
    }
  });

  it.each([
    ['no header', missing, () => ({})],
    ['an empty header', notBearer, () => ({ authorization: '' })],
    ['no secret', notBearer, () => ({ authorization: 'Bearer ' })],
    ['no scheme', notBearer, () => ({ authorization: harness.secrets.chat })],
    ['another scheme', notBearer, () => ({ authorization: `Basic ${harness.secrets.chat}` })],
    ['two spaces', notBearer, () => ({ authorization: `Bearer  ${harness.secrets.chat}` })],
    [
      'text after the secret',
      notBearer,
      () => ({ authorization: `Bearer ${harness.secrets.chat} x` }),
    ],
    ['two secrets', invalid, () => ({ authorization: `Bearer ${harness.secrets.chat},x` })],
    ['a secret cut short', invalid, () => bearer(harness.secrets.chat.slice(0, -1))],
    [
      'a secret with a changed last character',
      invalid,
      () => bearer(`${harness.secrets.chat.slice(0, -1)}-`),
    ],
    ['an unknown secret', invalid, () => bearer('unknown-0123456789')],
    ['a key of OpenAI', `${invalid} ${ofProvider}`, () => bearer('sk-proj-0123456789')],
    ['a key of Google', `${invalid} ${ofProvider}`, () => bearer('AIzaSy-0123456789')],
    ['a secret of 10,000 characters', invalid, () => bearer('x'.repeat(10_000))],
    [
      'the vendor header instead',
      notRead('x-vendor-api-key'),
      () => vendorKey(harness.secrets.chat),
    ],
  ])('is refused with 401 for %s', async (_case, message, headers) => {
    const response = await chat(headers()).expect(401);

    expect(response.body).toEqual(refusedOpenai(message));
    expect(harness.upstream.calls).toEqual([]);
  });

  it.each(['disabled', 'expired'] as const)('is refused with 401 if it is %s', async (name) => {
    const response = await chat(bearer(harness.secrets[name])).expect(401);

    expect(response.body).toEqual(refusedOpenai(invalid));
  });

  it('is refused from the next call on once the host disables it', async () => {
    await chat(bearer(harness.secrets.chat)).expect(200);

    harness.keys.update('chat-key', { disabled: true });

    await chat(bearer(harness.secrets.chat)).expect(401);
  });

  it('is refused for an image too, and no SDK retries', async () => {
    const response = await supertest(harness.origin)
      .post('/v1/images/generations')
      .send(imageBody)
      .expect(401);

    expect(response.body).toEqual(refusedOpenai(missing));
    expect(response.headers['x-should-retry']).toBe('false');
  });
});

describe('the key of a native call', () => {
  it('comes complete in x-vendor-api-key, or in the header of Google’s SDKs', async () => {
    await native(vendorKey(harness.secrets.native)).expect(200);
    await native({ 'x-goog-api-key': harness.secrets.native }).expect(200);
  });

  it('is taken from x-vendor-api-key where an SDK adds its own placeholder', async () => {
    const { native: secret } = harness.secrets;

    await native({ ...vendorKey(secret), 'x-goog-api-key': 'placeholder' }).expect(200);
    await native({ ...vendorKey('placeholder'), 'x-goog-api-key': secret }).expect(401);
  });

  it('is named with its header if another header has a key too, right or wrong', async () => {
    for (const other of [harness.secrets.native, 'sk-unknown-0123456789']) {
      const wrong = { ...vendorKey('placeholder'), 'x-goog-api-key': other };
      const { body } = await native(wrong).expect(401);

      expect(body.error.message).toBe(
        'The API key in the header `x-vendor-api-key` is unknown, disabled or expired. It counts ' +
          'before `x-goog-api-key`: send the right key there, or leave the header out.',
      );
    }
  });

  it.each([
    ['no header', missing, () => ({})],
    ['an empty header', emptyVendor, () => vendorKey('')],
    ['a scheme before the secret', invalid, () => vendorKey(`Bearer ${harness.secrets.native}`)],
    ['part of the secret', invalid, () => vendorKey(harness.secrets.native.slice(3))],
    [
      'an Authorization header instead',
      notRead('Authorization'),
      () => bearer(harness.secrets.native),
    ],
    ['a disabled key', invalid, () => vendorKey(harness.secrets.disabled)],
    ['an expired key', invalid, () => vendorKey(harness.secrets.expired)],
  ])('is refused with 401 for %s', async (_case, message, headers) => {
    const response = await native(headers()).expect(401);

    expect(response.body).toEqual(refusedGemini(message));
    expect(harness.upstream.calls).toEqual([]);
  });

  it('is not taken from the URL unless the host allows it', async () => {
    const path = `/v1beta/models/native-1:generateContent?key=${harness.secrets.native}`;
    await supertest(harness.origin).post(path).send(nativeBody).expect(401);

    harness.gateway.update({ allowQueryKey: true });

    await supertest(harness.origin).post(path).send(nativeBody).expect(200);
  });
});

describe('a refused key', () => {
  it('is refused before the body is read, whatever the body is', async () => {
    const response = await supertest(harness.origin)
      .post('/v1/chat/completions')
      .set('content-type', 'text/plain')
      .send('no json')
      .expect(401);

    expect(response.body).toEqual(refusedOpenai(missing));
  });

  it('is refused on the model lists of both prefixes', async () => {
    const { body: openai } = await supertest(harness.origin).get('/v1/models').expect(401);
    const { body: gemini } = await supertest(harness.origin).get('/v1beta/models').expect(401);

    expect([openai, gemini]).toEqual([refusedOpenai(missing), refusedGemini(missing)]);
  });

  it('is answered with 503, not 401, where the key store fails', async () => {
    harness.gateway.update({
      keys: { find: () => Promise.reject(new Error('the database is away')) },
    });

    const response = await chat(bearer(harness.secrets.chat)).expect(503);

    expect(response.body.error).toMatchObject({ type: 'server_error', code: 'store_unavailable' });
    expect(response.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  });
});

function chat(headers: Readonly<Record<string, string>>): supertest.Test {
  return supertest(harness.origin).post('/v1/chat/completions').set(headers).send(chatBody);
}

function native(headers: Readonly<Record<string, string>>): supertest.Test {
  return supertest(harness.origin)
    .post('/v1beta/models/native-1:generateContent')
    .set(headers)
    .send(nativeBody);
}
