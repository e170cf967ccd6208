/**
 * Parses JSON without changing its numbers. `JSON.parse` reads every number as a double, so that
 * `9007199254740993` becomes `9007199254740992`, and `1e400` becomes `Infinity`, which prints as
 * `null`. Node 20 supports neither source text in revivers nor `JSON.rawJSON`.
 */
import {
  isJsonObject,
  items,
  type JsonNumber,
  type JsonValue,
  member,
  parseJson,
  sourceText,
} from './json.ts';
import { quote, stringEnd } from './json-strings.ts';

/**
 * Like {@link parseJson}, but a number that a double would change becomes an {@link ExactNumber}.
 * Other numbers may be printed differently, but with the same value: `1.0` as `1`, `1e2` as `100`.
 */
export function parseExactly(text: string): JsonValue | undefined {
  const value = parseJson(text);
  return value !== undefined && mayHoldExactNumbers(text) ? withExactNumbers(value, text) : value;
}

/**
 * Whether valid JSON may contain a number that a double would change. A false result is certain; a
 * true one may be caused by the contents of a string. Takes a quarter of the time of a parse.
 */
export function mayHoldExactNumbers(text: string): boolean {
  return mayBeInexact.test(text);
}

export function changesAsDoubles(json: string): boolean {
  return mayHoldExactNumbers(json) && withQuotedNumbers(json) !== undefined;
}

/**
 * Matches all numbers that may change: a double keeps all decimals of up to 15 digits, except the
 * sign of zero.
 */
const mayBeInexact = /(?:^|[[,:\s])(?:-?\d[\d.]{15}|-?\d[\d.]*[eE]|-0)/;

export function numberFrom(text: string): JsonNumber {
  return isExactAsDouble(text) ? Number(text) : { [sourceText]: text };
}

/**
 * Whether `JSON.parse` and `JSON.stringify` preserve the number. Compares decimals: no double is
 * exactly 0.1, but the nearest one prints as `0.1`.
 */
function isExactAsDouble(text: string): boolean {
  const number = Number(text);
  const printed = String(number);
  if (printed === text) return !Object.is(number, -0);
  if (!Number.isFinite(number)) return false;
  const before = decimal(text);
  // `String` returns `0` for -0.
  const after = decimal(printed);
  return (
    before.isNegative === after.isNegative &&
    before.digits === after.digits &&
    before.exponent === after.exponent
  );
}

interface Decimal {
  readonly isNegative: boolean;
  /** Without leading and trailing zeros; empty for zero. */
  readonly digits: string;
  /** The number of digits before the decimal point. */
  readonly exponent: number;
}

function decimal(text: string): Decimal {
  const isNegative = text.startsWith('-');
  const [mantissa = '', exponent = '0'] = text.slice(isNegative ? 1 : 0).split(/[eE]/);
  const [whole = '', fraction = ''] = mantissa.split('.');
  const all = whole + fraction;
  // Loops, because a regular expression for trailing zeros takes quadratic time in rows of zeros.
  let first = 0;
  while (all[first] === '0') first += 1;
  let end = all.length;
  while (end > first && all[end - 1] === '0') end -= 1;
  if (first === end) return { isNegative, digits: '', exponent: 0 };
  const digits = all.slice(first, end);
  return { isNegative, digits, exponent: Number(exponent) + whole.length - first };
}

/**
 * Inserts exact numbers into a parsed value. The text is parsed again with each such number quoted
 * as a string; where the two results differ, an exact number belongs. So no string in the text can
 * pass for a number.
 */
function withExactNumbers(value: JsonValue, text: string): JsonValue {
  const quoted = withQuotedNumbers(text);
  if (quoted === undefined) return value;
  const texts = parseJson(quoted);
  const root: JsonValue[] = [value];
  // A work list instead of recursion, because the depth of a reply is unbounded.
  const pending: [JsonValue, JsonValue][] = [[root, [texts ?? null]]];
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [numbers, strings] = pair;
    for (const [name, string] of entriesOf(strings)) {
      const number = valueAt(numbers, name);
      if (typeof number === 'number' && typeof string === 'string') {
        Reflect.set(Object(numbers), name, { [sourceText]: string });
      } else if (typeof number === 'object' && number !== null && typeof string === 'object') {
        pending.push([number, string]);
      }
    }
  }
  return root[0] ?? null;
}

function valueAt(value: JsonValue, name: string | number): JsonValue | undefined {
  return typeof name === 'number' ? items(value)[name] : member(value, name);
}

function entriesOf(value: JsonValue): Iterable<[string | number, JsonValue]> {
  if (Array.isArray(value)) return items(value).entries();
  return isJsonObject(value) ? Object.entries<JsonValue>(value) : [];
}

/** Quotes each number that a double would change; undefined if there is none. */
function withQuotedNumbers(text: string): string | undefined {
  const pieces: string[] = [];
  let done = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = stringEnd(text, at + 1) + 1;
    } else if (code === minus || isDigit(code)) {
      const end = numberEnd(text, at);
      const token = text.slice(at, end);
      if (!isExactAsDouble(token)) {
        pieces.push(text.slice(done, at), `"${token}"`);
        done = end;
      }
      at = end;
    } else {
      at += 1;
    }
  }
  return pieces.length === 0 ? undefined : pieces.join('') + text.slice(done);
}

const minus = 0x2d;

function numberEnd(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && isInNumber(text.charCodeAt(end))) end += 1;
  return end;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isInNumber(code: number): boolean {
  return (
    isDigit(code) || code === 0x2e || code === 0x2b || code === minus || (code | 0x20) === 0x65
  );
}
