// suite: slow host
/** The caller's errors under overload, during shutdown and when a store is down. */
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gate } from '../../src/testing/providers/scripts.ts';
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

describe('too many requests', () => {
  it('of a key get 429 with Retry-After where the host limits their rate', async () => {
    harness.keys.update('image-key', { rates: [{ calls: { perMinute: 1 } }] });
    harness.gateway.update({
      rateLimiter: {
        take: () => ({ granted: false, refused: 0, retryAfterMs: 1_500, remaining: [0] }),
        adjust: () => {},
      },
    });

    const response = await image().expect(429);

    expect(response.body).toEqual({
      error: {
        message:
          'Rate limit reached for this key: 1 call per minute. ' +
          'Reduce concurrency and retry after the time in Retry-After.',
        type: 'rate_limit_error',
        param: null,
        code: 'rate_limit_exceeded',
      },
    });
    expect(response.headers).toMatchObject({ 'retry-after': '2', 'retry-after-ms': '1500' });
  });

  it('of a key at the same time get 429 with Retry-After', async () => {
    harness.keys.update('image-key', { maxConcurrentCalls: 1 });
    const held = gate();
    harness.upstream.enqueue({ waitFor: held.opened });
    const first = image().then((response) => response.status);
    await harness.upstream.nextCall();

    const second = await image().expect(429);
    held.open();

    expect(second.headers['retry-after']).toBe('1');
    expect(second.body.error.code).toBe('rate_limit_exceeded');
    expect(await first).toBe(502);
  });

  it('of all keys at the same time get 503 with Retry-After', async () => {
    harness.gateway.update({ maxConcurrentCalls: 1 });
    const held = gate();
    harness.upstream.enqueue({ waitFor: held.opened });
    const first = image().then((response) => response.status);
    await harness.upstream.nextCall();

    const second = await native('native-1').expect(503);
    held.open();
    await first;

    expect(second.headers['retry-after']).toBe('1');
    expect(second.body.error.status).toBe('UNAVAILABLE');
  });
});

describe('a gateway that shuts down', () => {
  it('answers 503 and closes the connection', async () => {
    await harness.gateway.close();

    const response = await chat(chatBody).expect(503);

    expect(response.headers).toMatchObject({ connection: 'close', 'retry-after': '1' });
    expect(response.body.error).toEqual({
      message: 'The gateway is shutting down. Try again shortly.',
      type: 'server_error',
      param: null,
      code: 'draining',
    });
  });
});

describe('a store that is down', () => {
  it('is a 503, and nothing runs', async () => {
    const away = (): never => {
      throw new Error('ECONNREFUSED 10.0.0.1');
    };
    harness.gateway.update({ catalog: { find: away, list: away } });

    const response = await chat(chatBody).expect(503);

    expect(response.body.error).toMatchObject({ type: 'server_error', code: 'store_unavailable' });
    expect(JSON.stringify(response.body)).not.toContain('10.0.0.1');
    expect(harness.upstream.calls).toEqual([]);
  });
});

function chat(body: object): supertest.Test {
  return supertest(harness.origin)
    .post('/v1/chat/completions')
    .set(bearer(harness.secrets.chat))
    .send(body);
}

function image(): supertest.Test {
  return supertest(harness.origin)
    .post('/v1/images/generations')
    .set(bearer(harness.secrets.image))
    .send(imageBody);
}

function native(model: string): supertest.Test {
  return supertest(harness.origin)
    .post(`/v1beta/models/${model}:generateContent`)
    .set(vendorKey(harness.secrets.native))
    .send(nativeBody);
}
