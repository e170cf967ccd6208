// suite: slow
/**
 * A 2xx response that is not a valid reply becomes a 502. If it breaks off where no error can be
 * sent, the connection is cut.
 */
import { describe, expect, it } from 'vitest';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  images,
  native,
  wholeChat,
} from '../support/any-model-gateway.ts';
import { fixture } from '../support/recorded/fixtures.ts';
import { type ScriptedReply, scriptedUpstream } from '../support/scripted-upstream.ts';
import { json, sse } from './streams.ts';

const html = '<!doctype html><style>b{c:d}</style><title>Log in to the Wi-Fi</title>';
const reply = '{"choices":[{"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}]}';
const event = `data: ${reply}\n\n`;
const page: ScriptedReply = { headers: { 'content-type': 'text/html' }, chunks: [html] };

describe('a response that is not a reply', () => {
  const cases: readonly (readonly [string, CallerRequest, ScriptedReply, string])[] = [
    ['an empty 200', chat(wholeChat), json(), 'upstream_empty'],
    ['a 204', chat(wholeChat), { status: 204 }, 'upstream_empty'],
    ['an empty stream', chat(), sse(), 'upstream_empty'],
    ['an empty native stream', native(), sse(), 'upstream_empty'],
    ['an empty native array', native('json_array'), json(), 'upstream_empty'],
    ['a web page', chat(wholeChat), page, 'upstream_protocol_error'],
    ['a web page to a stream', chat(), page, 'upstream_bad_stream'],
    ['a web page to a native stream', native(), page, 'upstream_bad_stream'],
    ['a web page to a native array', native('json_array'), page, 'upstream_empty'],
    ['a web page in the clothes of a stream', chat(), sse(html), 'upstream_bad_stream'],
    ['a long web page', chat(wholeChat), json(html.repeat(2_000)), 'upstream_protocol_error'],
    ['JSON to a stream', chat(), json(reply), 'upstream_protocol_error'],
    ['long JSON to a stream', chat(), json(longReply(70_000)), 'upstream_protocol_error'],
    ['JSON in the clothes of a stream', chat(), sse(reply), 'upstream_bad_stream'],
    ['a stream to a call that wants none', chat(wholeChat), sse(event), 'upstream_protocol_error'],
    [
      'an object to a native array',
      native('json_array'),
      json('{"candidates":[]}'),
      'upstream_empty',
    ],
    ['the end of a stream alone', chat(), sse('data: [DONE]\n\n'), 'upstream_stream_truncated'],
    [
      'a native stream without any content',
      native(),
      sse('data: {"candidates":[{"content":{"role":"model"}}]}\n\n'),
      'upstream_stream_truncated',
    ],
    [
      'a native array without any content',
      native('json_array'),
      json('[{"candidates":[]},{"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1}}]'),
      'upstream_stream_truncated',
    ],
    ['an empty native array', native('json_array'), json('[]'), 'upstream_empty'],
    ['half a document', chat(wholeChat), json(reply.slice(0, 40)), 'upstream_truncated'],
    [
      'an image by its URL',
      images(),
      json(fixture('openai-images/image-dalle.1').response),
      'upstream_image_not_base64',
    ],
    ['no image', images(), json('{"created":1,"data":[]}'), 'upstream_empty'],
    [
      'an image without data',
      images(),
      json('{"data":[{"revised_prompt":"x"}]}'),
      'upstream_image_not_base64',
    ],
  ];

  it.each(cases)('%s is a 502', async (_, request, scripted, reason) => {
    const gateway = anyModelGateway({ upstream: scriptedUpstream(scripted) });

    const reply = await gateway.call(request);

    expect(reply.status).toBe(502);
    expect(gateway.records[0]?.reason).toBe(reason);
    expect(reply.text).not.toMatch(/Wi-Fi|oaidalle|revised/);
    if (request.path.includes('images')) expect(reply.headers['x-should-retry']).toBe('false');
  });

  it('JSON without a content type is accepted as a reply', async () => {
    const upstream = scriptedUpstream({ chunks: [`\n ${reply}`] });

    expect((await anyModelGateway({ upstream }).call(chat(wholeChat))).text).toBe(`\n ${reply}`);
  });

  it('a native reply without candidates is accepted', async () => {
    const text = '{"promptFeedback":{"blockReason":"SAFETY"}}';
    const upstream = scriptedUpstream(json(text));

    expect((await anyModelGateway({ upstream }).call(native('json'))).text).toBe(text);
  });
});

describe('more or fewer images than requested', () => {
  const two = '{"data":[{"b64_json":"AAAA"},{"b64_json":"BBBB"}]}';
  const price = { per: 'image', rows: [{ nanos: 7n }] } as const;

  it.each([
    [1, 14n],
    [2, 14n],
    [3, 14n],
  ])('with %i requested and two made are passed on, and both are charged', async (n, charge) => {
    const gateway = anyModelGateway({ upstream: scriptedUpstream(json(two)), model: { price } });

    const reply = await gateway.call(images(`{"model":"m","prompt":"a cat","n":${n}}`));

    expect(reply.text).toBe(two);
    expect(gateway.records[0]?.chargeNanos).toBe(charge);
  });
});

describe('a whole reply', () => {
  const held = 64 * 1024;

  it.each([
    held - 1,
    held,
    held + 1,
    3 * held,
  ])('of %i bytes is relayed byte for byte', async (size) => {
    const text = longReply(size);
    const gateway = anyModelGateway({ upstream: scriptedUpstream(json(...halves(text))) });

    const reply = await gateway.call(chat(wholeChat));

    expect(reply.text).toBe(text);
    expect(reply.isCut).toBe(false);
    expect(reply.headers['content-length']).toBe(size > held ? undefined : String(size));
    expect(gateway.records[0]).toMatchObject({
      outcome: 'complete',
      usage: { inputTokens: 3, outputTokens: 5 },
    });
  });

  it.each([
    'end',
    'reset',
  ] as const)('past 64 KiB that breaks off by %s is cut, never ended', async (ending) => {
    const text = longReply(3 * held);

    for (const length of [held + 1, 2 * held, text.length - 1]) {
      const scripted = { ...json(...halves(text.slice(0, length))), ending };
      const gateway = anyModelGateway({ upstream: scriptedUpstream(scripted) });

      const reply = await gateway.call(chat(wholeChat));

      expect(reply.isCut).toBe(true);
      expect(text.startsWith(reply.text)).toBe(true);
      expect(gateway.records[0]).toMatchObject({ outcome: 'broken', status: 200 });
    }
  });

  it('below 64 KiB that breaks off is a 502', async () => {
    for (const ending of ['end', 'reset'] as const) {
      const scripted = { ...json(...halves(longReply(held).slice(0, -1))), ending };

      const reply = await anyModelGateway({ upstream: scriptedUpstream(scripted) }).call(
        chat(wholeChat),
      );

      expect(reply.status).toBe(502);
      expect(reply.isCut).toBe(false);
    }
  });

  it.each([
    ['no figures', ''],
    ['null for figures', ',"usage":null'],
    ['empty figures', ',"usage":{}'],
    ['negative figures', ',"usage":{"prompt_tokens":-3,"completion_tokens":-5}'],
    ['figures in words', ',"usage":{"prompt_tokens":"3","completion_tokens":"5"}'],
  ])('with %s is charged by counting, long or short', async (_, usage) => {
    for (const size of [1_000, 2 * held]) {
      const text = longReply(size).replace(/,"usage":\{[^}]*\}/, usage);
      const gateway = anyModelGateway({ upstream: scriptedUpstream(json(text)) });

      await gateway.call(chat(wholeChat));

      expect(gateway.records[0]).toMatchObject({ usage: undefined, basis: 'counted' });
      expect(gateway.records[0]?.chargeNanos).toBeGreaterThan(0n);
    }
  });

  it('with images of many MB is relayed byte for byte, and counted', async () => {
    const base64 = 'A'.repeat(3 * 1024 * 1024);
    const text = `{"created":1,"data":[{"b64_json":"${base64}"},{"b64_json":"${base64}"}]}`;
    const gateway = anyModelGateway({ upstream: scriptedUpstream(json(...halves(text))) });

    const reply = await gateway.call(images('{"model":"m","prompt":"two cats","n":2}'));

    expect(reply.text === text).toBe(true);
    expect(gateway.records[0]?.usage).toMatchObject({ images: 2 });
  });
});

/** A chat reply of exactly this size, in bytes. */
function longReply(size: number): string {
  const frame = (content: string) =>
    `{"choices":[{"message":{"content":"${content}"}}],` +
    '"usage":{"prompt_tokens":3,"completion_tokens":5}}';
  return frame('a'.repeat(size - frame('').length));
}

function halves(text: string): readonly string[] {
  return [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];
}
