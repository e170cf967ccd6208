// suite: slow
/** The tap of relayed Responses streams, over generated streams and over each kind of failure. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { responseCount } from '../../../src/dialects/openai/responses/content-count.ts';
import { responsesStreamTap } from '../../../src/dialects/openai/responses/stream-tap.ts';
import type { StreamTap } from '../../../src/dialects/taps/tap.ts';
import { GatewayError } from '../../../src/errors.ts';
import { often } from '../../bytes/json-arbitrary.ts';
import { responsesFixtures } from '../../support/recorded/responses-fixtures.ts';

/** The source text of an event, and its document. */
interface MadeEvent {
  readonly text: string;
  readonly document: Readonly<Record<string, unknown>>;
}

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom(
    '',
    '"',
    '\\',
    '\n',
    '\\"',
    '","delta":"',
    'ü',
    '€',
    '😀',
    'data: x',
    ',"sequence_number":7,',
  ),
);

const deltaType = fc.constantFrom(
  'response.output_text.delta',
  'response.refusal.delta',
  'response.reasoning_text.delta',
  'response.reasoning_summary_text.delta',
  'response.function_call_arguments.delta',
  'response.custom_tool_call_input.delta',
  'response.code_interpreter_call_code.delta',
);

const logprobs = fc.constantFrom<readonly unknown[]>([], [], [], [{ token: 'a', logprob: -1 }]);

/** A run of deltas of one item, in one order of members, as servers send them. */
const run = fc
  .record({
    type: deltaType,
    output_index: fc.nat(2),
    deltas: fc.array(fc.tuple(text, logprobs), { maxLength: 8 }),
    order: fc.constantFrom(
      ['type', 'sequence_number', 'item_id', 'output_index', 'delta', 'logprobs', 'obfuscation'],
      ['type', 'delta', 'item_id', 'logprobs', 'obfuscation', 'output_index', 'sequence_number'],
      ['sequence_number', 'type', 'obfuscation', 'delta', 'output_index', 'item_id'],
      ['type', 'item_id', 'output_index', 'delta'],
    ),
  })
  .map(({ type, output_index, deltas, order }) =>
    deltas.map(([delta, probs], index) => ({
      order,
      type,
      members: {
        item_id: `item_${output_index}`,
        output_index,
        delta,
        logprobs: probs,
        obfuscation: 'p'.repeat((index * 5) % 17),
      },
    })),
  );

const frame = fc.constantFrom(
  (type: string, json: string) => `event: ${type}\ndata: ${json}\n\n`,
  (_: string, json: string) => `data: ${json}\n\n`,
  (type: string, json: string) => `event: ${type}\r\ndata: ${json}\r\n\r\n`,
  (type: string, json: string) => `event:${type}\ndata:${json}\n\n`,
);

/** A stream without its last event. */
const stream = fc
  .tuple(frame, fc.array(run, { maxLength: 6 }), fc.nat(20))
  .map(([framed, runs, start]) => {
    const created = {
      type: 'response.created',
      response: { id: 'resp_1', created_at: 5, model: 'g' },
    };
    const events: MadeEvent[] = [];
    const add = (members: Readonly<Record<string, unknown>>): void => {
      events.push({
        text: framed(String(members.type), JSON.stringify(members)),
        document: members,
      });
    };
    add({ ...created, sequence_number: start });
    for (const [index, { order, type, members }] of runs.flat().entries()) {
      const all: Readonly<Record<string, unknown>> = {
        type,
        sequence_number: start + index + 1,
        ...members,
      };
      add(Object.fromEntries(order.map((name) => [name, all[name]])));
    }
    return events;
  });

/** The chunks of a text that is cut at these fractions of its length. */
function cut(whole: string, at: readonly number[]): readonly Buffer[] {
  const bytes = Buffer.from(whole);
  const ends = [...at.map((fraction) => Math.floor(fraction * bytes.length)), bytes.length];
  return ends
    .sort((a, b) => a - b)
    .map((end, index, all) => bytes.subarray(all[index - 1] ?? 0, end));
}

const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });

function written(tap: StreamTap, chunks: readonly Uint8Array[]): string {
  return Buffer.concat(chunks.map((chunk) => tap.write(chunk))).toString();
}

const completed = (members: object = {}): string =>
  `event: response.completed\ndata: ${JSON.stringify({
    type: 'response.completed',
    sequence_number: 99,
    response: {
      id: 'resp_1',
      status: 'completed',
      usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
      ...members,
    },
  })}\n\n`;

const delta = [
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta",',
  '"sequence_number":4,"output_index":0,"delta":"Hi"}\n\n',
].join('');

describe('a generated stream', () => {
  it('passes unchanged, and counts as its parsed events do, wherever it is cut', () => {
    fc.assert(
      fc.property(stream, cuts, (events, at) => {
        const tap = responsesStreamTap();
        const whole = events.map((event) => event.text).join('');
        const count = responseCount();
        const contents = events.map(({ document }) =>
          count.add(JSON.parse(JSON.stringify(document))),
        );

        expect(written(tap, cut(whole, at))).toBe(whole);
        expect(tap.countedTokens()).toBe(count.tokens());
        expect(tap.hasBegun()).toBe(contents.some((hasContent) => hasContent));
        expect(tap.failure()).toBeUndefined();
        expect(tap.complete()).toBe(false);
      }),
      often,
    );
  });

  it('is continued by the next number if it breaks off', () => {
    fc.assert(
      fc.property(stream, cuts, (events, at) => {
        const tap = responsesStreamTap();
        written(tap, cut(events.map((event) => event.text).join(''), at));
        const last = events.reduce((number, { document }) => {
          const stated = document.sequence_number;
          return typeof stated === 'number' ? stated : number + 1;
        }, 0);

        const [error, failed] = tap.breakOff(new GatewayError('upstream_failed', 'no')) ?? [];

        expect(dataOf(error)).toMatchObject({ sequence_number: last + 1 });
        expect(dataOf(failed)).toMatchObject({ sequence_number: last + 2 });
      }),
      often,
    );
  });
});

describe('a recorded stream', () => {
  const streams = responsesFixtures('openai', 'openai-replies', 'compat', 'synthetic')
    .filter(({ streamed, response }) => streamed && response !== undefined)
    .map(({ name, response }) => [name, Buffer.from(response ?? []).toString()] as const);

  it.each(streams)('%s counts as its parsed events do, after each of them', (_, whole) => {
    const tap = responsesStreamTap();
    const count = responseCount();
    for (const event of whole.split(/(?<=\n\n)/)) {
      tap.write(Buffer.from(event));
      const [, data = 'null'] = /^data: (.*)$/m.exec(event) ?? [];
      if (data !== '[DONE]') count.add(JSON.parse(data));
      if (tap.failure() !== undefined) return;

      expect(tap.countedTokens()).toBe(count.tokens());
      if (tap.finished()) return;
    }
  });

  it.each(streams)('%s counts the same in one piece', (_, whole) => {
    const [apart, together] = [whole.split(/(?<=\n\n)/), [whole]].map((chunks) => {
      const tap = responsesStreamTap();
      for (const chunk of chunks) tap.write(Buffer.from(chunk));
      return { tokens: tap.countedTokens(), usage: tap.usage(), referable: tap.referable?.() };
    });

    expect(together?.tokens).toBe(apart?.tokens);
    expect(together?.referable).toEqual(apart?.referable);
  });
});

describe('the last event', () => {
  it('is held back until the end, which returns it once', () => {
    const tap = responsesStreamTap();

    expect(tap.write(Buffer.from(delta + completed())).toString()).toBe(delta);
    expect(tap.finished()).toBe(true);
    expect(tap.complete()).toBe(true);
    expect(tap.write(Buffer.from('data: [DONE]\n\n')).length).toBe(0);
    expect(tap.end().toString()).toBe(completed());
    expect(tap.end().length).toBe(0);
    expect(tap.usage()).toMatchObject({ inputTokens: 3, outputTokens: 4 });
  });

  it('counts without its blank line, which clients need', () => {
    for (const end of ['', '\n', '\r\n']) {
      const tap = responsesStreamTap();
      tap.write(Buffer.from(delta + completed().trimEnd() + end));

      expect(tap.end().toString()).toBe(completed());
      expect(tap.complete()).toBe(true);
    }
  });

  it.each(['response.incomplete', 'response.cancelled', 'response.done'])('may be %s', (type) => {
    const tap = responsesStreamTap();
    const last = completed({ status: 'an unknown word' }).replaceAll('response.completed', type);
    tap.write(Buffer.from(delta + last));

    expect([tap.complete(), tap.end().toString()]).toEqual([true, last]);
  });

  it('is not parsed if it is large, and its usage is found after megabytes', () => {
    const output = Array.from({ length: 3_000 }, (_, index) => ({
      type: 'message',
      id: `msg_${index}`,
      content: [{ type: 'output_text', text: `"usage":{"input_tokens":1} ${'x'.repeat(1_000)}` }],
    }));
    const last = completed({ usage: null, output }).replace(
      /\}\}\n\n$/,
      ',"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":2},' +
        '"output_tokens":40}}}\n\n',
    );
    const tap = responsesStreamTap();
    tap.write(Buffer.from(delta + last));

    expect(tap.usage()).toMatchObject({ inputTokens: 30, outputTokens: 40, cachedInputTokens: 2 });
    expect(tap.end().toString()).toBe(last);
  });

  it('that is cut off inside completes nothing', () => {
    const whole = completed();
    for (let end = 1; end < whole.trimEnd().length; end += 1) {
      const tap = responsesStreamTap();
      tap.write(Buffer.from(delta + whole.slice(0, end)));
      tap.end();

      expect(tap.complete()).toBe(false);
    }
  });
});

describe('what is not an event of the API', () => {
  it.each([
    [': keep-alive\n\n', ''],
    ['event: ping\ndata: {}\n\n', ''],
    ['data: {"type":"keepalive","sequence_number":3}\n\n', ''],
    ['data: [DONE]\n\n', ''],
    ['data:\n\n', ''],
    ['\n\n\n', ''],
    ['data: {"object":"status","detail":"secret"}\n\n', ''],
    [`id: secret\n${delta}`, delta],
    [`: secret\n${delta}`, delta],
    [`secret\n${delta}`, delta],
    [delta.replace('event: response.output_text.delta', 'event: secret'), delta],
    [delta.replace('event: ', 'event: secret\nevent: '), delta],
  ])('%j becomes %j', (sent, passed) => {
    const tap = responsesStreamTap();

    expect(tap.write(Buffer.from(delta + sent + delta)).toString()).toBe(delta + passed + delta);
    expect(tap.failure()).toBeUndefined();
  });

  it.each([
    'data: secret\n\n',
    'data: "secret"\n\n',
    'data: [1]\n\n',
    'data: {"type":\n\n',
  ])('%j ends the stream with a failure', (sent) => {
    const tap = responsesStreamTap();

    expect(tap.write(Buffer.from(delta + sent + delta)).toString()).toBe(delta);
    expect(tap.failure()?.reason).toBe('upstream_bad_stream');
  });
});

describe('an item', () => {
  const done = (item: object): Buffer =>
    Buffer.from(
      `data: ${JSON.stringify({ type: 'response.output_item.done', output_index: 0, item })}\n\n`,
    );

  it('that is whole is remembered by its id, large or not', () => {
    const tap = responsesStreamTap();
    const arguments_ = JSON.stringify({ text: 'x'.repeat(100_000) });
    tap.write(done({ id: 'fc_1', type: 'function_call', arguments: '{}' }));
    tap.write(done({ id: 'fc_2', type: 'function_call', arguments: arguments_ }));

    expect(tap.referable?.()).toEqual({
      replyId: undefined,
      items: [{ id: 'fc_1' }, { id: 'fc_2' }],
    });
    expect(tap.countedTokens()).toBeGreaterThan(40_000);
  });

  it('with an image counts as one, whatever its size', () => {
    const [small, large] = ['aGk=', 'aGk='.repeat(1_000_000)].map((result) => {
      const tap = responsesStreamTap();
      tap.write(done({ id: 'ig_1', type: 'image_generation_call', result }));
      return tap.countedTokens();
    });

    expect(large).toBe(small);
    expect(small).toBeGreaterThan(1_000);
  });
});

function dataOf(event: Uint8Array | undefined): Record<string, unknown> {
  const found = /^event: (\S+)\ndata: (\{.*\})\n\n$/.exec(Buffer.from(event ?? []).toString());
  const document = JSON.parse(found?.[2] ?? 'null');
  expect(document?.type).toBe(found?.[1]);
  return document;
}
