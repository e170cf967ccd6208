// suite: slow host
/** Native content generation, whole and streamed, and its errors. */
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { json } from '../../src/testing/providers/scripts.ts';
import { chatBody, nativeBody } from '../support/bodies.ts';
import {
  type MountedGateway,
  mountedGateway,
  upstreamSecret,
  vendorKey,
} from '../support/mounted-gateway.ts';

let harness: MountedGateway;

beforeEach(async () => {
  harness = await mountedGateway();
});

afterEach(() => harness.close());

describe('a native call', () => {
  it('returns text at candidates[0].content.parts[0].text', async () => {
    const response = await native('native-1:generateContent').expect(200);

    expect(response.body.candidates[0].content.parts.at(-1).text).toMatch(/^Hello!/);
    expect(harness.upstream.calls[0]?.path).toBe('/v1beta/models/native-1:generateContent');
    expect(harness.upstream.calls[0]?.headers).toMatchObject({ 'x-goog-api-key': upstreamSecret });
  });

  it('is sent upstream byte for byte', async () => {
    const body =
      '{"contents" :[ {"parts":[{"text":"a\\/b","thoughtSignature":"Q+/="}]} ], "x": 1.0' +
      ', "n":12345678901234567890 }';

    await native('native-1:generateContent', body).expect(200);

    expect(harness.upstream.calls[0]?.body.toString()).toBe(body);
  });

  it.each([
    ['no candidates', { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata: {} }],
    ['an empty list of candidates', { candidates: [] }],
    ['a candidate without content', { candidates: [{ finishReason: 'SAFETY', index: 0 }] }],
    [
      'several parts',
      { candidates: [{ content: { parts: [{ text: 'a' }, { text: 'b' }, { x: 1 }] } }] },
    ],
  ])('forwards %s unchanged', async (_case, reply) => {
    harness.upstream.enqueue(json(200, reply));

    const response = await native('native-1:generateContent').expect(200);

    expect(response.body).toEqual(reply);
  });

  it('and a chat reach the same model, each in its own form', async () => {
    const viaNative = await native('both-1:generateContent').expect(200);
    const viaChat = await supertest(harness.origin)
      .post('/v1/chat/completions')
      .set('authorization', `Bearer ${harness.secrets.chat}`)
      .send({ ...chatBody, model: 'both-1' })
      .expect(200);

    expect(viaNative.body.candidates).toHaveLength(1);
    expect(viaChat.body.choices).toHaveLength(1);
  });

  it('is charged by the usage that the upstream reported, thoughts included', async () => {
    await native('native-1:generateContent').expect(200);

    expect(await harness.nextRecord()).toMatchObject({
      protocol: 'native',
      outcome: 'complete',
      usage: { inputTokens: 9, outputTokens: 43 },
    });
  });
});

describe('the path of a native call', () => {
  it.each([
    ['/v1beta/models/vendor/name:free:generateContent'],
    ['/v1beta/models/vendor%2Fname%3Afree%3AgenerateContent'],
    ['/v1beta/vendor/name:free:generateContent'],
    ['/v1/models/vendor/name:free:generateContent'],
    ['/v1beta/models/vendor/name:free:generateContent?alt=json&unknown=1'],
  ])('names the model up to the last colon: %s', async (path) => {
    await post(path).expect(200);

    expect(decodeURIComponent(harness.upstream.calls[0]?.path ?? '')).toBe(
      '/v1beta/models/vendor/name:free:generateContent',
    );
  });

  it('without :generateContent gets 404', async () => {
    const response = await post('/v1beta/models/native-1').expect(404);

    expect(response.body).toEqual({
      error: {
        code: 404,
        message: 'The path has no method. POST to /v1beta/models/{model}:generateContent.',
        status: 'NOT_FOUND',
      },
    });
  });

  it.each([
    'embedText',
    'asyncBatchEmbedContent',
    'generatecontent',
    'x',
  ])('with the method %s gets 404', async (method) => {
    const response = await native(`native-1:${method}`).expect(404);

    expect(response.body.error).toMatchObject({ code: 404, status: 'NOT_FOUND' });
    expect(harness.upstream.calls).toEqual([]);
  });

  it.each([
    '%',
    '%zz',
    '..%2Fnative-1',
    'a%00b',
    '%5C',
    'a//b',
  ])('with the unreadable model %s gets 404', async (model) => {
    const response = await native(`${model}:generateContent`).expect(404);

    expect(response.body.error.status).toBe('NOT_FOUND');
    expect(harness.upstream.calls).toEqual([]);
  });
});

describe('a streamed native call', () => {
  it('is events of complete responses with alt=sse, and ends without [DONE]', async () => {
    const response = await native('native-1:streamGenerateContent?alt=sse')
      .expect(200)
      .expect('content-type', 'text/event-stream; charset=utf-8');

    expect(response.text).toMatch(/^(data: \{[^\r\n]+\}\r\n\r\n)+$/);
  });

  it('is one JSON array without', async () => {
    const response = await native('native-1:streamGenerateContent')
      .expect(200)
      .expect('content-type', 'application/json');

    expect(response.body.length).toBeGreaterThan(1);
    expect(response.body[0].candidates).toHaveLength(1);
  });

  it('that breaks off ends with the error as an event and again as a bare document', async () => {
    const response = await native('gemini/demo-cut:streamGenerateContent?alt=sse').expect(200);

    const error = {
      error: {
        code: 502,
        message: 'The upstream failed to answer this request. Retry later.',
        status: 'UNAVAILABLE',
      },
    };
    expect(
      response.text.endsWith(`data: ${JSON.stringify(error)}\r\n\r\n${JSON.stringify(error)}`),
    ).toBe(true);
  });

  it('is charged by the usage of its last event', async () => {
    await native('native-1:streamGenerateContent?alt=sse').expect(200);

    expect(await harness.nextRecord()).toMatchObject({
      streamed: true,
      basis: 'usage',
      usage: { inputTokens: 9, outputTokens: 43 },
    });
  });
});

describe('countTokens', () => {
  it('returns the upstream’s count and costs nothing', async () => {
    const response = await native('native-1:countTokens').expect(200);

    expect(response.body).toMatchObject({ totalTokens: 9 });
    expect(await harness.nextRecord()).toMatchObject({ chargeNanos: 0n, outcome: 'complete' });
  });
});

describe('an invalid native call', () => {
  it('gets 400 for messages, which says to send contents', async () => {
    const response = await native('native-1:generateContent', chatBody).expect(400);

    expect(response.body).toEqual({
      error: {
        code: 400,
        message:
          'Unknown name "messages": this API expects `contents`. ' +
          'Send `contents`, or POST the body to /v1/chat/completions.',
        status: 'INVALID_ARGUMENT',
      },
    });
  });

  it.each([
    ['no contents', {}],
    ['empty contents', { contents: [] }],
    ['contents that are not an array', { contents: 'Hello!' }],
    ['a content that is not an object', { contents: ['Hello!'] }],
    ['another model in the body', { ...nativeBody, model: 'models/both-1' }],
    ['invalid JSON', '{'],
    ['maxOutputTokens of 0', { ...nativeBody, generationConfig: { maxOutputTokens: 0 } }],
  ])('gets 400 for %s', async (_case, body) => {
    const response = await native('native-1:generateContent', body).expect(400);

    expect(response.body.error).toEqual({
      code: 400,
      message: expect.stringMatching(/^.{20,200}\.$/),
      status: 'INVALID_ARGUMENT',
    });
    expect(harness.upstream.calls).toEqual([]);
  });

  it('gets 404 for a model that does not exist, which says where to list them', async () => {
    const response = await native('nope:generateContent').expect(404);

    expect(response.body).toEqual({
      error: {
        code: 404,
        message:
          'There is no model "nope" here. List the models with GET /v1beta/models and copy a name.',
        status: 'NOT_FOUND',
      },
    });
  });

  it('gets 403 for a model of another group', async () => {
    const response = await native('foreign-1:generateContent').expect(403);

    expect(response.body.error).toEqual({
      code: 403,
      message:
        'This key\'s group may not use the model "foreign-1". ' +
        'Choose a model from GET /v1beta/models, or ask whoever issued the key.',
      status: 'PERMISSION_DENIED',
    });
  });
});

function native(target: string, body: object | string = nativeBody): supertest.Test {
  return post(`/v1beta/models/${target}`, body);
}

function post(path: string, body: object | string = nativeBody): supertest.Test {
  return supertest(harness.origin)
    .post(path)
    .set(vendorKey(harness.secrets.native))
    .type('application/json')
    .send(body);
}
