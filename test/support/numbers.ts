/** JSON with numbers that doubles cannot represent, and a comparison of every digit. */
import fc from 'fast-check';

/** Each becomes another number, or none, after `JSON.parse` and `JSON.stringify`. */
export const hostileNumbers: readonly string[] = [
  '9007199254740993',
  '-9007199254740993',
  '12345678901234567890',
  '123456789012345678901234567890',
  '0.1000000000000000055',
  '-0',
  '-0.0',
  '1e400',
  '-1E+400',
  '1e-400',
  '3.141592653589793238',
  `1${'0'.repeat(40)}1`,
  '1e999999999999999999999',
];

const digits = fc.stringMatching(/^(?:0|[1-9]\d{0,24})$/);
const number = fc.oneof(
  fc.constantFrom(...hostileNumbers),
  fc.constantFrom('0', '1', '1.0', '1e2', '-1.5e-3', '0.30000000000000004'),
  fc
    .tuple(
      fc.constantFrom('', '-'),
      digits,
      fc.stringMatching(/^(?:\.\d{1,24})?$/),
      fc.stringMatching(/^(?:[eE][+-]?\d{1,3})?$/),
    )
    .map((parts) => parts.join('')),
);
const string = fc
  .oneof(fc.string(), fc.constantFrom('[1e400,', '",-0', '\\', '\\"', '{"a":9007199254740993}'))
  .map((text) => JSON.stringify(text));
const name = fc
  .oneof(fc.constantFrom('a', 'b', '7', '__proto__', '1e400', 'id'), fc.string())
  .map((text) => JSON.stringify(text));

const { value, object } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    number,
    string,
    fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('value'), { maxLength: 4 }).map((all) => `[${all.join(' , ')}]`),
    tie('object'),
  ),
  object: fc
    .uniqueArray(fc.tuple(name, tie('value')), { maxLength: 4, selector: ([key]) => key })
    .map((all) => `{${all.map(([key, text]) => `${key}: ${text}`).join(', ')}}`),
}));

/** Any JSON value as text. No name occurs twice in one object. */
export const jsonWithNumbers: fc.Arbitrary<string> = value;
/** Any JSON object as text. */
export const objectWithNumbers: fc.Arbitrary<string> = object;

/** The numbers of a JSON text as written, in order. */
export function numbersIn(text: string): readonly string[] {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/gs) ?? [];
  return tokens.filter((token) => !token.startsWith('"'));
}

/** Whether two lists have the same numbers to the last digit, in any order and notation. */
export function sameNumbers(some: readonly string[], others: readonly string[]): boolean {
  const forms = (row: readonly string[]) => JSON.stringify(row.map(plainForm).sort());
  return forms(some) === forms(others);
}

function plainForm(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const all = BigInt(whole + fraction);
  if (all === 0n) return `${sign}0`;
  const significant = String(all).replace(/(?<=[1-9])0+$/, '');
  const zeros = String(all).length - significant.length;
  return `${sign}${significant}e${BigInt(exponent) - BigInt(fraction.length) + BigInt(zeros)}`;
}
