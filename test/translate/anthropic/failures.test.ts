// suite: quick
/** Anthropic’s error responses, usage and token counts. */
import { describe, expect, it } from 'vitest';
import { anthropicTokenCounter } from '../../../src/dialects/anthropic/client/codec.ts';
import {
  anthropicFailure,
  anthropicInBandFailure,
} from '../../../src/dialects/anthropic/errors.ts';
import { anthropicUsage } from '../../../src/dialects/anthropic/usage.ts';
import { parseJson } from '../../../src/json.ts';
import { documentsOf } from '../../support/codec.ts';
import { fixture, fixtures } from '../../support/recorded/fixtures.ts';
import { at, contentRequest, target, text } from './client.ts';

describe('an error response', () => {
  it('has Anthropic’s status, code and message', () => {
    const { response } = fixture('anthropic/err-effort.1');

    expect(anthropicFailure(400, response)).toEqual({
      status: 400,
      message:
        "This model does not support effort level 'xhigh'. " +
        'Supported levels: high, low, max, medium.',
      code: 'invalid_request_error',
      param: undefined,
      retryAfterMs: undefined,
      fault: undefined,
      clientCode: undefined,
    });
  });

  it.each([
    '<html>',
    '',
    'null',
    '[]',
    '{}',
    '{"error":5}',
    '{"error":{"type":[],"message":{}}}',
  ])('that is %s has no message', (body) => {
    expect(anthropicFailure(500, Buffer.from(body))).toMatchObject({
      status: 500,
      message: undefined,
      code: undefined,
      fault: undefined,
    });
  });

  it.each([
    [{ type: 'authentication_error', message: 'x' }, 'credential'],
    [{ type: 'billing_error', message: 'x' }, 'account'],
    [{ type: 'permission_error', message: 'x' }, undefined],
    [{ type: 'invalid_request_error', message: 'Your credit balance is too low to …' }, 'account'],
    [{ type: 'invalid_request_error', message: 'max_tokens: too large' }, undefined],
    [{ type: 'overloaded_error', message: 'Overloaded' }, undefined],
  ])('is the account’s fault where it is (%#)', (error, fault) => {
    const body = Buffer.from(JSON.stringify({ type: 'error', error }));

    expect(anthropicFailure(400, body).fault).toBe(fault);
  });

  it.each([
    'Your credit balance is too low to access the Anthropic API.',
    'This organization has been disabled.',
  ])('is not matched against text quoted from the caller: %s', (text) => {
    const message = `tools.0: Input tag '${text}' found using 'type'`;
    const error = { type: 'invalid_request_error', message };
    const body = Buffer.from(JSON.stringify({ type: 'error', error }));

    expect(anthropicFailure(400, body).fault).toBe(undefined);
  });
});

describe('an error in place of a reply', () => {
  it.each([
    ['invalid_request_error', 400],
    ['authentication_error', 401],
    ['billing_error', 402],
    ['permission_error', 403],
    ['not_found_error', 404],
    ['request_too_large', 413],
    ['rate_limit_error', 429],
    ['api_error', 500],
    ['timeout_error', 504],
    ['overloaded_error', 529],
    ['something_new', 502],
  ])('%s has the status %i', (type, status) => {
    const failure = anthropicInBandFailure({ type: 'error', error: { type, message: 'So.' } });

    expect(failure).toMatchObject({ status, code: type, message: 'So.' });
  });

  it('is found in no recorded reply', () => {
    const answers = fixtures('anthropic').filter(({ status }) => status === 200);
    const documents = answers.flatMap(({ streamed, response }) =>
      streamed
        ? documentsOf(response)
        : [parseJson(Buffer.from(response).toString('utf8')) ?? null],
    );

    expect(documents.map(anthropicInBandFailure).filter(Boolean)).toEqual([]);
  });
});

describe('the usage of a reply', () => {
  it('counts cache reads and writes as input', () => {
    const usage = {
      input_tokens: 1,
      cache_read_input_tokens: 20,
      cache_creation_input_tokens: 300,
      output_tokens: 4,
    };

    const charged = {
      ...{ inputTokens: 321, cachedInputTokens: 20, outputTokens: 4, images: 0 },
      ...{ cacheWrite5mTokens: 300, toolCalls: {} },
    };
    expect(anthropicUsage({ usage })).toEqual(charged);
    expect(anthropicUsage({ type: 'message_start', message: { usage } })).toEqual(charged);
  });

  it.each([
    null,
    {},
    { usage: null },
    { usage: {} },
    { usage: { input_tokens: -1, output_tokens: 1.5 } },
    { usage: { input_tokens: '1' } },
  ])('is unknown if none of its members is a valid count (%#)', (reply) => {
    expect(anthropicUsage(reply)).toBe(undefined);
  });

  it.each([-1, 1.5, '1', null])('has 0 for an invalid input count of %s', (input_tokens) => {
    expect(anthropicUsage({ usage: { input_tokens, output_tokens: 1 } })).toMatchObject({
      inputTokens: 0,
      outputTokens: 1,
    });
  });
});

describe('the token count', () => {
  it('sends the members that count, and none that the endpoint refuses', () => {
    const request = contentRequest({
      system: [text('Be kind.')],
      temperature: 1,
      stop: ['x'],
      endUserId: 'u1',
      reasoning: { effort: 'high', budgetTokens: undefined, includeThoughts: undefined },
    });

    const body = parseJson(anthropicTokenCounter.body(request, target()).text);

    expect(Object.keys(Object(body))).toEqual(['model', 'messages', 'system', 'thinking']);
    expect(at(body, 'messages', 0, 'content', 0, 'text')).toBe('Hello?');
  });

  it.each([
    [{ input_tokens: 12 }, 12],
    [{ input_tokens: 0 }, 0],
    [{ input_tokens: null }, undefined],
    [{ input_tokens: '12' }, undefined],
    [{ input_tokens: -1 }, undefined],
    [{}, undefined],
    [null, undefined],
  ])('reads %j as %s', (reply, tokens) => {
    expect(anthropicTokenCounter.read(reply)).toBe(tokens);
  });
});
