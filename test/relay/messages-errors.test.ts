// suite: slow
/** Errors of Messages calls, with the texts and statuses that Anthropic's clients act on. */
import { describe, expect, it } from 'vitest';
import type { Channel } from '../../src/ports/models/catalog.ts';
import { anyModelGateway, messages, wholeMessage } from '../support/any-model-gateway.ts';
import { type CallerReply, gatewayInProcess } from '../support/gateway-in-process.ts';
import { channel, model } from '../support/models.ts';
import { fixtures } from '../support/recorded/fixtures.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { sse } from './streams.ts';

/** Wordings of Anthropic's refusals that clients match, or show to people. */
const wordings: readonly string[] = [
  'prompt is too long: 3333404 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease ' +
    'input length or `max_tokens` and try again',
  'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for ' +
    'claude-sonnet-4-5-20250929',
  'messages.1.content.0: Invalid `signature` in `thinking` block',
  'messages.1.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant ' +
    'message cannot be modified. These blocks must remain as they were in the original ' +
    'response.',
  'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found ' +
    '`tool_use`. When `thinking` is enabled, a final `assistant` message must start with a ' +
    'thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We ' +
    'recommend you include thinking blocks from previous turns. To avoid this requirement, ' +
    'disable `thinking`. Please consult our documentation at ' +
    'https://docs.claude.com/en/docs/build-with-claude/extended-thinking',
  'messages.2: `tool_use` ids were found without `tool_result` blocks immediately after: ' +
    'toolu_01A09q90qw90lq917835lq9. Each `tool_use` block must have a corresponding ' +
    '`tool_result` block in the next message.',
  'context_management: Extra inputs are not permitted',
  'messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5276828 bytes > ' +
    '5242880 bytes',
  'Unexpected value(s) `made-up-2025-01-01` for the `anthropic-beta` header. Please ' +
    'consult our documentation at docs.anthropic.com or try again without the header.',
  'tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft ' +
    '2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at ' +
    'https://docs.claude.com/en/docs/tool-use.',
  'messages: text content blocks must be non-empty',
];

describe('the wording of a refused request', () => {
  it.each(wordings)('passes: %s', async (message) => {
    const { reply } = await refusedWith(400, { type: 'invalid_request_error', message });

    expect(reply.status).toBe(400);
    expect(errorIn(reply)).toMatchObject({ type: 'invalid_request_error', message });
  });

  it('passes from every recorded refusal of a request', async () => {
    const refusals = fixtures('anthropic', 'messages').filter(({ status }) =>
      [400, 413, 422].includes(status),
    );
    expect(refusals.length).toBeGreaterThan(0);
    for (const { response, status } of refusals) {
      const { error } = JSON.parse(Buffer.from(response).toString());
      const { reply } = await refusedWith(status, error);

      expect(errorIn(reply)).toMatchObject({ type: error.type, message: error.message });
    }
  });

  it('passes with up to 1,024 characters', async () => {
    const message = `${'word '.repeat(300)}end`;
    const { reply } = await refusedWith(400, { type: 'invalid_request_error', message });

    expect(errorIn(reply).message).toBe(message.slice(0, 1_024));
  });

  it('passes with the code in its details', async () => {
    const { reply } = await refusedWith(400, {
      type: 'invalid_request_error',
      message: 'No.',
      details: { error_code: 'image_too_large' },
    });

    expect(errorIn(reply).details).toEqual({ error_code: 'image_too_large' });
  });

  it('is that of a 413 too, with its status', async () => {
    const { reply } = await refusedWith(413, { type: 'request_too_large', message: 'Too large.' });

    expect(reply.status).toBe(413);
    expect(errorIn(reply)).toMatchObject({ type: 'request_too_large', message: 'Too large.' });
  });

  it('is hidden where the channel hides errors', async () => {
    const error = { type: 'invalid_request_error', message: 'prompt is too long: 2 tokens > 1' };
    const { reply } = await refusedWith(400, error, { hideErrors: true });

    expect(errorIn(reply).message).not.toContain('2 tokens');
  });
});

describe('an upstream’s refusal that is not the caller’s', () => {
  it.each([
    [401, 'authentication_error', 502, 'api_error'],
    [403, 'permission_error', 502, 'api_error'],
    [402, 'billing_error', 502, 'api_error'],
    [404, 'not_found_error', 404, 'not_found_error'],
    [429, 'rate_limit_error', 429, 'rate_limit_error'],
    [500, 'api_error', 502, 'api_error'],
    [503, 'overloaded_error', 503, 'overloaded_error'],
    [529, 'overloaded_error', 529, 'overloaded_error'],
    [504, 'timeout_error', 504, 'timeout_error'],
  ])('%i %s is %i %s, without its text', async (status, type, expected, shown) => {
    const { reply } = await refusedWith(status, { type, message: 'account org-123 words' });

    expect(reply.status).toBe(expected);
    expect(errorIn(reply).type).toBe(shown);
    expect(reply.text).not.toContain('words');
    if (expected === 429 || expected === 503 || expected === 529) {
      expect(Number(reply.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(reply.headers['retry-after'])).toBeLessThanOrEqual(60);
    }
  });

  it.each([
    'Your credit balance is too low to access the Anthropic API.',
    'This organization has been disabled.',
  ])('a 400 that says "%s" is the account’s', async (message) => {
    const { reply } = await refusedWith(400, { type: 'invalid_request_error', message });

    expect(reply.status).toBe(502);
    expect(errorIn(reply).type).toBe('api_error');
    expect(reply.text).not.toContain(message);
  });

  it('is recorded with the status that the caller got', async () => {
    const { gateway } = await refusedWith(529, { type: 'overloaded_error', message: 'Overloaded' });

    expect(gateway.records[0]).toMatchObject({ status: 529, chargeNanos: 0n });
  });

  it('stays 503 for the callers of other APIs', async () => {
    const harness = gatewayInProcess({
      models: [model({ channels: [channel({ dialect: 'anthropic' })] })],
      handlers: [(up) => up.answer(529, { type: 'error', error: { type: 'overloaded_error' } })],
    });
    const reply = await harness.call({
      path: '/v1/chat/completions',
      body: { model: 'chat', messages: [{ role: 'user', content: 'hi' }] },
    });

    expect(reply.status).toBe(503);
  });
});

describe('an error in mid-stream', () => {
  it.each([
    ['overloaded_error', 'overloaded_error'],
    ['rate_limit_error', 'rate_limit_error'],
    ['timeout_error', 'timeout_error'],
    ['api_error', 'api_error'],
    ['made_up_error', 'api_error'],
  ])('%s ends the stream as %s, in one event', async (type, shown) => {
    const error = errorEvent(type);
    const upstream = scriptedUpstream(sse(start, error, stop));
    const reply = await anyModelGateway({ upstream }).call(messages());

    expect(reply.status).toBe(200);
    expect(reply.text.startsWith(start)).toBe(true);
    const [, data = '', ...rest] =
      /^event: error\ndata: (.*)\n\n$/.exec(reply.text.slice(start.length)) ?? [];
    expect(rest).toEqual([]);
    expect(JSON.parse(data)).toEqual({
      type: 'error',
      error: { type: shown, message: expect.any(String) },
      request_id: reply.headers['request-id'],
    });
  });

  it.each([
    ['overloaded_error', 529],
    ['rate_limit_error', 429],
    ['invalid_request_error', 400],
  ])('%s as the first event is the status %i', async (type, status) => {
    const error = errorEvent(type);
    const reply = await anyModelGateway({ upstream: scriptedUpstream(sse(error)) }).call(
      messages(),
    );

    expect(reply.status).toBe(status);
    expect(errorIn(reply).type).toBe(type);
  });
});

describe('errors of the gateway', () => {
  it('name an unknown model as Anthropic does', async () => {
    const harness = gatewayInProcess({ models: [] });
    const body = {
      model: 'claude-nope\u0007',
      max_tokens: 1,
      messages: [{ role: 'user', content: '' }],
    };
    for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
      const reply = await harness.call({ path, body });

      expect(reply.status).toBe(404);
      expect(errorIn(reply)).toEqual({ type: 'not_found_error', message: 'model: claude-nope?' });
    }
  });

  it.each([
    ['max_tokens', { max_tokens: undefined }],
    ['max_tokens', { max_tokens: -1 }],
    ['max_tokens', { max_tokens: 1.5 }],
    ['max_tokens', { max_tokens: '9' }],
    ['model', { model: '' }],
    ['model', { model: 7 }],
    ['messages', { messages: [] }],
    ['messages', { messages: 'hi' }],
    ['messages', { messages: [{ content: 'hi' }] }],
    ['messages', { messages: ['hi'] }],
    ['stream', { stream: 'yes' }],
    ['system', { system: 5 }],
    ['tools', { tools: {} }],
    ['tools[1]', { tools: [{ name: 'f' }, 'x'] }],
    ['max_tokens', { max_output_tokens: 50 }],
  ])('name the member `%s` of %j', async (param, members) => {
    const body = {
      ...{ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
      ...members,
    };
    const upstream = scriptedUpstream();
    const reply = await anyModelGateway({ upstream }).call(messages(JSON.stringify(body)));

    expect(reply.status).toBe(400);
    expect(errorIn(reply)).toMatchObject({
      type: 'invalid_request_error',
      message: expect.stringContaining(`\`${param}\``),
    });
    expect(upstream.requests).toEqual([]);
  });
});

function event(type: string, members: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

function errorEvent(type: string): string {
  return event('error', { error: { type, message: 'x' } });
}

const usage = { input_tokens: 3, output_tokens: 1 };
const start =
  event('message_start', {
    message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], usage },
  }) +
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hi' } });
const stop = event('message_stop', {});

async function refusedWith(
  status: number,
  error: object,
  channelChange: Partial<Channel> = {},
): Promise<{ readonly reply: CallerReply; readonly gateway: ReturnType<typeof anyModelGateway> }> {
  const scripted: ScriptedReply = {
    status,
    headers: { 'content-type': 'application/json' },
    chunks: [JSON.stringify({ type: 'error', error })],
  };
  const gateway = anyModelGateway({ upstream: scriptedUpstream(scripted), channel: channelChange });
  return { reply: await gateway.call(messages(wholeMessage)), gateway };
}

function errorIn(reply: CallerReply): {
  readonly type: string;
  readonly message: string;
  readonly details?: unknown;
} {
  const document = JSON.parse(reply.text);
  expect(document).toMatchObject({ type: 'error', request_id: reply.headers['request-id'] });
  return document.error;
}
