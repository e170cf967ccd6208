// suite: quick
/** Distinguishes a JSON text that was cut off from text that is invalid. */
import { describe, expect, it } from 'vitest';
import { isCutJson } from '../../../src/canonical/cut-json.ts';
import { parseJson } from '../../../src/json.ts';

const texts = [
  '{"a":"x\\u00fc\\"y","b":[1,-2.5e+10,{"c":null,"d":true}],"e":{},"f":[], "g" : false }',
  ' [1, "a", [[], {}], 0.5, -0 ] ',
  '"text"',
  'false',
  '{"path":"/tmp/😀","content":"{\\"a\\":[1"}',
];

describe.each(texts)('%s', (text) => {
  it('was cut wherever it stops, unless that part is valid itself', () => {
    for (let end = 0; end < text.length; end += 1) {
      const part = text.slice(0, end);
      const isCut = part.trim() !== '' && parseJson(part) === undefined;

      expect([part, isCutJson(part)]).toEqual([part, isCut]);
    }
  });

  it('was not cut', () => {
    expect(isCutJson(text)).toBe(false);
  });
});

it.each([
  '{a:1}',
  '{a:1',
  "{'a':1}",
  '{"a":1,}',
  '{"a":}',
  '{"a" 1',
  '{} {',
  '{"a":1}}',
  '{"a":1]',
  'Paris',
  '[1 2',
  '{"a":tru,',
  '{"a":01',
  '{"a":1.e',
  '{"a":"x\ny"}',
  '{,',
  '[,',
])('%j is wrong, whatever follows', (text) => {
  expect(isCutJson(text)).toBe(false);
});

it('raw line breaks in strings do not hide a cut', () => {
  expect(isCutJson('{"a":"x\ny')).toBe(true);
});

it('long and deep texts are read', () => {
  expect(isCutJson(`{"a":"${'x\\n'.repeat(100_000)}`)).toBe(true);
  expect(isCutJson('[{"a":'.repeat(100_000))).toBe(true);
});
