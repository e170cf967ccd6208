// suite: quick
/** Splitting server-sent events at blank lines, for any framing and any chunks. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatBytes, emptyBytes, eventCutter, parseEvents } from '../../src/bytes/sse.ts';

const unlimited = 1024 * 1024;

describe('eventCutter', () => {
  it.each([
    ['LF', 'data: a\n\n', 'data: b\n\n'],
    ['CRLF', 'data: a\r\n\r\n', 'data: b\r\n\r\n'],
    ['a lone CR', 'data: a\r\r', 'data: b\r\r'],
    ['mixed line ends', 'data: a\n\r\n', 'data: b\r\n\n'],
    ['several lines', ': x\nid: 1\ndata: a\n\n', 'data: b\ndata: c\n\n'],
  ])('splits after %s', (_, first, second) => {
    const cutter = eventCutter(unlimited);

    const whole = text(cutter.push(bytes(`${first}${second}data: c`)));

    expect(whole).toBe(first + second);
    expect(text(cutter.rest())).toBe('data: c');
    expect(text(cutter.rest())).toBe('');
  });

  it('waits at a final CR for a possible LF, and no longer', () => {
    const cutter = eventCutter(unlimited);

    const given = ['data: a\r\n\r', '\ndata: b\r\r', 'data: c\r\r', ''].map((chunk) =>
      text(cutter.push(bytes(chunk))),
    );

    expect(given).toEqual(['', 'data: a\r\n\r\n', 'data: b\r\r', '']);
    expect(text(cutter.rest())).toBe('data: c\r\r');
  });

  it('returns consecutive blank lines as one event', () => {
    expect(parseEvents(bytes('\n\r\n\rdata: a\n\n\n')).map(({ raw }) => text(raw))).toEqual([
      '\n\r\n\r',
      'data: a\n\n',
      '\n',
    ]);
  });

  it('returns the same events and loses no byte, for any chunks', () => {
    const line = fc.constantFrom('data: a', 'data:', ': c', 'x', '', 'data: caf\u00e9');
    const end = fc.constantFrom('\n', '\r\n', '\r');
    const streams = fc.array(fc.tuple(line, end), { maxLength: 12 });
    const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 });

    fc.assert(
      fc.property(streams, lengths, (lines, cuts) => {
        const all = bytes(lines.flat().join(''));
        const cut = splitAll(chunksOf(all, cuts));

        expect(withoutBlankLines(cut)).toEqual(withoutBlankLines(splitAll([all])));
        expect(cut.flat().join('')).toBe(all.toString('latin1'));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([1, 7, 64])('refuses an event above the limit in chunks of %i bytes', (size) => {
    const fits = bytes(`${'a'.repeat(98)}\n\n`);
    const large = bytes(`${'a'.repeat(99)}\n\n`);
    const push = (all: Buffer) => () => splitAll(chunksOf(all, Array(200).fill(size)), 100);

    expect(push(Buffer.concat([fits, fits, fits]))).not.toThrow();
    expect(push(Buffer.concat([fits, large, fits]))).toThrow('event_too_large');
  });

  it('refuses one that arrived complete among others', () => {
    const push = (all: string) => () => eventCutter(10).push(bytes(all));

    expect(push('data: a\n\n'.repeat(9))).not.toThrow();
    expect(push('data: a\n\ndata: abc\n\n')).toThrow('event_too_large');
  });
});

/** Without blank lines, whose grouping depends on the chunks. */
function withoutBlankLines(events: ReturnType<typeof splitAll>): readonly string[] {
  return events.flat().filter((event) => /[^\r\n]/.test(event));
}

describe('parseEvents', () => {
  it.each([
    ['one line of data', 'data: a\n\n', 'a'],
    ['no space', 'data:a\n\n', 'a'],
    ['two spaces', 'data:  a\n\n', ' a'],
    ['several lines', 'data: a\r\ndata: b\r\ndata:\r\n\r\n', 'a\nb\n'],
    ['other fields', 'id: 1\nretry: 2\n: c\nevent: e\ndata: a\n\n', 'a'],
    ['a byte order mark', '\uFEFFdata: a\n\n', 'a'],
    ['no data', ': ping\n\n', undefined],
    ['no blank line', 'data: a', 'a'],
    ['separators that end no line', 'data: a\u2028b\u0085c\n\n', 'a\u2028b\u0085c'],
  ])('reads %s', (_, event, data) => {
    expect(parseEvents(bytes(event))).toMatchObject([{ data, unframedText: '' }]);
  });

  it('reads the name', () => {
    expect(
      parseEvents(bytes('event: error\ndata: a\n\nevent:x\n\n')).map(({ name }) => name),
    ).toEqual(['error', 'x']);
  });

  it('returns unframed text separately', () => {
    const [event] = parseEvents(bytes('data: a\n{\n "error": 1\n}\n\n'));

    expect(event).toMatchObject({ data: 'a', unframedText: '{\n "error": 1\n}' });
  });
});

describe('concatBytes', () => {
  it('does not copy a single chunk', () => {
    const only = bytes('a');

    expect(concatBytes([only])).toBe(only);
    expect(concatBytes([])).toBe(emptyBytes);
    expect(text(concatBytes([only, only]))).toBe('aa');
  });
});

/** The resulting events, with the rest last. */
function splitAll(chunks: readonly Uint8Array[], limit: number = unlimited): readonly string[] {
  const cutter = eventCutter(limit);
  const events = chunks.flatMap((chunk) => parseEvents(cutter.push(chunk)));
  return [...events.map(({ raw }) => latin1(raw)), latin1(cutter.rest())];
}

function chunksOf(all: Buffer, lengths: readonly number[]): readonly Uint8Array[] {
  const ends = lengths.map((_, at) => lengths.slice(0, at + 1).reduce((sum, one) => sum + one, 0));
  return [0, ...ends].map((start, at) => all.subarray(start, ends[at] ?? all.length));
}

function bytes(of: string): Buffer {
  return Buffer.from(of);
}

function text(of: Uint8Array): string {
  return Buffer.from(of).toString();
}

function latin1(of: Uint8Array): string {
  return Buffer.from(of).toString('latin1');
}
