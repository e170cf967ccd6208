// suite: slow host
/** The caller's error for each failure of an upstream, in both APIs. */
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hang, json, raw, type Script } from '../../src/testing/providers/scripts.ts';
import { chatBody, nativeBody } from '../support/bodies.ts';
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

const notServed =
  'The upstream does not serve this model to this gateway. ' +
  'Use another model, or ask whoever runs the gateway to check its configuration.';
const accountRefused =
  'The upstream refused the account that this call would use. ' +
  'Use another model, or ask whoever runs the gateway to check the account.';
const callRefused =
  'The upstream refused this call. ' +
  'Use another model, or ask whoever runs the gateway to check the account.';
const failed = 'The upstream failed to answer this request. Retry later.';
const busy = 'The upstream is receiving too many requests. Reduce concurrency and retry later.';
const secretive = 'Incorrect API key provided: sk-upstream. See http://10.0.0.1/admin';

interface Failure {
  readonly upstream: string;
  /** Repeated for each request of the gateway. */
  readonly script: () => Script;
  readonly status: number;
  readonly message: string;
  readonly openai: readonly [type: string, code: string | null, param?: string];
  readonly google: string;
}

const refusing =
  (status: number, message = secretive) =>
  () =>
    json(status, { error: { message } });
const unavailable = { openai: ['server_error', 'upstream_failed'], google: 'UNAVAILABLE' } as const;

const failures: readonly Failure[] = [
  {
    upstream: 'a 401',
    script: refusing(401),
    status: 502,
    message: accountRefused,
    ...unavailable,
  },
  {
    upstream: 'a 402',
    script: refusing(402),
    status: 502,
    message: accountRefused,
    ...unavailable,
  },
  {
    upstream: 'a 403',
    script: refusing(403),
    status: 502,
    message: callRefused,
    ...unavailable,
  },
  {
    upstream: 'a 404',
    script: refusing(404),
    status: 404,
    message: notServed,
    openai: ['invalid_request_error', 'model_not_found', 'model'],
    google: 'NOT_FOUND',
  },
  { upstream: 'a 500', script: refusing(500), status: 502, message: failed, ...unavailable },
  { upstream: 'a 501', script: refusing(501), status: 502, message: failed, ...unavailable },
  {
    upstream: 'a redirect',
    script: () => ({ status: 307, headers: { location: 'http://10.0.0.1/' } }),
    status: 502,
    message: failed,
    ...unavailable,
  },
  {
    upstream: 'HTML with status 200',
    script: () => ({ headers: { 'content-type': 'text/html' }, body: '<html>sorry</html>' }),
    status: 502,
    message: failed,
    ...unavailable,
  },
  {
    upstream: 'an empty 200',
    script: () => ({}),
    status: 502,
    message: failed,
    ...unavailable,
  },
  {
    upstream: 'half a document',
    script: () => ({ headers: { 'content-type': 'application/json' }, body: '{"choices":[' }),
    status: 502,
    message: failed,
    ...unavailable,
  },
  {
    upstream: 'something other than HTTP',
    script: () => raw('SSH-2.0-x\r\n'),
    status: 502,
    message: failed,
    ...unavailable,
  },
  {
    upstream: 'a reset',
    script: () => ({ beforeHeaders: 'reset' }),
    status: 502,
    message: failed,
    ...unavailable,
  },
  {
    upstream: 'a 503',
    script: refusing(503),
    status: 503,
    message: 'No available OpenAI accounts',
    openai: ['server_error', 'no_channel'],
    google: 'UNAVAILABLE',
  },
  {
    upstream: 'a 529',
    script: refusing(529),
    status: 503,
    message: 'No available OpenAI accounts',
    openai: ['server_error', 'no_channel'],
    google: 'UNAVAILABLE',
  },
  {
    upstream: 'a 504',
    script: refusing(504),
    status: 504,
    message: 'The upstream did not answer in time. Retry later.',
    openai: ['server_error', 'upstream_timeout'],
    google: 'DEADLINE_EXCEEDED',
  },
  {
    upstream: 'a 429',
    script: refusing(429),
    status: 429,
    message: busy,
    openai: ['rate_limit_error', 'rate_limit_exceeded'],
    google: 'RESOURCE_EXHAUSTED',
  },
  {
    upstream: 'a 400',
    script: refusing(400, 'Unknown value.'),
    status: 400,
    message: 'Unknown value.',
    openai: ['invalid_request_error', null],
    google: 'INVALID_ARGUMENT',
  },
  {
    upstream: 'a 413',
    script: refusing(413, 'Too many images.'),
    status: 413,
    message: 'Too many images.',
    openai: ['invalid_request_error', 'body_too_large'],
    google: 'INVALID_ARGUMENT',
  },
  {
    upstream: 'a 422',
    script: refusing(422, 'Bad range.'),
    status: 400,
    message: 'Bad range.',
    openai: ['invalid_request_error', null],
    google: 'INVALID_ARGUMENT',
  },
];

describe('an upstream that answers', () => {
  it.each(failures)('$upstream is a $status in OpenAI’s form', async (failure) => {
    harness.upstream.enqueue(failure.script(), failure.script());

    const response = await chat(chatBody).expect(failure.status);

    const [type, code, param = null] = failure.openai;
    expect(response.body).toEqual({ error: { message: failure.message, type, param, code } });
  });

  it.each(failures)('$upstream is a $status in Google’s form', async (failure) => {
    harness.upstream.enqueue(failure.script(), failure.script());

    const response = await native('both-1').expect(failure.status);

    const { details, ...error } = response.body.error;
    expect(error).toEqual({
      code: failure.status,
      message: failure.message,
      status: failure.google,
    });
    expect(details === undefined).toBe(response.headers['retry-after'] === undefined);
  });

  it('too late is a 504', async () => {
    harness.gateway.update({ timeouts: { firstByteMs: 50 } });
    harness.upstream.enqueue(hang());

    const response = await chat(chatBody).expect(504);

    expect(response.body.error.code).toBe('upstream_timeout');
  });
});

describe('no channel', () => {
  it.each([
    ['without a channel', 'bare-1'],
    ['whose price restriction matches no channel', 'dear-1'],
  ])('a model %s gets 503 with the documented message', async (_case, model) => {
    const viaNative = await native(model).expect(503);
    const viaChat = await chat({ ...chatBody, model }).expect(503);

    const text = 'No available OpenAI accounts';
    expect(viaNative.body).toEqual({
      error: {
        code: 503,
        message: text,
        status: 'UNAVAILABLE',
      },
    });
    expect(viaChat.body).toEqual({
      error: { message: text, type: 'server_error', param: null, code: 'no_channel' },
    });
    expect(viaNative.headers['retry-after']).toBeUndefined();
    expect(harness.upstream.calls).toEqual([]);
  });

  it('is logged with its reason, which callers do not see', async () => {
    await native('dear-1').expect(503);

    expect(harness.events).toContainEqual(
      expect.objectContaining({ type: 'no_channel', reason: 'price_restriction' }),
    );
    expect(await harness.nextRecord()).toMatchObject({ outcome: 'not_run', chargeNanos: 0n });
  });
});

function chat(body: object): supertest.Test {
  return supertest(harness.origin)
    .post('/v1/chat/completions')
    .set(bearer(harness.secrets.chat))
    .send(body);
}

function native(model: string): supertest.Test {
  return supertest(harness.origin)
    .post(`/v1beta/models/${model}:generateContent`)
    .set(vendorKey(harness.secrets.native))
    .send(nativeBody);
}
