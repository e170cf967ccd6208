// suite: quick
/** Errors of upstreams are read in every shape they were seen in, without trusting them. */
import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../src/dialects/retry-after.ts';
import { dialects } from '../../src/dialects/table.ts';
import type { FailureReport } from '../../src/dialects/taps/tap.ts';
import { type ErrorCode, GatewayError, statusOf } from '../../src/errors.ts';
import type { HeaderMap } from '../../src/http.ts';
import { anthropicCaller } from '../../src/protocols/callers/anthropic.ts';
import { geminiCaller } from '../../src/protocols/callers/gemini.ts';
import { openaiCaller } from '../../src/protocols/callers/openai.ts';

const { openai, gemini } = dialects;

describe('an OpenAI error response', () => {
  it.each<[string, unknown, Partial<FailureReport>]>([
    [
      'as OpenAI sends it',
      { error: { message: 'Bad.', type: 'invalid_request_error', param: 'n', code: 'unknown' } },
      { message: 'Bad.', param: 'n', code: 'unknown', fault: undefined },
    ],
    ['in an array', [{ error: { message: 'Bad.' } }], { message: 'Bad.' }],
    ['as a string', { error: 'Bad.' }, { message: 'Bad.' }],
    ['as a bare message', { message: 'Bad.', code: 'x' }, { message: 'Bad.', code: 'x' }],
    ['as a detail', { detail: 'Bad.' }, { message: 'Bad.' }],
    ['with details of another type', { detail: [{ msg: 'Bad.' }] }, { message: undefined }],
    ['with a type and no code', { error: { type: 'server_error' } }, { code: 'server_error' }],
    ['about the account', { error: { code: 'insufficient_quota' } }, { fault: 'account' }],
    ['about the key', { error: { code: 'invalid_api_key' } }, { fault: 'credential' }],
    [
      'about a model that the key of a proxy may not use',
      { error: { code: 'key_model_access_denied' } },
      { fault: 'model' },
    ],
    ['about billing', { error: { code: 'billing_hard_limit_reached' } }, { fault: 'account' }],
    [
      'with an object as its code',
      { error: { message: 'Bad.', code: { toString: 1, valueOf: 1 } } },
      { message: 'Bad.', code: undefined },
    ],
    ['without members', {}, { message: undefined, code: undefined, fault: undefined }],
    [
      'with members of unexpected types',
      { error: { message: 5, param: {}, code: [] } },
      { message: undefined },
    ],
  ])('%s', (_, body, report) => {
    expect(openai.readFailure(422, bytes(body), {})).toMatchObject({ ...report, status: 422 });
  });

  it('that is not JSON has no message', () => {
    for (const text of ['<html>', '', '\uFEFF{}', '"Bad."', 'null', '[]']) {
      expect(openai.readFailure(500, Buffer.from(text), {}).message).toBe(undefined);
    }
  });
});

describe('an error inside an OpenAI reply', () => {
  it.each<[string, unknown, number]>([
    ['by its code', { code: 429 }, 429],
    ['by its code as text', { code: '503' }, 503],
    ['by its status', { code: 'overloaded', status: 529 }, 529],
    ['by its type', { type: 'invalid_request_error', code: 'unknown_parameter' }, 400],
    ['by a known error code', { code: 'rate_limit_exceeded' }, 429],
    ['not by a code that is no error status', { code: 200 }, 502],
    ['not by an unknown type', { type: 'api_error' }, 502],
  ])('names its status %s', (_, error, status) => {
    expect(openai.inBandFailure(JSON.parse(JSON.stringify({ error })))?.status).toBe(status);
  });

  it.each([
    '{"choices":[{"delta":{}}],"message":"hi"}',
    '{"data":[],"detail":"x"}',
    '{"error":null}',
    '{"error":""}',
    '{"message":{"role":"assistant"}}',
    '[]',
    'null',
    '5',
  ])('is not %s', (text) => {
    expect(openai.inBandFailure(JSON.parse(text))).toBe(undefined);
  });
});

describe('a Gemini error response', () => {
  const info = (type: string, members: object) => ({
    '@type': `type.googleapis.com/google.rpc.${type}`,
    ...members,
  });

  it.each<[string, unknown, Partial<FailureReport>]>([
    [
      'as Google sends it',
      { error: { code: 400, message: 'Bad.', status: 'INVALID_ARGUMENT' } },
      { message: 'Bad.', code: 'INVALID_ARGUMENT', fault: undefined },
    ],
    ['in an array', [{ error: { code: 400, message: 'Bad.' } }], { message: 'Bad.' }],
    ['as a string', { error: 'Bad.' }, { message: 'Bad.' }],
    [
      'about the key',
      {
        error: {
          status: 'INVALID_ARGUMENT',
          details: [info('ErrorInfo', { reason: 'API_KEY_INVALID' })],
        },
      },
      { code: 'API_KEY_INVALID', fault: 'credential' },
    ],
    ['about the region', { error: { status: 'FAILED_PRECONDITION' } }, { fault: 'account' }],
    [
      'with a retry delay',
      { error: { details: [{}, info('RetryInfo', { retryDelay: '34.07s' })] } },
      { retryAfterMs: 34_070 },
    ],
    [
      'with an invalid retry delay',
      { error: { details: [info('RetryInfo', { retryDelay: 'soon' })] } },
      { retryAfterMs: undefined },
    ],
  ])('%s', (_, body, report) => {
    expect(gemini.readFailure(400, bytes(body), {})).toMatchObject({ ...report, status: 400 });
  });

  it('inside a reply names its status', () => {
    const status = (text: string) => gemini.inBandFailure(JSON.parse(text))?.status;

    expect(status('{"error":{"code":429}}')).toBe(429);
    expect(status('[{"error":{"code":"RESOURCE"}}]')).toBe(502);
    expect(status('{"candidates":[]}')).toBe(undefined);
  });
});

describe('the retry delay', () => {
  const date = 'Sat, 21 Nov 2026 08:00:00 GMT';
  const nowMs = Date.parse('Sat, 21 Nov 2026 07:59:00 GMT');

  it.each<[string, HeaderMap, number | undefined]>([
    ['seconds', { 'retry-after': '20' }, 20_000],
    ['fractions of a second', { 'retry-after': ' 0.5 ' }, 500],
    [
      'milliseconds, which take precedence',
      { 'retry-after-ms': '1500', 'retry-after': '2' },
      1_500,
    ],
    ['a date', { 'retry-after': 'Sat, 21 Nov 2026 08:00:20 GMT', date }, 20_000],
    ['a date, by the gateway’s clock', { 'retry-after': 'Sat, 21 Nov 2026 08:00:20 GMT' }, 80_000],
    ['a date in the past', { 'retry-after': 'Sat, 21 Nov 2026 07:00:00 GMT', date }, 0],
    ['no header', {}, undefined],
    ['a negative time', { 'retry-after-ms': '-5' }, undefined],
    ['a word', { 'retry-after': 'soon' }, undefined],
  ])('is read from %s', (_, headers, waitMs) => {
    expect(retryAfterMs(headers, nowMs)).toBe(waitMs);
  });
});

describe('the wait in an error', () => {
  const retryInfo = (retryDelay: string) => [
    { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay },
  ];

  it.each<[string, object, number | undefined]>([
    ['seconds in words', { message: 'Please try again in 1.2s. Visit us.' }, 1_200],
    ['milliseconds', { message: 'Please try again in 864ms.' }, 864],
    ['minutes and seconds', { message: 'Please try again in 6m0.5s.' }, 360_500],
    ['hours and minutes', { message: 'please try again in 1h30m' }, 5_400_000],
    ['whole words', { message: 'Please retry after 26 seconds.' }, 26_000],
    ['two whole words', { message: 'Retry after 1 hour 2 minutes' }, 3_720_000],
    ['RetryInfo, which counts', { message: 'Retry in 9s', details: retryInfo('3s') }, 3_000],
    ['invalid RetryInfo and words', { message: 'Retry in 9s', details: retryInfo('s') }, 9_000],
    ['no unit', { message: 'Please try again in 5 models.' }, undefined],
    ['no number', { message: 'Please try again in a while.' }, undefined],
    ['no wait', { message: 'Try again.' }, undefined],
    ['words that may quote the caller', { message: 'Bad word "try again in 1h"' }, undefined],
  ])('is read: %s', (_, error, waitMs) => {
    for (const { readFailure, inBandFailure } of [openai, gemini]) {
      const whole = readFailure(429, bytes({ error }), {});
      const event = inBandFailure({ error: { code: 429, ...error } });

      expect([whole.retryAfterMs, event?.retryAfterMs]).toEqual([waitMs, waitMs]);
    }
  });
});

describe('an error of the gateway', () => {
  const codes = Object.entries(statusOf).map(([code, status]) => [code, status] as const);

  it.each(codes)('%s is an error document in all dialects', (code, status) => {
    const error = new GatewayError(asCode(code), 'What is wrong.', { param: 'n' });

    const openaiError = JSON.parse(
      Buffer.from(openaiCaller.errors.body(error, 'request-1')).toString(),
    ).error;
    const anthropicError = JSON.parse(
      Buffer.from(anthropicCaller.errors.body(error, 'request-1')).toString(),
    );
    const geminiError = JSON.parse(
      Buffer.from(geminiCaller.errors.body(error, 'request-1')).toString(),
    ).error;

    expect(openaiError).toEqual({
      message: 'What is wrong.',
      type: expect.stringMatching(/^[a-z_]+$/),
      param: 'n',
      code: openaiError.code === null ? null : expect.stringMatching(/^[a-z_]+$/),
    });
    expect(geminiError).toEqual({
      code: status,
      message: 'What is wrong.',
      status: expect.stringMatching(/^[A-Z_]+$/),
    });
    expect(anthropicError).toMatchObject({
      type: 'error',
      error: { type: expect.stringMatching(/^[a-z_]+$/), message: 'What is wrong.' },
      request_id: 'request-1',
    });
  });

  it.each([
    ['insufficient_quota', undefined, { error_code: 'insufficient_quota' }],
    ['model_not_allowed', undefined, { error_code: 'model_not_allowed' }],
    ['invalid_request', 'content_filter', { error_code: 'content_filter' }],
    ['invalid_request', undefined, undefined],
  ] as const)('%s, code %s, is detailed for Anthropic’s SDK', (code, clientCode, details) => {
    const error = new GatewayError(code, 'No.', clientCode === undefined ? {} : { clientCode });
    const text = Buffer.from(anthropicCaller.errors.body(error, 'request-1')).toString();

    expect(JSON.parse(text).error.details).toEqual(details);
  });

  it('for `thread` has the code with which Anthropic’s tool runner continues without one', () => {
    const error = new GatewayError('invalid_request', 'No.', { param: 'thread' });
    const text = Buffer.from(anthropicCaller.errors.body(error, 'request-1')).toString();

    expect(JSON.parse(text).error.details).toEqual({ error_code: 'thread_unsupported_request' });
  });

  it('with a retry delay has it where Google’s clients look for it', () => {
    const error = new GatewayError('rate_limited', 'Too many.', { retryAfterMs: 1_200 });

    expect(
      JSON.parse(Buffer.from(geminiCaller.errors.body(error, 'request-1')).toString()).error
        .details,
    ).toEqual([{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2s' }]);
  });
});

function asCode(name: string): ErrorCode {
  const isCode = (text: string): text is ErrorCode => Object.hasOwn(statusOf, text);
  if (!isCode(name)) throw new Error(`${name} is not an error code.`);
  return name;
}

function bytes(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
