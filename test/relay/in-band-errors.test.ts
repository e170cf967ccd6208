// suite: slow
/**
 * An upstream's error inside a 2xx response never reaches a caller unchanged: the gateway rewrites
 * it, or hides it.
 */
import { describe, expect, it } from 'vitest';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  native,
  upstreamHost,
  upstreamSecret,
  wholeChat,
} from '../support/any-model-gateway.ts';
import type { CallerReply } from '../support/gateway-in-process.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { brokenStream, json, sse } from './streams.ts';

const good = {
  chat: 'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n',
  native: 'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\r\n\r\n',
};
const leaky = `Invalid key ${upstreamSecret} at https://${upstreamHost}/v1, host ${upstreamHost}`;

describe('an error that comes first', () => {
  const cases: readonly (readonly [string, CallerRequest, string, number, string])[] = [
    ['in a chat stream', chat(), chatError({ message: 'Bad.', code: 400 }), 400, 'Bad.'],
    [
      'by its type',
      chat(),
      chatError({ message: 'Bad.', type: 'invalid_request_error' }),
      400,
      'Bad.',
    ],
    ['that limits the rate', chat(), chatError({ message: 'x', code: 429 }), 429, 'too many'],
    ['by its word', chat(), chatError({ message: 'x', type: 'rate_limit_error' }), 429, 'too many'],
    [
      'with a word for a code',
      chat(),
      chatError({ code: 'overloaded', status: 503 }),
      503,
      'No ava',
    ],
    ['of no known kind', chat(), chatError('out of memory'), 502, 'The upstream failed'],
    ['as an event of that name', chat(), 'event: error\ndata: {"message":"x"}\n\n', 502, 'failed'],
    [
      'that was never framed',
      chat(),
      '{\n  "error": {"code": 400, "message": "Bad."}\n}\n',
      400,
      'Bad.',
    ],
    [
      'as vLLM wrote it',
      chat(),
      'data: {"object":"error","message":"Bad.","code":400}\n\n',
      400,
      'Bad.',
    ],
    [
      'inside of a choice',
      chat(),
      'data: {"choices":[{"finish_reason":"error","error":{"code":502,"message":"x"}}]}\n\n',
      502,
      'The upstream failed',
    ],
    [
      'by a finish alone',
      chat(),
      'data: {"choices":[{"delta":{},"finish_reason":"error"}]}\n\n',
      502,
      'failed',
    ],
    ['beside no choice', chat(), 'data: {"choices":[],"message":"x"}\n\n', 502, 'failed'],
    ['beside no candidate', native(), 'data: {"candidates":[],"message":"x"}\n\n', 502, 'failed'],
    ['after an error of false', chat(), 'data: {"error":false,"message":"x"}\n\n', 502, 'failed'],
    ['as a bare message', chat(), 'data: {"message":"x"}\n\n', 502, 'The upstream failed'],
    ['in a native stream', native(), nativeError(400), 400, 'Bad.'],
    ['as a native event of that name', native(), 'event: error\ndata: {"a":1}\n\n', 502, 'failed'],
    ['that Google never framed', native(), '{"error":{"code":400,"message":"Bad."}}', 400, 'Bad.'],
  ];

  it.each(cases)('%s gets its status', async (_, request, text, status, words) => {
    const reply = await answered(request, sse(text));

    expect(reply.status).toBe(status);
    expect(reply.headers['content-type']).toBe('application/json');
    expect(messageOf(reply)).toContain(words);
  });

  const documents: readonly (readonly [string, CallerRequest, string, number])[] = [
    ['whole chat', chat(wholeChat), '{"error":{"message":"Bad.","code":400}}', 400],
    ['chat that was to be streamed', chat(), '{"error":{"message":"Bad.","code":400}}', 400],
    ['whole native reply', native('json'), '{"error":{"message":"Bad.","code":400}}', 400],
    ['native reply in an array', native('json'), '[{"error":{"message":"Bad.","code":400}}]', 400],
    [
      'native stream in an array',
      native('json_array'),
      '[{"error":{"message":"Bad.","code":400}}]',
      400,
    ],
    [
      'native stream that is no array',
      native('json_array'),
      '{"error":{"message":"Bad.","code":400}}',
      400,
    ],
    [
      'whole chat with a choice that failed',
      chat(wholeChat),
      '{"choices":[{"finish_reason":"error","error":{"code":502,"message":"Bad."}}]}',
      502,
    ],
    ['whole chat without a choice', chat(wholeChat), '{"choices":[],"message":"Bad."}', 502],
    ['whole chat with a mere text', chat(wholeChat), '{"detail":"no such thing"}', 502],
  ];

  it.each(documents)('in a %s gets its status', async (_, request, text, status) => {
    const reply = await answered(request, json(text));

    expect(reply.status).toBe(status);
  });

  it('an "error" that is null, false or empty is not an error', async () => {
    for (const none of ['null', 'false', '""']) {
      const event = good.chat.replace('{"choices"', `{"error":${none},"choices"`);
      const text = `${event}data: [DONE]\n\n`;

      expect((await answered(chat(), sse(text))).text).toBe(text);
    }
  });
});

it('an event of another kind that contains a message or detail is not passed on', async () => {
  const status = 'data: {"id":"1","object":"status","message":"queued","detail":"2nd"}\n\n';
  const text = `${status}${good.chat}data: [DONE]\n\n`;

  expect((await answered(chat(), sse(text))).text).toBe(text.replace(status, ''));
});

describe('an error that comes later', () => {
  const leaks: readonly (readonly [string, 'chat' | 'native', string])[] = [
    [
      'beside choices',
      'chat',
      chatError({ code: 400, message: leaky }, ',"choices":[{"delta":{}}]'),
    ],
    ['by itself', 'chat', chatError({ code: 400, message: leaky })],
    [
      'inside of a choice',
      'chat',
      `data: {"choices":[{"delta":{},"error":{"code":400,"message":"${leaky}"}}]}\n\n`,
    ],
    [
      'as an event of that name',
      'chat',
      `event: error\ndata: {"code":400,"message":"${leaky}"}\n\n`,
    ],
    ['without a frame', 'chat', `{"error":{"code":400,"message":"${leaky}"}}`],
    ['without a frame, over lines', 'chat', `{\n"error":\n{"code":400,"message":"${leaky}"}\n}\n`],
    [
      'glued to an event',
      'chat',
      `${good.chat.trim()}\n{"error":{"code":400,"message":"${leaky}"}}\n\n`,
    ],
    ['in a native event', 'native', `data: {"error":{"code":400,"message":"${leaky}"}}\r\n\r\n`],
    ['without a native frame', 'native', `{"error":{"code":400,"message":"${leaky}"}}`],
    [
      'glued to a native event',
      'native',
      `${good.native.trim()}\n{"error":{"code":400,"message":"${leaky}"}}\n\n`,
    ],
  ];

  it.each(leaks)('%s gets our text, without key, URL or host', async (_, api, error) => {
    const reply = await answered(api === 'chat' ? chat() : native(), sse(good[api], error));

    const broken = brokenStream(api, reply);
    expect(broken?.before).toBe(good[api]);
    expect(broken?.error).toMatchObject({
      message: expect.stringContaining('refused the request as invalid'),
    });
    expect(reply.text).not.toContain(upstreamHost);
    expect(reply.text).not.toContain(upstreamSecret);
  });

  it('of an overloaded upstream keeps its status, and names no lack of accounts', async () => {
    const busy = { code: 503, message: leaky, status: 'UNAVAILABLE' };
    const native503 = `data: ${JSON.stringify({ error: busy })}\r\n\r\n`;

    const toChat = await answered(chat(), sse(good.chat, chatError(busy)));
    const toNative = await answered(native(), sse(good.native, native503));

    const message = 'The upstream is overloaded. Retry later.';
    expect(brokenStream('chat', toChat)?.error).toMatchObject({
      message,
      code: 'upstream_overloaded',
    });
    expect(brokenStream('native', toNative)?.error).toMatchObject({
      message,
      code: 503,
      status: 'UNAVAILABLE',
    });
  });

  it('with a status that a caller could not fix is hidden', async () => {
    const reply = await answered(chat(), sse(good.chat, chatError({ message: leaky, code: 500 })));

    expect(brokenStream('chat', reply)?.error).toMatchObject({ code: 'upstream_failed' });
    expect(reply.text).not.toContain('Invalid key');
  });

  it('ends an array as its last element, after the valid ones', async () => {
    const good = { candidates: [{ content: { parts: [{ text: 'Once' }] } }] };
    const text = `[${JSON.stringify(good)}\n,{"error":{"code":400,"message":"Bad."}}]`;

    for (const chunks of [[text.slice(0, 18), text.slice(18)], [...text]]) {
      const reply = await answered(native('json_array'), json(...chunks));

      expect(JSON.parse(reply.text)).toEqual([
        good,
        { error: { code: 400, message: 'Bad.', status: 'INVALID_ARGUMENT' } },
      ]);
    }
  });

  it('stops everything that follows it', async () => {
    const error = chatError({ message: 'Bad.', code: 400 });
    const reply = await answered(chat(), sse(good.chat, `${error}${good.chat}`, good.chat));

    expect(brokenStream('chat', reply)?.before).toBe(good.chat);
  });

  it('is not detected in the text of a reply', async () => {
    const text =
      good.chat.replace('"a"', '"{\\"error\\": {\\"code\\": 400}} event: error [DONE]"') +
      'data: {"choices":[{"delta":{"role":"error"},"finish_reason":"stop"}]}\n\n';

    expect((await answered(chat(), sse(text))).text).toBe(text);
  });

  it('is not detected in an argument of that name', async () => {
    const call = '{"functionCall":{"name":"f","args":{"error":{"code":500}}}}';
    const candidate = `{"content":{"parts":[${call}]},"finishReason":"STOP"}`;
    const text = `data: {"candidates":[${candidate}]}\r\n\r\n`;

    expect((await answered(native(), sse(text))).text).toBe(text);
  });
});

function answered(request: CallerRequest, scripted: ScriptedReply): Promise<CallerReply> {
  return anyModelGateway({ upstream: scriptedUpstream(scripted) }).call(request);
}

function chatError(error: unknown, beside = ''): string {
  return `data: {"error":${JSON.stringify(error)}${beside}}\n\n`;
}

function nativeError(code: number): string {
  return `data: {"error":{"code":${code},"message":"Bad."}}\r\n\r\n`;
}

function messageOf({ text }: CallerReply): string {
  const document: { readonly error: { readonly message: string } } = JSON.parse(text);
  return document.error.message;
}
