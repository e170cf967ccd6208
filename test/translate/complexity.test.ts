// suite: slow
/** The limits on the size of a translated call, counted exactly. */
import { describe, expect, it } from 'vitest';
import { member, parseJson } from '../../src/json.ts';
import type { DialectName } from '../../src/ports/models/capabilities.ts';
import {
  anyModelGateway,
  type CallerRequest,
  chat,
  images,
  native,
} from '../support/any-model-gateway.ts';
import { scriptedUpstream } from '../support/scripted-upstream.ts';

async function outcome(dialect: DialectName, request: CallerRequest) {
  const upstream = scriptedUpstream({ status: 400, chunks: ['{}'] });
  const gateway = anyModelGateway({ upstream, channel: { dialect, upstreamModel: 'm' } });
  const { status, text } = await gateway.call(request);
  const error = member(parseJson(text), 'error');
  return {
    status,
    wasSent: upstream.requests.length > 0,
    code: member(error, 'code'),
    param: member(error, 'param'),
    message: String(member(error, 'message')),
  };
}

const question = '{"role":"user","content":"hi"}';
const zeros = (count: number): string => Array.from({ length: count }, () => '0').join(',');

describe('values', () => {
  // The body's own members: model, messages, a message with two members, x, and its elements.
  const body = (values: number): string =>
    `{"model":"m","messages":[${question}],"x":[${zeros(values - 6)}]}`;

  it('may be 100,000 in a translated call', async () => {
    expect(await outcome('gemini', chat(body(100_000)))).toMatchObject({ wasSent: true });
    expect(await outcome('gemini', chat(body(100_001)))).toMatchObject({
      status: 400,
      wasSent: false,
      code: 'too_complex',
      message: expect.stringContaining('100000 values'),
    });
  });

  it('may be more if the call is relayed', async () => {
    expect(await outcome('openai', chat(body(100_001)))).toMatchObject({ wasSent: true });
  });
});

describe('messages', () => {
  const turn = '{"role":"user","parts":[{"text":"hi"}]}';
  const times = (text: string, count: number): string =>
    Array.from({ length: count }, () => text).join(',');

  it('may be 10,000 in a chat', async () => {
    const body = (count: number) => chat(`{"model":"m","messages":[${times(question, count)}]}`);

    expect(await outcome('anthropic', body(10_000))).toMatchObject({ wasSent: true });
    expect(await outcome('anthropic', body(10_001))).toMatchObject({
      status: 400,
      wasSent: false,
      code: 'too_complex',
      param: 'messages',
    });
    expect(await outcome('openai', body(10_001))).toMatchObject({ wasSent: true });
  });

  it('may be 10,000 in a native call', async () => {
    const body = (count: number) => native('json', `{"contents":[${times(turn, count)}]}`);

    expect(await outcome('openai', body(10_000))).toMatchObject({ wasSent: true });
    expect(await outcome('openai', body(10_001))).toMatchObject({
      status: 400,
      wasSent: false,
      message: expect.stringContaining('10000 messages'),
    });
  });
});

describe('JSON inside strings', () => {
  const body = (args: string, result = 'ok'): CallerRequest =>
    chat(
      `{"model":"m","messages":[${question},{"role":"assistant","tool_calls":[{"id":"c1",
      "type":"function","function":{"name":"f","arguments":${JSON.stringify(args)}}}]},
      {"role":"tool","tool_call_id":"c1","content":${JSON.stringify(result)}}]}`,
    );
  const sized = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`;
  const refused = { status: 400, wasSent: false, code: 'too_complex' };

  it('may have 1 MiB in all', async () => {
    const half = 524_288;

    expect(await outcome('gemini', body(sized(half), sized(half)))).toMatchObject({
      wasSent: true,
    });
    expect(await outcome('gemini', body(sized(half), sized(half + 1)))).toMatchObject({
      ...refused,
      param: 'messages[2].content',
    });
    expect(await outcome('anthropic', body(sized(2 * half + 1)))).toMatchObject({
      ...refused,
      param: 'messages[1].tool_calls[0]',
    });
    expect(await outcome('openai', body(sized(2 * half + 1)))).toMatchObject({ wasSent: true });
  });

  it('is counted in bytes, not in characters', async () => {
    const text = (bytes: number): string => `{"a":"${'é'.repeat((bytes - 8) / 2)}"}`;

    expect(await outcome('gemini', body(text(1_048_576)))).toMatchObject({ wasSent: true });
    expect(await outcome('gemini', body(text(1_048_578)))).toMatchObject(refused);
  });

  it('may have 50,000 values in all', async () => {
    // The object, its two members, the list's elements, and the object in the result.
    const args = (values: number): string => `{"a,b":"[,,\\"{","c" : [ ${zeros(values - 3)} ]}`;

    expect(await outcome('gemini', body(args(49_999), '{ }'))).toMatchObject({ wasSent: true });
    expect(await outcome('gemini', body(args(50_000), '{ }'))).toMatchObject(refused);
    expect(await outcome('gemini', body(args(50_001)))).toMatchObject(refused);
  });

  it('does not include text that is not JSON', async () => {
    const text = `Some numbers: ${zeros(600_000)}`;

    expect(await outcome('gemini', body('{}', text))).toMatchObject({ wasSent: true });
  });
});

describe('objects that a server may merge into the body', () => {
  type Wrap = (inner: object, level: number) => object;
  const wraps: readonly (readonly [string, Wrap])[] = [
    ['extra_body', (inner) => ({ extra_body: inner })],
    ['extraBody', (inner) => ({ extraBody: inner })],
    ['both names in turn', (inner, level) => ({ [level % 2 ? 'extra_body' : 'extraBody']: inner })],
  ];
  const nested = (wrap: Wrap, levels: number): object =>
    Array.from({ length: levels }).reduce<object>((inner, _, level) => wrap(inner, level), {
      top_k: 1,
    });
  const contents = [{ role: 'user', parts: [{ text: 'hi' }] }];
  const callsOf = (extra: object): readonly CallerRequest[] => [
    chat(JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...extra })),
    images(JSON.stringify({ model: 'm', prompt: 'a cat', ...extra })),
    native('json', JSON.stringify({ contents, ...extra })),
  ];

  it.each(wraps)('may be 4 levels deep: %s', async (_name, wrap) => {
    for (const request of callsOf(nested(wrap, 4))) {
      expect(await outcome('openai', request)).not.toMatchObject({ code: 'too_complex' });
    }
    for (const request of callsOf(nested(wrap, 5))) {
      const refused = await outcome('openai', request);
      expect(refused).toMatchObject({ status: 400, wasSent: false });
      expect(refused.message).toContain('4 levels of `extra_body`');
    }
  });

  it('may have 1 MiB, plus images', async () => {
    // Each element has ten bytes including its comma, and seven more surround them.
    const extra = (elements: number) => ({ extra_body: { x: Array(elements).fill('seven..') } });
    for (const request of callsOf({ extra_body: { image: 'A'.repeat(2_000_000) } })) {
      expect(await outcome('openai', request)).not.toMatchObject({ code: 'too_complex' });
    }
    for (const request of callsOf(extra(104_856))) {
      expect(await outcome('openai', request)).not.toMatchObject({ code: 'too_complex' });
    }
    for (const request of callsOf(extra(104_857))) {
      // The whole body of an image call has the same limit.
      if (request.path === images().path) continue;
      const refused = await outcome('openai', request);
      expect(refused).toMatchObject({ status: 400, wasSent: false });
      expect(refused.message).toContain('1048576 bytes in `extra_body`');
    }
  });

  it('may be 4 levels deep in lists of a native call', async () => {
    const wrap: Wrap = (inner) => ({ extra_body: [inner] });
    const call = (levels: number): CallerRequest =>
      native('json', JSON.stringify({ contents, ...nested(wrap, levels) }));

    expect(await outcome('gemini', call(4))).toMatchObject({ wasSent: true });
    expect(await outcome('gemini', call(5))).toMatchObject({ status: 400, wasSent: false });
  });
});
