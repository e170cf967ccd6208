// suite: slow host
/** Image generation, its quota, and its failures. */
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gate, hang, json } from '../../src/testing/providers/scripts.ts';
import { imageBody } from '../support/bodies.ts';
import { bearer, type MountedGateway, mountedGateway } from '../support/mounted-gateway.ts';
import { imagePrices } from '../support/mounted-models.ts';
import { connectRaw, rawRequest } from '../support/raw-http.ts';
import { decodePng } from '../testing/helpers.ts';

let harness: MountedGateway;

beforeEach(async () => {
  harness = await mountedGateway();
});

afterEach(() => harness.close());

describe('an image', () => {
  it('is Base64 at data[0].b64_json that decodes to a PNG of the requested size', async () => {
    const response = await image(imageBody).expect(200).expect('content-type', 'application/json');

    expect(Number.isInteger(response.body.created)).toBe(true);
    expect(decodePng(response.body.data[0].b64_json)).toEqual({ width: 1024, height: 1024 });
  });

  it('comes n times, and costs by size and quality', async () => {
    const response = await image({ ...imageBody, n: 2, quality: 'high' }).expect(200);
    const record = await harness.nextRecord();

    expect(response.body.data).toHaveLength(2);
    expect(record).toMatchObject({
      protocol: 'images',
      outcome: 'complete',
      chargeNanos: 2n * imagePrices.high,
    });
  });

  it('needs only model and prompt', async () => {
    await image({ model: 'image-1', prompt: 'A cat.' }).expect(200);

    expect(harness.upstream.calls[0]?.json()).toEqual({ model: 'image-1', prompt: 'A cat.' });
  });

  it('never reaches the usage log', async () => {
    await image(imageBody).expect(200);
    const record = await harness.nextRecord();

    const text = JSON.stringify([record, ...harness.events], (_name, value) =>
      typeof value === 'bigint' ? Number(value) : value,
    );
    expect(text).not.toContain('iVBOR');
    expect(text).not.toContain('cat');
  });

  it('accepts response_format b64_json, and does not send it to GPT-image', async () => {
    await image({ ...imageBody, response_format: 'b64_json' }).expect(200);

    expect(harness.upstream.calls[0]?.json()).toEqual(imageBody);
  });

  it('is never a URL: an upstream that returns one is a 502', async () => {
    harness.upstream.enqueue(json(200, { created: 1, data: [{ url: 'https://a.b/c.png' }] }));

    const response = await image(imageBody).expect(502);

    expect(JSON.stringify(response.body)).not.toContain('a.b');
  });
});

describe('an invalid image request gets 400', () => {
  it.each([
    ['no prompt', { prompt: undefined }, 'prompt'],
    ['an empty prompt', { prompt: '' }, 'prompt'],
    ['a prompt that is not a string', { prompt: 1 }, 'prompt'],
    ['n of 0', { n: 0 }, 'n'],
    ['n of 1.5', { n: 1.5 }, 'n'],
    ['n as a string', { n: '1' }, 'n'],
    ['n above the model’s maximum', { n: 5 }, 'n'],
    ['a size that is not a string', { size: 1024 }, 'size'],
    ['a size that has no price', { size: '999x999' }, 'size'],
    ['a quality that is not a string', { quality: true }, 'quality'],
    ['a quality that has no price', { quality: 'ultra' }, 'quality'],
    ['a URL as response_format', { response_format: 'url' }, 'response_format'],
    ['a stream', { stream: true }, 'stream'],
    ['no model', { model: undefined }, 'model'],
  ])('for %s', async (_case, change, param) => {
    const response = await image({ ...imageBody, ...change }).expect(400);

    expect(response.body.error).toEqual({
      message: expect.stringMatching(/^.{20,200}\.$/),
      type: 'invalid_request_error',
      param,
      code: null,
    });
    expect(harness.upstream.calls).toEqual([]);
  });

  it('with the upstream’s message where the upstream refused', async () => {
    harness.upstream.enqueue(
      json(400, { error: { message: 'Your prompt is too long.', param: 'prompt' } }),
    );

    const response = await image(imageBody).expect(400);

    expect(response.body.error).toEqual({
      message: 'Your prompt is too long.',
      type: 'invalid_request_error',
      param: 'prompt',
      code: 'context_length_exceeded',
    });
  });
});

describe('an image call gets 403', () => {
  it('where the quota of the key is too small', async () => {
    const response = await image(imageBody, harness.secrets.poor).expect(403);

    expect(response.body).toEqual({
      error: {
        message:
          "This request may cost up to 0.011, and 0.000000001 is left of this key's quota. " +
          'Ask whoever issued the key.',
        type: 'insufficient_quota',
        param: null,
        code: 'insufficient_quota',
      },
    });
    expect(harness.upstream.calls).toEqual([]);
  });

  it('where the group of the key does not support the model', async () => {
    const response = await image(imageBody, harness.secrets.chat).expect(403);

    expect(response.body).toEqual({
      error: {
        message:
          'This key\'s group may not use the model "image-1". ' +
          'Choose a model from GET /v1/models, or ask whoever issued the key.',
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_allowed',
      },
    });
  });

  it('once the quota is used up', async () => {
    harness.keys.update('image-key', {
      quota: [{ id: 'two-images', period: 'total', limitNanos: 2n * imagePrices.low }],
    });

    await image(imageBody).expect(200);
    await harness.nextRecord();
    await image(imageBody).expect(200);
    await harness.nextRecord();

    await image(imageBody).expect(403);
  });
});

describe('an image whose upstream fails', () => {
  it.each([
    ['demo-500', 502, 'upstream_failed'],
    ['demo-503', 502, 'upstream_failed'],
    ['demo-html', 502, 'upstream_failed'],
    ['demo-refuse', 502, 'upstream_failed'],
    ['demo-cut', 502, 'upstream_failed'],
    ['demo-empty', 502, 'upstream_failed'],
    ['demo-error-event', 502, 'upstream_failed'],
  ])('as %s is a %i that points to the usage log, called once', async (model, status, code) => {
    const response = await image({ model, prompt: 'A cat.' }).expect(status);
    const record = await harness.nextRecord();

    expect(response.body).toEqual({
      error: {
        message:
          'The upstream failed, but the image may have been made. ' +
          'Check the usage log before retrying.',
        type: 'server_error',
        param: null,
        code,
      },
    });
    expect(response.headers['x-should-retry']).toBe('false');
    expect(harness.upstream.calls).toHaveLength(1);
    expect(record).toMatchObject({
      requestId: response.headers['x-request-id'],
      outcome: 'unknown',
      chargeNanos: 0n,
    });
  });

  it('for too many requests is a 429 with Retry-After', async () => {
    const response = await image({ ...imageBody, model: 'demo-429' }).expect(429);

    expect(response.body.error).toMatchObject({
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
    });
    expect(response.headers['retry-after']).toBe('2');
  });

  it('by timeout is a 504', async () => {
    harness.gateway.update({ timeouts: { firstByteMs: 50 } });
    harness.upstream.enqueue(hang());

    const response = await image(imageBody).expect(504);

    expect(response.body.error.code).toBe('upstream_timeout');
    expect(response.headers['x-should-retry']).toBe('false');
    expect(harness.upstream.calls).toHaveLength(1);
  });
});

describe('an image whose caller disconnects', () => {
  it('is finished and charged, because it is billed', async () => {
    const held = gate();
    harness.upstream.enqueue({
      waitFor: held.opened,
      ...json(200, { created: 1, data: [{ b64_json: 'AAAA' }] }),
    });
    const wire = await connectRaw(harness.origin);
    wire.write(
      rawRequest(
        'POST /v1/images/generations',
        { ...bearer(harness.secrets.image), 'content-type': 'application/json' },
        JSON.stringify(imageBody),
      ),
    );
    const call = await harness.upstream.nextCall();

    wire.destroy();
    await wire.rest;
    held.open();

    expect(await call.closed).toBe('ended');
    expect(await harness.nextRecord()).toMatchObject({ chargeNanos: imagePrices.low });
  });
});

function image(body: object, secret = harness.secrets.image): supertest.Test {
  return supertest(harness.origin).post('/v1/images/generations').set(bearer(secret)).send(body);
}
