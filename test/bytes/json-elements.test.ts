// suite: quick
/** Splitting a JSON array into elements, for any chunks. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elementCutter } from '../../src/bytes/json/stream/elements.ts';

const unlimited = 1024 * 1024;

describe('elementCutter', () => {
  it.each([
    ['objects', '[{"a":1},{"b":2}]\n', ['[{"a":1}', ',{"b":2}', ']'], '\n'],
    ['Google’s line ends', '[{"a":1}\n,\r\n{"b":2}\n]', ['[{"a":1}', '\n,\r\n{"b":2}', '\n]'], ''],
    ['brackets in strings', '[{"a":"]}\\"["}]', ['[{"a":"]}\\"["}', ']'], ''],
    ['nested containers', '[{"a":[{"b":[]}]}]', ['[{"a":[{"b":[]}]}', ']'], ''],
    ['arrays and words', '[[1,2],"x" ,3]', ['[[1,2]', ',"x"', ' ,3', ']'], ''],
    ['none', ' [ ] ', [' [ ]'], ' '],
  ])('returns %s with the bytes before each', (_, array, pieces, rest) => {
    expect(splitAll([array])).toEqual({ pieces, rest, closed: true });
  });

  it.each([
    ['half an element', '[{"a":1},{"b"', ['[{"a":1}'], ',{"b"'],
    ['a comma', '[{"a":1},', ['[{"a":1}'], ','],
    ['a bracket', '[', [], '['],
    ['an object', '{"error":{"code":1}}', [], '{"error":{"code":1}}'],
    ['a web page', '<html>{a}[b]</html>', [], '<html>{a}[b]</html>'],
    ['what follows a mistake', '[{"a":1}{"b":2},{"c":3}]', ['[{"a":1}'], '{"b":2},{"c":3}]'],
  ])('holds back %s', (_, array, pieces, rest) => {
    expect(splitAll([array])).toEqual({ pieces, rest, closed: false });
  });

  it('returns nothing that follows the array', () => {
    expect(splitAll(['[1]', '[2] {"a":1}'])).toEqual({
      pieces: ['[1', ']'],
      rest: '[2] {"a":1}',
      closed: true,
    });
  });

  it('returns the same elements and loses no byte, for any chunks', () => {
    const element = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant({ 'a]"': '\\"}' }));

    fc.assert(
      fc.property(
        fc.array(element, { maxLength: 5 }),
        fc.integer({ min: 1, max: 9 }),
        (all, size) => {
          const array = JSON.stringify(all, null, 1);
          const chunks = array.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
          const isCut = splitAll(chunks);

          expect(isCut).toEqual(splitAll([array]));
          expect(isCut.pieces.join('') + isCut.rest).toBe(array);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('refuses an element above the limit while it is arriving', () => {
    const cutter = elementCutter(100);
    cutter.push(Buffer.from(`[{"a":"${'x'.repeat(80)}"}`));
    cutter.push(Buffer.from(`,{"b":"${'x'.repeat(80)}`));

    expect(() => cutter.push(Buffer.alloc(20, 'x'))).toThrow('event_too_large');
  });
});

function splitAll(chunks: readonly string[]) {
  const cutter = elementCutter(unlimited);
  const pieces = chunks.flatMap((chunk) => cutter.push(Buffer.from(chunk)));
  return {
    pieces: pieces.map((piece) => Buffer.from(piece).toString()),
    rest: Buffer.from(cutter.rest()).toString(),
    closed: cutter.closed(),
  };
}
