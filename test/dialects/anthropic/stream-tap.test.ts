// suite: search
/** The tap of relayed Messages streams: what it does not parse is recorded as what it parses. */
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { messagesStreamTap } from '../../../src/dialects/anthropic/stream-tap.ts';
import type { StreamTap } from '../../../src/dialects/taps/tap.ts';
import { often } from '../../bytes/json-arbitrary.ts';
import { fixtures } from '../../support/recorded/fixtures.ts';
import { runsOf } from '../../support/sample.ts';

const streams = fixtures('anthropic', 'messages')
  .filter(({ streamed, response, status }) => streamed && status === 200 && response.length > 0)
  .map(({ name, response }) => [name, Buffer.from(response)] as const);

/** Cuts at every byte; by default at some. */
const isFull = process.env.TEST_FORM === 'full';
const cutsByDefault = 40;

/** All that a tap reports, and what it passes on, after each chunk and the end. */
function observed(chunks: readonly Uint8Array[], parsesAll: boolean): readonly unknown[] {
  const tap = messagesStreamTap('req_1', { parsesAll });
  const after = (bytes: Uint8Array): unknown => [latin1(bytes), stateOf(tap)];
  return [...chunks.map((chunk) => after(tap.write(chunk))), after(tap.end())];
}

function stateOf(tap: StreamTap): unknown {
  return {
    begun: tap.hasBegun(),
    finished: tap.finished(),
    complete: tap.complete(),
    failure: tap.failure(),
    usage: tap.usage(),
    tokens: tap.countedTokens(),
    progress: tap.progress(),
  };
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

function expectSame(chunks: readonly Uint8Array[]): void {
  expect(observed(chunks, false)).toEqual(observed(chunks, true));
}

describe('a recorded stream', () => {
  it('is one of more than 30', () => {
    expect(streams.length).toBeGreaterThan(30);
  });

  it.each(streams)('%s is recorded as its parsed events are, wherever it is cut', (_, bytes) => {
    const step = isFull ? 1 : Math.ceil(bytes.length / cutsByDefault);
    for (let at = 0; at <= bytes.length; at += step)
      expectSame([bytes.subarray(0, at), bytes.subarray(at)]);
  });

  it.each(streams)('%s is recorded as its parsed events are, byte by byte', (_, bytes) => {
    const [known, parsed] = [false, true].map((parsesAll) =>
      messagesStreamTap('req_1', { parsesAll }),
    );
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes.subarray(at, at + 1);
      const [one, other] = [known?.write(byte), parsed?.write(byte)];
      if (one?.length === 0 && other?.length === 0) continue;

      expect(latin1(one ?? byte)).toBe(latin1(other ?? byte));
      expect(known && stateOf(known)).toEqual(parsed && stateOf(parsed));
    }
  });
});

describe('the deltas of the recorded streams', () => {
  afterEach(() => vi.restoreAllMocks());

  it('are parsed only until the template is learnt', () => {
    const parse = vi.spyOn(JSON, 'parse');
    const [known = 0, parsed = 0] = [false, true].map((parsesAll) => {
      parse.mockClear();
      for (const [, bytes] of streams) observed([bytes], parsesAll);
      return parse.mock.calls.length;
    });

    expect(parsed).toBeGreaterThan(1_500);
    expect(known).toBeLessThan(parsed / 2);
  });
});

/** What is put in place of content, or anywhere else, as latin1. */
const fragment = fc.oneof(
  fc.constantFrom(
    ...['', ' ', '   ', '"', '\\', '\\\\', '\\"', '\\u', '\\u00e9', '\\ud83d', '\\ud83d\\ude00'],
    ...['\\x', '\\/', '\\\\d', '\t', '\r', '\n', '\n\n', '\r\n\r\n', '\0', '\x7f', '{', '}', '[]'],
    ...['\xc3\xa9', '\xf0\x9f\x98\x80', '\xff', '\xc3', '\xef\xbb\xbf', '\xed\xa0\x80'],
    ...['data:image/png;base64,aGk=', '\\u0064ata:image/png;base64,aGk=', 'd\\u0061ta:;base64,'],
    ...['"text":"Hi",', ',"text":"Hi"', '"delta":{"text":"Hi"},', ',"delta":{"thinking":"Hi"}'],
    ...['","partial_json":"', '"role":', '"signature":"c2ln",', '"error":{},', '"x":"y",'],
    ...['data: x\n', 'event: ping\n', 'id: 7\n', ': x\n', 'x\n', 'event: error\n', 'event: x\n'],
    ...['event: ping\ndata: {"type": "ping"}\n\n', 'event: ping\ndata: {"type":"error"}\n\n'],
  ),
  fc.string({ maxLength: 8 }).map((made) => Buffer.from(made).toString('latin1')),
  fc.uint8Array({ minLength: 1, maxLength: 4 }).map((made) => latin1(made)),
);

/** Where content, an event, an object or its end starts. */
const place = fc.constantFrom(
  /"(?:text|thinking|partial_json)":\s*"/g,
  /"delta":\{/g,
  /\n\n/g,
  /data: \{/g,
  / *\}\n\n/g,
  /event: /g,
  /[\s\S]/g,
);

/** Replaces `removed` characters of a stream behind one of the matches of an expression. */
interface Change {
  readonly place: RegExp;
  /** Selects one of the matches. */
  readonly at: number;
  readonly removed: number;
  readonly inserted: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  place,
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  removed: fc.constantFrom(0, 0, 1, 2, 5),
  inserted: fc.array(fragment, { maxLength: 2 }).map((pieces) => pieces.join('')),
});

function changed(text: string, changes: readonly Change[]): string {
  let whole = text;
  for (const { place: expression, at, removed, inserted } of changes) {
    const ends = [...whole.matchAll(expression)].map(({ index, 0: { length } }) => index + length);
    const end = ends[Math.floor(at * ends.length)];
    if (end !== undefined) whole = whole.slice(0, end) + inserted + whole.slice(end + removed);
  }
  return whole;
}

/** Deltas whose content is `Hi`: usual ones, and those of servers that imitate the API. */
const shapes = [
  ...['"type":"text_delta","text":"Hi"', '"type":"thinking_delta","thinking":"Hi"'],
  ...['"type":"input_json_delta","partial_json":"Hi"', '"text": "Hi", "type": "text_delta"'],
  ...[
    '"type":"x","reasoning":"Hi"',
    '"text":"Hi","reasoning":"Ho"',
    '"text":"Hi","x":[{"y":"Ho"}]',
  ],
  ...['"text":"Hi","text":"Ho"', '"text":"Ho","text":"Hi"', '"text":"Ho","te\\u0078t":"Hi"'],
  ...['"text":"Hi"},"delta":{"x":"Ho"', '"text":"Hi"},"x":{"text":"Ho"', '"text":["Hi"]'],
  ...[
    '"x":{"text":"Hi","thought":true}',
    '"text":"Hi","signature":"c2ln"',
    '"text":"Hi","role":"Ho"',
  ],
  ...['"x":{"data":"Hi","mime_type":"image/png","text":"Ho"}', '"text":"Hi"},"type":"ping","x":{'],
  ...[
    '"text":"Hi"},"usage":{"output_tokens":7',
    '"text":"Hi"},"error":{',
    '"text":"Hi"},"error":null,"x":{',
  ],
].flatMap((members) => {
  const data = `data: {"type":"content_block_delta","index":0,"delta":{${members}} }\n\n`;
  return [`event: content_block_delta\n${data}`, data, `event: message_delta\n${data}`];
});

const fraction = fc.double({ min: 0, max: 1, noNaN: true });

/** The smaller ones: changes in them are as likely to meet as to miss each other. */
const small = streams.filter(([, { length }]) => length < 12_000);

describe('a changed stream', () => {
  it('is recorded as its parsed events are, however it is changed and cut', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...small),
        fc.array(change, { minLength: 1, maxLength: 6 }),
        fc.array(fraction, { maxLength: 3 }),
        ([, bytes], changes, cuts) => {
          const whole = Buffer.from(changed(latin1(bytes), changes), 'latin1');
          const ends = [...cuts.map((cut) => Math.floor(cut * whole.length)), whole.length];
          ends.sort((a, b) => a - b);
          expectSame(ends.map((end, index) => whole.subarray(ends[index - 1] ?? 0, end)));
        },
      ),
      { ...often, numRuns: isFull ? 30_000 : runsOf(1_500) },
    );
  });

  it('is recorded as its parsed events are if few shapes of deltas repeat with any content', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.constantFrom(...shapes), { minLength: 1, maxLength: 2 }),
        fc.array(fc.tuple(fc.nat(), fc.boolean(), fragment), { minLength: 1, maxLength: 16 }),
        (some, deltas) => {
          const events = deltas.map(([index, isPlain, content]) =>
            String(some[index % some.length]).replace('Hi', () => (isPlain ? 'Ho ho' : content)),
          );
          expectSame([Buffer.from(events.join(''), 'latin1')]);
        },
      ),
      { ...often, numRuns: isFull ? 30_000 : runsOf(1_500) },
    );
  });
});
