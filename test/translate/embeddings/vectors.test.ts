// suite: quick
/** Vectors between their forms: text digit for digit, floats bit for bit, and unit length. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { base64Of, numberList, readVector } from '../../../src/canonical/vectors.ts';

const keep = { keepsText: true, scalesToUnitLength: false };
const floats = { keepsText: false, scalesToUnitLength: false };
const unit = { keepsText: false, scalesToUnitLength: true };

/** The JSON texts of numbers, as any server may write them. */
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), fc.bigInt({ min: 1n, max: 10n ** 30n }).map(String)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^\.[0-9]{1,25}$/)),
    fc.oneof(fc.constant(''), fc.stringMatching(/^[eE][+-]?[0-7]$/)),
  )
  .map((parts) => parts.join(''));
const space = fc.constantFrom('', ' ', '\n        ', '\t', '\r\n');
const float = fc.float({ noNaN: true, noDefaultInfinity: true });

describe('a vector', () => {
  it('keeps the digits of its numbers, whatever white space is between them', () => {
    fc.assert(
      fc.property(fc.array(numberText, { minLength: 1, maxLength: 40 }), space, (texts, gap) => {
        const vector = readVector(`[${gap}${texts.join(`${gap},${gap}`)}${gap}]`, keep);

        expect(vector && numberList(vector)).toBe(`[${texts.join(',')}]`);
        expect(vector?.length).toBe(texts.length);
      }),
    );
  });

  it('gives every float back, from Base64 and from nine digits', () => {
    fc.assert(
      fc.property(fc.array(float, { minLength: 1 }), (values) => {
        const base64 = Buffer.from(Float32Array.from(values).buffer).toString('base64');
        const vector = readVector(JSON.stringify(base64), floats);
        const list = vector === undefined ? '' : numberList(vector);
        const back = readVector(list, floats);

        expect(vector && base64Of(vector)).toBe(base64);
        // The sign of zero is the one thing that nine digits do not show.
        expect([...JSON.parse(list)].map((value) => Math.fround(value) + 0)).toEqual(
          [...Float32Array.from(values)].map((value) => value + 0),
        );
        expect(back?.length).toBe(values.length);
      }),
    );
  });

  it('packs text as the floats that are nearest to its numbers', () => {
    fc.assert(
      fc.property(fc.array(float, { minLength: 1 }), (values) => {
        const vector = readVector(JSON.stringify(values), keep);

        expect(vector && base64Of(vector)).toBe(
          Buffer.from(Float32Array.from(values, (value) => value + 0).buffer).toString('base64'),
        );
      }),
    );
  });

  it('is scaled to unit length, unless all of it is zero', () => {
    const value = fc.double({ min: -1, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(value, { minLength: 1 }), (values) => {
        const list = JSON.stringify(values);
        const vector = readVector(list, unit);
        const written: readonly number[] = JSON.parse(vector ? numberList(vector) : '[]');
        const length = Math.hypot(...written);
        const own = Math.hypot(...values);

        if (own === 0) expect(length).toBe(0);
        // The squares of smaller numbers are too small for a double.
        else if (own > 1e-100) expect(Math.abs(length - 1)).toBeLessThan(1e-6);
      }),
    );
  });

  it('has the same length from Base64', () => {
    const base64 = Buffer.from(Float32Array.from([3, 4]).buffer).toString('base64');

    const vector = readVector(JSON.stringify(base64), unit);

    expect(vector && numberList(vector)).toBe('[0.600000024,0.800000012]');
  });

  it.each([
    ['null', '[1,null]'],
    ['a number that is no float', '[1e39]'],
    ['a number that is no double', '[1e400]'],
    ['a text', '[1,"2"]'],
    ['a list', '[[1,2]]'],
    ['no number', '[]'],
    ['an object', '{"0":1}'],
    ['no JSON', '[1,'],
    ['NaN', '[NaN]'],
    ['Base64 of five bytes', '"AAAAAAA="'],
    ['an empty string', '""'],
    ['no Base64', '"AAAA{AAA"'],
    [
      'Base64 with a NaN in it',
      `"${Buffer.from(Float32Array.of(1, Number.NaN).buffer).toString('base64')}"`,
    ],
    ['a number', '12'],
  ])('is not read from %s', (_name, json) => {
    for (const form of [keep, floats, unit]) expect(readVector(json, form)).toBeUndefined();
  });
});
