// suite: search
/**
 * Text that an upstream, or a proxy in front of it, sends outside its wire format reaches no caller
 * unchecked: every shape of document in place of a reply, for each kind of call.
 */
import { describe, expect, it } from 'vitest';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  images,
  native,
  upstreamHost,
  upstreamSecret,
  wholeChat,
} from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';
import { type SecretForm, secretForms, showsSecret } from '../support/secret-forms.ts';
import { json } from './streams.ts';

const countTokens: CallerRequest = { ...native('json'), path: '/v1beta/models/m:countTokens' };

/** Each kind of call, relayed where the dialects are the same. */
const ways: readonly (readonly [string, CallerRequest, DialectName])[] = [
  ['chat', chat(wholeChat), 'openai'],
  ['chat over gemini', chat(wholeChat), 'gemini'],
  ['chat over anthropic', chat(wholeChat), 'anthropic'],
  ['native', native('json'), 'gemini'],
  ['native over openai', native('json'), 'openai'],
  ['native over anthropic', native('json'), 'anthropic'],
  ['a count', countTokens, 'gemini'],
  ['a count over anthropic', countTokens, 'anthropic'],
  ['an image', images(), 'openai'],
  ['an image over gemini', images(), 'gemini'],
  ['a streamed chat', chat(), 'openai'],
  ['a native stream', native('sse'), 'gemini'],
];

/** Documents in place of a reply, with text where it could be anything. */
const shapes: Readonly<Record<string, (text: string) => unknown>> = {
  'a string': (text) => text,
  'a message': (message) => ({ message }),
  'a message with a status': (message) => ({ message, code: 400 }),
  'a detail': (detail) => ({ detail }),
  'another member': (msg) => ({ success: false, msg }),
  'a name': (name) => ({ [name]: true }),
  'a list': (text) => [text],
  'a message in a list': (message) => [{ message }],
  'a list of errors': (message) => ({ errors: [{ message }] }),
  'an error in words': (error) => ({ error }),
  'an error': (message) => ({ error: { message } }),
  'an error of the caller': (message) => ({
    error: { message, code: 400, status: 'INVALID_ARGUMENT' },
  }),
  'an error of Anthropic': (message) => ({
    type: 'error',
    error: { type: 'invalid_request_error', message },
  }),
  'vLLM’s error': (message) => ({ object: 'error', message, code: 400 }),
  'replies that are none': (text) => ({
    choices: text,
    candidates: text,
    content: text,
    data: text,
  }),
  'a count that is none': (totalTokens) => ({ totalTokens, input_tokens: totalTokens }),
};

/** Some of the forms, taking turns; the test of the search itself has all of them. */
let taken = 0;
function someForms(): readonly SecretForm[] {
  const all = Object.values(secretForms);
  taken += 5;
  return [0, 1, 2, 3, 4].flatMap((at) => all[(taken + at) % all.length] ?? []);
}

describe.each(ways)('%s', (_, request, dialect) => {
  it.each(
    Object.entries(shapes),
  )('with %s as its reply fails, and shows no secret', async (_shape, document) => {
    for (const write of someForms()) {
      const words = `Bad key ${write(upstreamSecret)} at ${upstreamHost} today.`;
      const body = JSON.stringify(document(words));
      const upstream = scriptedUpstream(json(body));
      const gateway = anyModelGateway({
        upstream,
        channel: { dialect, baseUrl: `https://${upstreamHost}/` },
      });

      const { status, text, headers } = await gateway.call(request);

      expect(status).toBeGreaterThanOrEqual(400);
      expect(showsSecret(upstreamSecret, text + JSON.stringify(headers))).toBe(false);
      expect(text.toLowerCase()).not.toContain(upstreamHost);
      expect(JSON.parse(text).error.message).not.toBe('');
    }
  });

  it.each([
    '12',
    'true',
    'null',
    '"ok"',
    '[]',
    '<html>',
    'out of memory',
  ])('with %s as its reply fails', async (document) => {
    const upstream = scriptedUpstream(json(document));
    const gateway = anyModelGateway({ upstream, channel: { dialect } });

    const { status, text } = await gateway.call(request);

    expect(status).toBe(502);
    expect(text).not.toMatch(/memory|html/);
  });
});

describe('an error of each status, alone or after a valid event', () => {
  const statuses = [400, 401, 402, 403, 404, 413, 422, 429, 500, 503] as const;
  const documents: Readonly<Record<DialectName, (status: number, message: string) => unknown>> = {
    openai: (code, message) => ({ error: { message, code, param: message, type: message } }),
    gemini: (code, message) => ({
      error: { code, message, status: message, details: [{ reason: message }] },
    }),
    anthropic: (_status, message) => ({ type: 'error', error: { type: message, message } }),
  };
  const ofDialect = ways.filter(([, request]) => request.path !== images().path);

  it.each(ofDialect)('shows no secret to %s, in any form', async (_way, request, dialect) => {
    for (const status of statuses) {
      for (const write of someForms()) {
        const words = `Bad key ${write(upstreamSecret)} at ${upstreamHost} today.`;
        const body = JSON.stringify(documents[dialect](status, words));
        const upstream = scriptedUpstream({ ...json(body), status });
        const gateway = anyModelGateway({ upstream, channel: { dialect } });

        const { text, headers } = await gateway.call(request);

        expect(showsSecret(upstreamSecret, text + JSON.stringify(headers))).toBe(false);
        expect(text.toLowerCase()).not.toContain(upstreamHost);
      }
    }
  });
});
