// suite: quick
/** How callers get the failures of an upstream with another dialect. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import { called, errorOf } from '../matrix/call.ts';
import { columnOf, type Way } from './translated-call.ts';

/** An error response in the dialect's format. */
function refusalOf(
  dialect: DialectName,
  status: number,
  word: string,
  message: string,
): JsonObject {
  if (dialect === 'anthropic') return { type: 'error', error: { type: word, message } };
  if (dialect === 'gemini') return { error: { code: status, message, status: word } };
  return { error: { message, type: word, param: null, code: null } };
}

async function reported(way: Way, status: number, word: string, message = 'So.') {
  const column = columnOf(way);
  const reply = refusalOf(column.dialect, status, word, message);
  const scripted = { status, chunks: [JSON.stringify(reply)] };
  const { answer } = await called(column, false, {}, scripted);
  return { answer, status: answer.status, error: errorOf(answer) };
}

const chatWords = (type: string, code: string | null) => ({ type, code });
const invalid = chatWords('invalid_request_error', null);
const failed = chatWords('server_error', 'upstream_failed');
const noChannel = chatWords('server_error', 'no_channel');
const limited = chatWords('rate_limit_error', 'rate_limit_exceeded');

describe('a chat caller', () => {
  it.each<[Way, number, string, number, object]>([
    ['chat over anthropic', 400, 'invalid_request_error', 400, invalid],
    ['chat over anthropic', 401, 'authentication_error', 502, failed],
    ['chat over anthropic', 402, 'billing_error', 502, failed],
    ['chat over anthropic', 403, 'permission_error', 502, failed],
    ['chat over anthropic', 413, 'request_too_large', 413, {}],
    ['chat over anthropic', 429, 'rate_limit_error', 429, limited],
    ['chat over anthropic', 500, 'api_error', 502, failed],
    ['chat over anthropic', 529, 'overloaded_error', 503, noChannel],
    ['chat over gemini', 400, 'INVALID_ARGUMENT', 400, invalid],
    ['chat over gemini', 400, 'FAILED_PRECONDITION', 502, failed],
    ['chat over gemini', 401, 'UNAUTHENTICATED', 502, failed],
    ['chat over gemini', 403, 'PERMISSION_DENIED', 502, failed],
    ['chat over gemini', 429, 'RESOURCE_EXHAUSTED', 429, limited],
    ['chat over gemini', 500, 'INTERNAL', 502, failed],
    ['chat over gemini', 503, 'UNAVAILABLE', 503, noChannel],
    ['chat over gemini', 504, 'DEADLINE_EXCEEDED', 504, {}],
  ])('(%s) gets a %s %s as %s', async (way, upstream, word, status, words) => {
    const reply = await reported(way, upstream, word);

    expect(reply.status).toBe(status);
    expect(reply.error).toMatchObject(words);
  });

  it('gets errors in its own format, with the message if it can fix them', async () => {
    const { error } = await reported('chat over gemini', 400, 'INVALID_ARGUMENT', 'Fix `a`.');

    expect(error).toEqual({ message: 'Fix `a`.', param: null, ...invalid });
  });

  it('gets the retry delay of Google (v-err-429-retryinfo)', async () => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.07s' }];
    const error = { code: 429, message: 'So.', status: 'RESOURCE_EXHAUSTED', details };
    const scripted = { status: 429, chunks: [JSON.stringify({ error })] };

    const { answer: reply } = await called(columnOf('chat over gemini'), false, {}, scripted);

    expect(reply.headers['retry-after']).toBe('35');
  });

  it('is never told about an invalid key of the gateway (f-err-api-key)', async () => {
    const details = [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' },
    ];
    const error = { code: 400, message: 'API key.', status: 'INVALID_ARGUMENT', details };
    const scripted = { status: 400, chunks: [JSON.stringify({ error })] };

    const { answer: reply } = await called(columnOf('chat over gemini'), false, {}, scripted);

    expect(reply.status).toBe(502);
    expect(reply.text).not.toContain('API key.');
  });
});

describe('a native caller', () => {
  it.each<[Way, number, string, number, string]>([
    ['native over openai', 400, 'invalid_request_error', 400, 'INVALID_ARGUMENT'],
    ['native over openai', 401, 'invalid_request_error', 502, 'UNAVAILABLE'],
    ['native over openai', 422, 'invalid_request_error', 400, 'INVALID_ARGUMENT'],
    ['native over openai', 429, 'rate_limit_error', 429, 'RESOURCE_EXHAUSTED'],
    ['native over openai', 500, 'server_error', 502, 'UNAVAILABLE'],
    ['native over openai', 503, 'server_error', 503, 'UNAVAILABLE'],
    ['native over openai', 504, 'server_error', 504, 'DEADLINE_EXCEEDED'],
    ['native over anthropic', 400, 'invalid_request_error', 400, 'INVALID_ARGUMENT'],
    ['native over anthropic', 403, 'permission_error', 502, 'UNAVAILABLE'],
    ['native over anthropic', 529, 'overloaded_error', 503, 'UNAVAILABLE'],
  ])('(%s) gets a %s %s as %s %s, the number twice', async (way, upstream, word, code, status) => {
    const reply = await reported(way, upstream, word);

    expect(reply.status).toBe(code);
    expect(reply.error).toMatchObject({ code, status });
  });
});

describe('an error document of any shape', () => {
  it.each<[string, string]>([
    ['Google’s, in a list', '[{"error":{"code":400,"message":"So.","status":"INVALID_ARGUMENT"}}]'],
    ['a text', '{"error":"So."}'],
    ['a message', '{"message":"So."}'],
    ['a detail', '{"detail":"So."}'],
  ])('is read: %s', async (_, text) => {
    const scripted = { status: 400, chunks: [text] };

    const { answer: reply } = await called(columnOf('native over openai'), false, {}, scripted);

    expect(reply.status).toBe(400);
    expect(errorOf(reply)?.message).toBe('So.');
  });

  it('is not shown if it is not JSON', async () => {
    const scripted = { status: 400, chunks: ['<html>nginx at gpu7.internal.example</html>'] };

    const { answer: reply } = await called(columnOf('native over openai'), false, {}, scripted);

    expect(reply.status).toBe(400);
    expect(reply.text).not.toMatch(/nginx|gpu7/);
  });
});
