// suite: quick
/** Extracting strings from a streamed document, for any chunks. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ExtractionRule,
  stringExtractor,
} from '../../src/bytes/json/stream/string-extractor.ts';
import { jsonText, often, readText } from './json-arbitrary.ts';

/** The calls made for a document that is cut at `cuts`; the bytes of one string are joined. */
function callsFor(
  text: string,
  makeRoot: (log: Log) => ExtractionRule,
  cuts: readonly number[] = [],
) {
  const lines: string[] = [];
  let piece = '';
  const lift = stringExtractor(
    makeRoot({
      text: (json) => lines.push(`text ${json}`),
      onBegin: () => lines.push('onBegin'),
      string: {
        begin: () => {
          piece = '';
          return true;
        },
        write: (bytes) => {
          piece += Buffer.from(bytes).toString('latin1');
        },
        end: () => lines.push(`string ${Buffer.from(piece, 'latin1').toString('utf8')}`),
      },
    }),
  );
  const bytes = Buffer.from(text);
  const ends = [...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length];
  let start = 0;
  for (const end of ends.toSorted((a, b) => a - b)) {
    // A copy that is overwritten afterwards, because the memory of a chunk may be reused.
    const chunk = Buffer.from(bytes.subarray(start, end));
    lift.write(chunk);
    chunk.fill(0);
    start = end;
  }
  return { lines, isWhole: lift.isWhole() };
}

type Log = Required<Pick<ExtractionRule, 'text' | 'onBegin' | 'string'>>;

const selected = ({ text, onBegin, string }: Log): ExtractionRule => ({
  members: {
    list: { onBegin, elements: { onBegin, members: { data: { string }, note: { text } } } },
    figures: { text },
  },
});

describe('a string extractor', () => {
  it('passes on the selected strings and texts, in order', () => {
    const text =
      '{"other":{"data":"no","figures":1},"list":[{"note":7,"data":"one"},{"data":"two"}],' +
      '"figures":{"a":[1,2]}}';

    const { lines, isWhole } = callsFor(text, selected);

    expect(lines).toEqual([
      'onBegin',
      'onBegin',
      'text 7',
      'string one',
      'onBegin',
      'string two',
      'text {"a":[1,2]}',
    ]);
    expect(isWhole).toBe(true);
  });

  it('makes the same calls for any chunks', () => {
    const text =
      '{"list" : [ {"n\\u006fte":"ü","d\\u0061ta":"a\\/b\\u002bc\\"ä"}, 3, ["data","x"],' +
      ' {"data":""} ],' +
      '"figures":[{"figures":1}], "list":[]}';
    const whole = callsFor(text, selected);

    for (let cut = 0; cut <= Buffer.byteLength(text); cut += 1) {
      expect(callsFor(text, selected, [cut])).toEqual(whole);
    }
    expect(callsFor(text, selected, [...Buffer.from(text).keys()])).toEqual(whole);
    expect(whole.lines).toContain('string a\\/b\\u002bc\\"ä');
  });

  it('skips a selected value of another kind', () => {
    const { lines } = callsFor(
      '{"list":{"data":"no"},"figures":null,"list":[{"data":["no"]},{"data":5},"data"]}',
      selected,
    );

    expect(lines).toEqual(['onBegin', 'text null', 'onBegin', 'onBegin', 'onBegin', 'onBegin']);
  });

  it('passes on nothing of a string that is not wanted', () => {
    const pieces: Uint8Array[] = [];
    const lift = stringExtractor({
      string: {
        begin: () => false,
        write: (bytes) => pieces.push(bytes),
        end: () => pieces.push(Buffer.from('end')),
      },
    });

    lift.write(Buffer.from('"unwanted"'));

    expect(pieces).toEqual([]);
    expect(lift.isWhole()).toBe(true);
  });

  it('drops the text of a value that is too long', () => {
    const long = JSON.stringify('x'.repeat(20_000));

    const { lines, isWhole } = callsFor(`{"figures":${long},"list":[]}`, selected, [5_000, 19_000]);

    expect(lines).toEqual(['text undefined', 'onBegin']);
    expect(isWhole).toBe(true);
  });

  it.each([
    '{"list":[{"data":"hal',
    '{"list":[]',
    '{"list":[]}}',
    '{"list":[}',
    '',
  ])('does not report %j as complete', (text) => {
    expect(callsFor(text, selected).isWhole).toBe(false);
  });

  it('passes on views of the chunk, not copies', () => {
    const pieces: Uint8Array[] = [];
    const lift = stringExtractor({
      string: { begin: () => true, write: (bytes) => pieces.push(bytes), end: () => {} },
    });
    const chunk = Buffer.alloc(65_536, 'A');

    lift.write(Buffer.from('"'));
    lift.write(chunk);

    expect(pieces.at(-1)?.buffer).toBe(chunk.buffer);
    expect(pieces.at(-1)).toHaveLength(chunk.length);
  });

  it('extracts from any JSON the same as JSON.parse, for any chunks', () => {
    const cuts = fc.array(fc.nat(400), { maxLength: 6 });
    const root = ({ string, text }: Log): ExtractionRule => ({
      members: { lifted: { string }, kept: { text } },
    });

    fc.assert(
      fc.property(jsonText, jsonText, cuts, (first, second, at) => {
        const text = `{"lifted":${first},"other":{"kept":${first}},"kept":${second}}`;

        const { lines } = callsFor(text, root, at);

        const value = readText(first);
        const strings = lines.filter((line) => line.startsWith('string '));
        const texts = lines.filter((line) => line.startsWith('text '));
        expect(strings.map((line) => JSON.parse(`"${line.slice(7)}"`))).toEqual(
          typeof value === 'string' ? [value] : [],
        );
        expect(texts).toEqual([`text ${second}`]);
      }),
      often,
    );
  });
});
