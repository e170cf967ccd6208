// suite: quick
/** For any events in any order, every document that a caller gets is valid JSON. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ContentEvent, FinishReason } from '../../src/canonical/reply.ts';
import type { ReplyHead } from '../../src/dialects/codec.ts';
import { writeReply as writeNativeReply } from '../../src/dialects/gemini/server/write-reply.ts';
import { writeStream as writeNativeStream } from '../../src/dialects/gemini/server/write-stream.ts';
import { writeReply as writeChatReply } from '../../src/dialects/openai/server/write-reply.ts';
import { writeStream as writeChatStream } from '../../src/dialects/openai/server/write-stream.ts';
import { GatewayError } from '../../src/errors.ts';

const hostile = fc.oneof(
  fc.constantFrom(
    '',
    '\u2028\u2029',
    '\ud800',
    'a\udc00b',
    '\r\n\r\ndata: [DONE]\n\n',
    '"}]}',
    '\\',
    '\0',
    '__proto__',
    'constructor',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const args = fc.oneof(
  hostile,
  fc.constantFrom('{}', '{"a":\r\n1}', '{"\u2028":"\u2029"}', '{"__proto__":{"x":1}}', '[1]', '1'),
);
const choice = fc.nat({ max: 2 });
const number = fc.nat({ max: 2 });
const providerData = fc.option(
  fc.record({
    provider: fc.constantFrom('gemini', 'anthropic', 'openai', '__proto__', 'constructor'),
    kind: fc.constantFrom('signature', 'encrypted'),
    data: hostile,
  }),
  { nil: undefined },
);
const maybe = fc.option(hostile, { nil: undefined });
const count = fc.option(fc.nat(), { nil: undefined });
const logprob = fc.constantFrom(-0.5, 0, Number.NEGATIVE_INFINITY);
const reasons: readonly FinishReason[] = [
  'stop',
  'length',
  'tool_calls',
  'content_filter',
  'other',
];
const object = fc.constantFrom({}, { a: '\u2028' }, JSON.parse('{"__proto__":{"x":1}}'));

const text = (type: 'text' | 'reasoning' | 'refusal') =>
  fc.record({ type: fc.constant(type), choice, text: hostile, providerData });

const event: fc.Arbitrary<ContentEvent> = fc.oneof(
  fc.record({ type: fc.constant('start'), id: maybe, model: maybe }),
  text('text'),
  text('reasoning'),
  text('refusal'),
  fc.record({
    type: fc.constant('tool_begin'),
    choice,
    call: number,
    id: hostile,
    name: hostile,
    arguments: args,
    providerData,
  }),
  fc.record({ type: fc.constant('tool_arguments'), choice, call: number, text: args }),
  fc.record({ type: fc.constant('tool_end'), choice, call: number }),
  fc.record({
    type: fc.constant('media'),
    choice,
    mimeType: fc.oneof(fc.constantFrom('image/png', 'audio/wav'), hostile),
    data: fc.oneof(fc.base64String({ maxLength: 16 }), hostile),
    providerData,
  }),
  fc.record({
    type: fc.constant('logprobs'),
    choice,
    tokens: fc.array(
      fc.record({
        token: hostile,
        logprob,
        top: fc.array(fc.record({ token: hostile, logprob }), { maxLength: 2 }),
      }),
      { maxLength: 2 },
    ),
  }),
  fc.record({
    type: fc.constant('citations'),
    choice,
    citations: fc.array(fc.record({ url: hostile, title: maybe, start: count, end: count }), {
      maxLength: 2,
    }),
  }),
  fc.record({
    type: fc.constant('provider_specific'),
    choice,
    provider: fc.constantFrom('gemini', 'anthropic', '__proto__'),
    name: fc.constantFrom('blocks', 'grounding_metadata', '__proto__'),
    value: fc.oneof(object, fc.array(object, { maxLength: 2 })),
  }),
  fc.record({
    type: fc.constant('finish'),
    choice,
    reason: fc.constantFrom(...reasons),
    native: maybe,
    message: maybe,
  }),
  fc.record({ type: fc.constant('blocked'), reason: hostile, message: maybe }),
);

const batches = fc.array(fc.array(event, { maxLength: 3 }), { maxLength: 8 });

const head = (framing: ReplyHead['framing']): ReplyHead => ({
  fallbackId: 'id"\u2028',
  createdSeconds: 1,
  newId: () => 'id',
  modelId: 'some/"model\u2029',
  wantsUsage: true,
  framing,
});
const error = new GatewayError('upstream_failed', 'It "failed"\u2028\n.');

/** Every line of a stream is part of an event or blank, and its document can be parsed. */
function expectEvents(stream: string, end: '\n\n' | '\r\n\r\n'): readonly unknown[] {
  const frames = stream.split(end);
  expect(frames.pop()).toBe('');
  return frames.map((frame) => {
    expect(frame.startsWith('data: ')).toBe(true);
    expect(frame).not.toMatch(/[\r\n]/);
    return frame === 'data: [DONE]' ? frame : JSON.parse(frame.slice('data: '.length));
  });
}

describe('a chat caller', () => {
  it('gets JSON in every chunk, and one terminator', () => {
    fc.assert(
      fc.property(batches, (given) => {
        const writer = writeChatStream(head('sse'));
        const body = given.map((events) => writer.write(events)).join('');

        const frames = expectEvents(body + writer.end(), '\n\n');

        expect(frames.filter((frame) => frame === 'data: [DONE]')).toHaveLength(1);
        expect(frames.at(-1)).toBe('data: [DONE]');
      }),
    );
  });

  it('gets JSON in a stream that breaks off', () => {
    fc.assert(
      fc.property(batches, (given) => {
        const writer = writeChatStream(head('sse'));
        const body = given.map((events) => writer.write(events)).join('');

        const frames = expectEvents(body + writer.breakOff(error).join(''), '\n\n');

        expect(frames.at(-1)).toMatchObject({ error: { code: 'upstream_failed' } });
      }),
    );
  });

  it('gets JSON as a whole reply', () => {
    fc.assert(
      fc.property(batches, (given) => {
        const { text: body } = writeChatReply(given.flat(), head('json'));

        expect(JSON.parse(body)).toMatchObject({ object: 'chat.completion' });
      }),
    );
  });
});

describe('a native caller', () => {
  it('gets JSON in every event, without what Google’s parsers take for a line end', () => {
    fc.assert(
      fc.property(batches, (given) => {
        const writer = writeNativeStream(head('sse'));
        const body = given.map((events) => writer.write(events)).join('') + writer.end();

        expectEvents(body, '\r\n\r\n');

        expect(body).not.toMatch(/[\u2028\u2029]/);
        expect(writer.breakOff(error)).toEqual([]);
      }),
    );
  });

  it('gets JSON in a stream that breaks off, and the bare error after it', () => {
    fc.assert(
      fc.property(batches, (given) => {
        const writer = writeNativeStream(head('sse'));
        const body = given.map((events) => writer.write(events)).join('');

        const [framed = '', bare = ''] = writer.breakOff(error);

        expectEvents(body + framed, '\r\n\r\n');
        expect(JSON.parse(bare)).toMatchObject({ error: { code: 502 } });
        expect(bare).not.toMatch(/[\u2028\u2029\r\n]/);
      }),
    );
  });

  it('gets one JSON array, complete or broken off', () => {
    fc.assert(
      fc.property(batches, fc.boolean(), (given, isBroken) => {
        const writer = writeNativeStream(head('json_array'));
        const body = given.map((events) => writer.write(events)).join('');

        const end = isBroken ? writer.breakOff(error).join('') : writer.end();

        expect(Array.isArray(JSON.parse(body + end))).toBe(true);
      }),
    );
  });

  it('gets JSON as a whole reply', () => {
    fc.assert(
      fc.property(batches, (given) => {
        const { text: body } = writeNativeReply(given.flat(), head('json'));

        expect(JSON.parse(body)).toHaveProperty('responseId');
      }),
    );
  });
});
