// suite: slow
/** A body in chunks, with long strings elided, reads the same as in one buffer. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { operations } from '../../src/apis.ts';
import { wholeBody } from '../../src/bytes/body/body.ts';
import { bodyFromChunks } from '../../src/bytes/body/elide.ts';
import { spliceMembers } from '../../src/bytes/body/splice.ts';
import { parsePart, scanBody } from '../../src/bytes/json/scan/body.ts';
import { scanJson } from '../../src/bytes/json/scan/scan.ts';
import { root, type Tape } from '../../src/bytes/json/tape.ts';
import { isGatewayError } from '../../src/errors.ts';
import { readChat } from '../../src/protocols/chat/protocol.ts';
import { readImages } from '../../src/protocols/images/protocol.ts';
import { readNative } from '../../src/protocols/native/read.ts';
import { routeSettings } from '../support/route-settings.ts';
import { runsOf } from '../support/sample.ts';
import { often } from './json-arbitrary.ts';
import { membersIn, tapeOf } from './scanned.ts';

const long = 40_000;
const runs = { ...often, numRuns: runsOf(150) };

/** Strings just long enough to be elided, or just too short, with contents that might break it. */
const filling = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.integer({ min: 0, max: 150_000 }).map((length) => 'A'.repeat(length)),
  },
  fc.constantFrom('\\"', '\\\\', '\\n', '\\u0041', 'é', '😀', '~', ' ', '{', ':,[]{}', ''),
);
const string = fc.array(filling, { maxLength: 6 }).map((parts) => `"${parts.join('')}"`);
const short = fc.constantFrom('1', 'null', '"x"', '[]', '{"a":[1,"b"]}', `${'1,'.repeat(9)}1`);
const chatBody = fc
  .tuple(string, string, string, short)
  .map(
    ([text, url, user, other]) =>
      `{"model":"m","user":${user},"messages":[{"role":"user","content":[` +
      `{"type":"text","text":${text}},{"type":"image_url","image_url":{"url":${url}}}]}],` +
      `"x":[${other}]}`,
  );

describe('a body with long strings', () => {
  it('is the same for any chunks', () => {
    fc.assert(
      fc.property(chatBody, cuts(), (text, sizes) => {
        const bytes = Buffer.from(text);

        const scanned = scannedOf(cut(bytes, sizes));

        const members = membersIn(tapeOf(bytes));
        expect(membersIn(scanned).map(({ name }) => name)).toEqual(members.map(({ name }) => name));
        for (const { name, value } of members) {
          const same = bytes.subarray(value.start, value.end);
          expect(scanned.raw(scanned.get(root, name)).equals(same)).toBe(true);
        }
      }),
      runs,
    );
  });

  it('is measured and edited as if received in one chunk', () => {
    fc.assert(
      fc.property(chatBody, cuts(), (text, sizes) => {
        const bytes = Buffer.from(text);
        const edits = [{ name: 'model', value: '"other"' }];

        const scanned = scannedOf(cut(bytes, sizes));
        const whole = wholeOf(bytes);

        const target = {
          operation: operations.content,
          framing: 'json',
          modelId: undefined,
        } as const;
        expect(readChat(scanned, target).demand).toEqual(readChat(whole, target).demand);
        const spliced = Buffer.concat(spliceMembers(scanned, edits));
        const expected = Buffer.concat(spliceMembers(whole, edits));
        expect(spliced.equals(expected)).toBe(true);
      }),
      runs,
    );
  });

  it('is refused at the same byte, wherever it is', () => {
    const bad = fc.constantFrom(0x22, 0x5c, 0x2c, 0x7d, 0x80, 0xc3, 0xff);

    fc.assert(
      fc.property(chatBody, cuts(), fc.nat(), bad, (text, sizes, place, byte) => {
        const bytes = Buffer.from(text);
        bytes[place % bytes.length] = byte;

        expect(outcomeOf(() => scannedOf(cut(bytes, sizes)))).toEqual(
          outcomeOf(() => scanJson(bytes)),
        );
      }),
      runs,
    );
  });

  it('is refused at the same control character when scanned or parsed', () => {
    const control = fc.constantFrom(0, 0x0a, 0x1f);

    fc.assert(
      fc.property(chatBody, cuts(), fc.nat(), control, (text, sizes, place, byte) => {
        const bytes = Buffer.from(text);
        bytes[place % bytes.length] = byte;

        expect(outcomeOf(() => parsed(scannedOf(cut(bytes, sizes))))).toEqual(
          outcomeOf(() => scanJson(bytes)),
        );
      }),
      runs,
    );
  });

  const around = [6, 4102, 4103, 4104, 4105, 4106, long, 2 * long + 2, 2 * long + 5];

  it.each([0x00, 0x08, 0x0a, 0x0d, 0x1f])('may not hold the byte %i anywhere', (byte) => {
    for (const place of around) {
      const bytes = Buffer.from(`{"a":"${'A'.repeat(2 * long)}","b":1}`);
      bytes[place] = byte;

      expect(outcomeOf(() => parsed(scannedOf([bytes])))).toMatchObject({
        reason: 'invalid_json',
        message: expect.stringContaining(`at byte ${place}.`),
      });
    }
  });

  it('is not checked for control characters in elisions until it is parsed', () => {
    const bytes = Buffer.from(`{"a":"${'A'.repeat(2 * long)}","b":1}`);
    bytes[long] = 0x0a;

    const tape = scannedOf([bytes]);

    expect(membersIn(tape).map(({ name }) => name)).toEqual(['a', 'b']);
    expect(Buffer.concat(spliceMembers(tape, [])).equals(bytes)).toBe(true);
  });

  it('has most of its bytes elided, and is sent upstream without copying', () => {
    const pieces = cut(chatWith('A'.repeat(300_000)), [65_536]);

    const tape = scannedOf(pieces);
    const { body } = tape;
    const sent = spliceMembers(tape, [{ name: 'model', value: '"b"' }]);

    expect(body.text.length).toBeLessThan(10_000);
    expect(body.elisions).toHaveLength(1);
    const own = new Set(pieces.map(({ buffer }) => buffer));
    expect(sent.filter(({ buffer }) => !own.has(buffer)).map(String)).toEqual(['"b"']);
  });

  it('in one chunk is not copied either', () => {
    const bytes = chatWith('A'.repeat(300_000));

    const { body } = scannedOf([bytes]);

    expect(body.text.length).toBeLessThan(10_000);
    expect(body.chunks[0]).toBe(bytes);
  });

  it('is not elided if most of it is not long strings', () => {
    const words = 'a \\"quoted\\" word\\n';
    const bytes = chatWith(words.repeat(5_000) + 'A'.repeat(long));

    const { body } = scannedOf(cut(bytes, [16_384]));

    expect(body.elisions).toEqual([]);
    expect(body.text.equals(bytes)).toBe(true);
  });

  it('may contain a list of numbers, or one number, of any length', () => {
    for (const value of [`[${'1,'.repeat(2 * long)}1]`, '1'.repeat(2 * long)]) {
      const bytes = Buffer.from(`{"a":${value}}`);

      expect(scannedOf([bytes]).body.text.equals(bytes)).toBe(true);
    }
  });

  it('that is scanned in full after all is not held twice', () => {
    const body = bodyFromChunks([Buffer.from(`{"a":[${'1,'.repeat(2 * long)}1]}`)], 4 * long + 8);
    const shortened = body.text.length;

    const scanned = scanBody(body);

    expect(shortened).toBeLessThan(long);
    expect(scanned.body).toBe(body);
    expect(body.chunks).toEqual([body.text]);
    expect(body.chunks[0]?.buffer).toBe(body.text.buffer);
  });

  it('is refused if a name is elided', () => {
    const bytes = Buffer.from(`{"${'A'.repeat(2 * long)}":1}`);

    expect(outcomeOf(() => scannedOf(cut(bytes, [20_000])))).toMatchObject({
      reason: 'name_too_long',
    });
  });

  it('has the full value of a member that is read', () => {
    const id = 'm'.repeat(2 * long);
    const bytes = Buffer.from(`{"model":"${id}","prompt":"${'p'.repeat(2 * long)}"}`);

    const target = { operation: operations.images, modelId: undefined, framing: 'json' } as const;
    const readBody = (scanned: Tape) => readImages(scanned, target, routeSettings);

    const { modelId, demand } = readBody(scannedOf(cut(bytes, [30_000])));

    expect(modelId).toBe(id);
    expect(demand).toEqual(readBody(wholeOf(bytes)).demand);
  });

  it('counts the elided bytes of a native call, except for images', () => {
    const target = { modelId: 'm', operation: operations.content, framing: 'json' } as const;
    const data = 'A'.repeat(3 * long);
    const parts = [{ inlineData: { data } }, { text: data }, { own: data }, data];
    const bytes = Buffer.from(JSON.stringify({ contents: [{ parts }], tools: [data] }));

    const { demand } = readNative(scannedOf(cut(bytes, [50_000])), target);

    expect(demand.prompt.textBytes).toBeGreaterThan(12 * long);
    expect(demand).toEqual(readNative(wholeOf(bytes), target).demand);
  });
});

/** Parses a whole scanned body. */
function parsed({ body }: Tape): unknown {
  return parsePart(body, 0, body.text.length);
}

/** Chunk sizes, used repeatedly; some are smaller than a word. */
function cuts(): fc.Arbitrary<readonly number[]> {
  const large = fc.integer({ min: 1000, max: 70_000 });
  return fc
    .tuple(large, fc.array(fc.oneof(large, fc.integer({ min: 1, max: 80 })), { maxLength: 3 }))
    .map(([first, others]) => [first, ...others]);
}

function cut(bytes: Buffer, sizes: readonly number[]): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = sizes[pieces.length % sizes.length] ?? bytes.length;
    pieces.push(Buffer.from(bytes.subarray(at, at + size)));
    at += size;
  }
  return pieces;
}

function scannedOf(pieces: readonly Uint8Array[]): Tape {
  return scanBody(bodyFromChunks(pieces, Buffer.concat(pieces).length));
}

/** Scanned without elision. */
function wholeOf(text: Buffer): Tape {
  return scanBody(wholeBody(text));
}

function chatWith(url: string): Buffer {
  const image = `{"type":"image_url","image_url":{"url":"${url}"}}`;
  return Buffer.from(`{"model":"m","messages":[{"role":"user","content":[${image}]}]}`);
}

/** The message of the error, or `ok`. */
function outcomeOf(scan: () => unknown): unknown {
  try {
    scan();
    return 'ok';
  } catch (error) {
    if (isGatewayError(error)) return { reason: error.reason, message: error.message };
    throw error;
  }
}
