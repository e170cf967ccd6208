// suite: slow runtime
/** Numbers that a double would change keep their text, and all others stay numbers. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonText } from '../src/canonical/raw-json.ts';
import { mayHoldExactNumbers, numberFrom, parseExactly } from '../src/exact-numbers.ts';
import { isExactNumber, numberOf, parseJson } from '../src/json.ts';
import { hostileNumbers, jsonWithNumbers, numbersIn, sameNumbers } from './support/numbers.ts';

const printed = (text: string): string => jsonText(parseExactly(text));

describe('a number that a double would change', () => {
  it.each(hostileNumbers)('keeps its text: %s', (text) => {
    expect(printed(text)).toBe(text);
    expect(printed(`{"a":[${text},{"b" : ${text} }]}`)).toBe(`{"a":[${text},{"b":${text}}]}`);
    expect(isExactNumber(numberFrom(text))).toBe(true);
  });

  it('is the nearest double in calculations', () => {
    expect(numberOf(parseExactly('0.1000000000000000055'))).toBe(0.1);
    expect(numberOf(parseExactly('1e400'))).toBe(Number.POSITIVE_INFINITY);
  });

  it('is kept under the name __proto__, and under a duplicate name', () => {
    expect(printed('{"__proto__":{"__proto__":1e400}}')).toBe('{"__proto__":{"__proto__":1e400}}');
    expect(printed('{"a":1e400,"a":2}')).toBe('{"a":2}');
    expect(printed('{"a":2,"a":1e400}')).toBe('{"a":1e400}');
  });

  it('is found below a million levels', () => {
    const levels = 1_000_000;

    expect(parseExactly(`${'['.repeat(levels)}1e400${']'.repeat(levels)}`)).toBeDefined();
  });
});

describe('any other number', () => {
  it.each([
    '0',
    '-1',
    '0.1',
    '1.0',
    '1e2',
    '1.50E+3',
    '5e-324',
    '1.7976931348623157e308',
    '9007199254740992',
    '123456789012345680000',
    '0.000000000000000000000',
    '100000000000000000000000000000000000000000000000000',
    '-0.317253053188324',
  ])('is the number that JSON.parse returns: %s', (text) => {
    expect(parseExactly(text)).toBe(parseJson(text));
  });

  it('is not confused with strings that look like numbers', () => {
    const text = '{"a":"1e400","b":"[9007199254740993,","c":"\\\\","d":"\\",-0","e":[1e400]}';

    expect(printed(text)).toBe(text);
    expect(parseExactly('{"a":"[1e400,"}')).toEqual({ a: '[1e400,' });
  });
});

it('reads any JSON without changing a number, and otherwise as JSON.parse does', () => {
  const law = fc.property(jsonWithNumbers, (text) => {
    expect(sameNumbers(numbersIn(printed(text)), numbersIn(text))).toBe(true);
    expect(parseJson(printed(text))).toEqual(parseJson(text));
  });

  fc.assert(law, { seed: 13, numRuns: 500 });
});

it('finds every such number in the quick check', () => {
  const law = fc.property(jsonWithNumbers, (text) => {
    const has = numbersIn(text).some((number) => isExactNumber(numberFrom(number)));

    expect(has && !mayHoldExactNumbers(text)).toBe(false);
  });

  fc.assert(law, { seed: 14, numRuns: 500 });
});

it('takes no longer for many zeros than for other digits', () => {
  const zeros = `1${'0'.repeat(200_000)}1`;

  expect(printed(`[${zeros}.${zeros}]`)).toBe(`[${zeros}.${zeros}]`);
});

it.each([
  '',
  '{',
  '[1e400',
  '01',
  '1e',
  '{"a":}',
])('returns undefined for invalid JSON: %j', (text) => {
  expect(parseExactly(text)).toBeUndefined();
});
