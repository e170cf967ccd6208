/** What an upstream says of a failure is read in every shape it was seen in, without trust. */
import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../src/dialects/retry-after.ts';
import { dialects } from '../../src/dialects/table.ts';
import type { FailureReport } from '../../src/dialects/tap.ts';
import { type ErrorCode, GatewayError, statusOf } from '../../src/errors.ts';
import type { HeaderMap } from '../../src/http.ts';
import { geminiCaller } from '../../src/protocols/callers/gemini.ts';
import { openaiCaller } from '../../src/protocols/callers/openai.ts';

const { openai, gemini } = dialects;

describe('an OpenAI refusal', () => {
  it.each<[string, unknown, Partial<FailureReport>]>([
    [
      'as OpenAI says it',
      { error: { message: 'Bad.', type: 'invalid_request_error', param: 'n', code: 'unknown' } },
      { message: 'Bad.', param: 'n', code: 'unknown', fault: undefined },
    ],
    ['in an array', [{ error: { message: 'Bad.' } }], { message: 'Bad.' }],
    ['as a text', { error: 'Bad.' }, { message: 'Bad.' }],
    ['as a bare message', { message: 'Bad.', code: 'x' }, { message: 'Bad.', code: 'x' }],
    ['as a detail', { detail: 'Bad.' }, { message: 'Bad.' }],
    ['as details of another kind', { detail: [{ msg: 'Bad.' }] }, { message: undefined }],
    ['with a type for a code', { error: { type: 'server_error' } }, { code: 'server_error' }],
    ['of an account', { error: { code: 'insufficient_quota' } }, { fault: 'account' }],
    ['of a key', { error: { code: 'invalid_api_key' } }, { fault: 'credential' }],
    ['of billing', { error: { code: 'billing_hard_limit_reached' } }, { fault: 'account' }],
    [
      'with a code that is an object of odd members',
      { error: { message: 'Bad.', code: { toString: 1, valueOf: 1 } } },
      { message: 'Bad.', code: undefined },
    ],
    ['of nothing', {}, { message: undefined, code: undefined, fault: undefined }],
    [
      'with names in odd types',
      { error: { message: 5, param: {}, code: [] } },
      { message: undefined },
    ],
  ])('%s', (_, body, report) => {
    expect(openai.readFailure(422, bytes(body))).toMatchObject({ ...report, status: 422 });
  });

  it('that is no JSON says nothing', () => {
    for (const text of ['<html>', '', '\uFEFF{}', '"Bad."', 'null', '[]']) {
      expect(openai.readFailure(500, Buffer.from(text)).message).toBe(undefined);
    }
  });
});

describe('an error inside an OpenAI reply', () => {
  it.each<[string, unknown, number]>([
    ['by its code', { code: 429 }, 429],
    ['by its code in words', { code: '503' }, 503],
    ['by its status', { code: 'overloaded', status: 529 }, 529],
    ['by its type', { type: 'invalid_request_error', code: 'unknown_parameter' }, 400],
    ['by a word for a code', { code: 'rate_limit_exceeded' }, 429],
    ['not by a code of something else', { code: 200 }, 502],
    ['not by what is unknown', { type: 'api_error' }, 502],
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

describe('a Gemini refusal', () => {
  const info = (type: string, members: object) => ({
    '@type': `type.googleapis.com/google.rpc.${type}`,
    ...members,
  });

  it.each<[string, unknown, Partial<FailureReport>]>([
    [
      'as Google says it',
      { error: { code: 400, message: 'Bad.', status: 'INVALID_ARGUMENT' } },
      { message: 'Bad.', code: 'INVALID_ARGUMENT', fault: undefined },
    ],
    ['in an array', [{ error: { code: 400, message: 'Bad.' } }], { message: 'Bad.' }],
    ['as a text', { error: 'Bad.' }, { message: 'Bad.' }],
    [
      'of a key',
      {
        error: {
          status: 'INVALID_ARGUMENT',
          details: [info('ErrorInfo', { reason: 'API_KEY_INVALID' })],
        },
      },
      { code: 'API_KEY_INVALID', fault: 'credential' },
    ],
    ['of a region', { error: { status: 'FAILED_PRECONDITION' } }, { fault: 'account' }],
    [
      'with a wait',
      { error: { details: [{}, info('RetryInfo', { retryDelay: '34.07s' })] } },
      { retryAfterMs: 34_070 },
    ],
    [
      'with a wait that is none',
      { error: { details: [info('RetryInfo', { retryDelay: 'soon' })] } },
      { retryAfterMs: undefined },
    ],
  ])('%s', (_, body, report) => {
    expect(gemini.readFailure(400, bytes(body))).toMatchObject({ ...report, status: 400 });
  });

  it('inside a reply names its status', () => {
    const status = (text: string) => gemini.inBandFailure(JSON.parse(text))?.status;

    expect(status('{"error":{"code":429}}')).toBe(429);
    expect(status('[{"error":{"code":"RESOURCE"}}]')).toBe(502);
    expect(status('{"candidates":[]}')).toBe(undefined);
  });
});

describe('how long to wait', () => {
  const date = 'Sat, 21 Nov 2026 08:00:00 GMT';
  const nowMs = Date.parse('Sat, 21 Nov 2026 07:59:00 GMT');

  it.each<[string, HeaderMap, number | undefined]>([
    ['seconds', { 'retry-after': '20' }, 20_000],
    ['parts of seconds', { 'retry-after': ' 0.5 ' }, 500],
    ['milliseconds, which come first', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    ['a date', { 'retry-after': 'Sat, 21 Nov 2026 08:00:20 GMT', date }, 20_000],
    ['a date, by our own clock', { 'retry-after': 'Sat, 21 Nov 2026 08:00:20 GMT' }, 80_000],
    ['a date gone by', { 'retry-after': 'Sat, 21 Nov 2026 07:00:00 GMT', date }, 0],
    ['nothing', {}, undefined],
    ['a negative time', { 'retry-after-ms': '-5' }, undefined],
    ['a word', { 'retry-after': 'soon' }, undefined],
  ])('is read from %s', (_, headers, waitMs) => {
    expect(retryAfterMs(headers, nowMs)).toBe(waitMs);
  });
});

describe('an error of ours', () => {
  const codes = Object.entries(statusOf).map(([code, status]) => [code, status] as const);

  it.each(codes)('%s is an error document in both dialects', (code, status) => {
    const error = new GatewayError(asCode(code), 'What is wrong.', { param: 'n' });

    const openaiError = JSON.parse(Buffer.from(openaiCaller.errors.body(error)).toString()).error;
    const geminiError = JSON.parse(Buffer.from(geminiCaller.errors.body(error)).toString()).error;

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
  });

  it('with a wait tells Google’s clients where they look', () => {
    const error = new GatewayError('rate_limited', 'Too many.', { retryAfterMs: 1_200 });

    expect(
      JSON.parse(Buffer.from(geminiCaller.errors.body(error)).toString()).error.details,
    ).toEqual([{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '2s' }]);
  });
});

function asCode(name: string): ErrorCode {
  const isCode = (text: string): text is ErrorCode => Object.hasOwn(statusOf, text);
  if (!isCode(name)) throw new Error(`${name} is no code.`);
  return name;
}

function bytes(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
