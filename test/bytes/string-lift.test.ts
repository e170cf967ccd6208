/** Strings lifted out of a document as it streams past, however it is cut. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type LiftPlace, stringLift } from '../../src/bytes/json/stream/string-lift.ts';
import { jsonText, readText, seeded } from './json-arbitrary.ts';

/** What was heard of a document, cut where asked; pieces of one string are joined. */
function heard(text: string, makeRoot: (log: Log) => LiftPlace, cuts: readonly number[] = []) {
  const lines: string[] = [];
  let piece = '';
  const lift = stringLift(
    makeRoot({
      text: (json) => lines.push(`text ${json}`),
      begins: () => lines.push('begins'),
      string: {
        begins: () => {
          piece = '';
          return true;
        },
        piece: (bytes) => {
          piece += Buffer.from(bytes).toString('latin1');
        },
        ends: () => lines.push(`string ${Buffer.from(piece, 'latin1').toString('utf8')}`),
      },
    }),
  );
  const bytes = Buffer.from(text);
  const ends = [...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length];
  let start = 0;
  for (const end of ends.toSorted((a, b) => a - b)) {
    // A copy that is spoilt afterwards: chunks may be used again by whoever pushes them.
    const chunk = Buffer.from(bytes.subarray(start, end));
    lift.write(chunk);
    chunk.fill(0);
    start = end;
  }
  return { lines, isWhole: lift.isWhole() };
}

type Log = Required<Pick<LiftPlace, 'text' | 'begins' | 'string'>>;

const picked = ({ text, begins, string }: Log): LiftPlace => ({
  members: {
    list: { begins, elements: { begins, members: { data: { string }, note: { text } } } },
    figures: { text },
  },
});

describe('a string lift', () => {
  it('hands on strings and texts at the places named, in their order', () => {
    const text =
      '{"other":{"data":"no","figures":1},"list":[{"note":7,"data":"one"},{"data":"two"}],' +
      '"figures":{"a":[1,2]}}';

    const { lines, isWhole } = heard(text, picked);

    expect(lines).toEqual([
      'begins',
      'begins',
      'text 7',
      'string one',
      'begins',
      'string two',
      'text {"a":[1,2]}',
    ]);
    expect(isWhole).toBe(true);
  });

  it('hears the same however the document is cut', () => {
    const text =
      '{"list" : [ {"n\\u006fte":"ü","d\\u0061ta":"a\\/b\\u002bc\\"ä"}, 3, ["data","x"],' +
      ' {"data":""} ],' +
      '"figures":[{"figures":1}], "list":[]}';
    const whole = heard(text, picked);

    for (let cut = 0; cut <= Buffer.byteLength(text); cut += 1) {
      expect(heard(text, picked, [cut])).toEqual(whole);
    }
    expect(heard(text, picked, [...Buffer.from(text).keys()])).toEqual(whole);
    expect(whole.lines).toContain('string a\\/b\\u002bc\\"ä');
  });

  it('passes over a place whose value is of another kind', () => {
    const { lines } = heard(
      '{"list":{"data":"no"},"figures":null,"list":[{"data":["no"]},{"data":5},"data"]}',
      picked,
    );

    expect(lines).toEqual(['begins', 'text null', 'begins', 'begins', 'begins', 'begins']);
  });

  it('hands on nothing of a string that is not wanted', () => {
    const pieces: Uint8Array[] = [];
    const lift = stringLift({
      string: {
        begins: () => false,
        piece: (bytes) => pieces.push(bytes),
        ends: () => pieces.push(Buffer.from('end')),
      },
    });

    lift.write(Buffer.from('"unwanted"'));

    expect(pieces).toEqual([]);
    expect(lift.isWhole()).toBe(true);
  });

  it('gives up the text of a value that is too long to keep', () => {
    const long = JSON.stringify('x'.repeat(20_000));

    const { lines, isWhole } = heard(`{"figures":${long},"list":[]}`, picked, [5_000, 19_000]);

    expect(lines).toEqual(['text undefined', 'begins']);
    expect(isWhole).toBe(true);
  });

  it.each([
    '{"list":[{"data":"hal',
    '{"list":[]',
    '{"list":[]}}',
    '{"list":[}',
    '',
  ])('does not call %j whole', (text) => {
    expect(heard(text, picked).isWhole).toBe(false);
  });

  it('hands on views of the chunk, not copies', () => {
    const pieces: Uint8Array[] = [];
    const lift = stringLift({
      string: { begins: () => true, piece: (bytes) => pieces.push(bytes), ends: () => {} },
    });
    const chunk = Buffer.alloc(65_536, 'A');

    lift.write(Buffer.from('"'));
    lift.write(chunk);

    expect(pieces.at(-1)?.buffer).toBe(chunk.buffer);
    expect(pieces.at(-1)).toHaveLength(chunk.length);
  });

  it('finds in any JSON what reading it finds, wherever it is cut', () => {
    const cuts = fc.array(fc.nat(400), { maxLength: 6 });
    const root = ({ string, text }: Log): LiftPlace => ({
      members: { lifted: { string }, kept: { text } },
    });

    fc.assert(
      fc.property(jsonText, jsonText, cuts, (first, second, at) => {
        const text = `{"lifted":${first},"other":{"kept":${first}},"kept":${second}}`;

        const { lines } = heard(text, root, at);

        const value = readText(first);
        const strings = lines.filter((line) => line.startsWith('string '));
        const texts = lines.filter((line) => line.startsWith('text '));
        expect(strings.map((line) => JSON.parse(`"${line.slice(7)}"`))).toEqual(
          typeof value === 'string' ? [value] : [],
        );
        expect(texts).toEqual([`text ${second}`]);
      }),
      seeded,
    );
  });
});
