/** Distinguishes truncated JSON text from malformed JSON text. */
import { parseBounded } from '../bounded-json.ts';
import { stringEnd } from '../json-strings.ts';

const words: readonly string[] = ['true', 'false', 'null'];
const wholeNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** The beginning of a number. It need not be a valid number yet: `-`, `1.` and `1e+` are not. */
const begunNumber = /^-?(?:(?:0|[1-9]\d*)(?:\.\d*|(?:\.\d+)?[eE][+-]?\d*)?)?$/;
const word = /[-+.\w]+/y;

/** What may come next in a text; `first` is the beginning of a container, which may be its end. */
type Expected = 'value' | 'first_value' | 'name' | 'first_name' | 'colon' | 'comma' | 'nothing';

interface Position {
  readonly text: string;
  at: number;
  expected: Expected;
  /** The closing brackets of the open containers, the innermost last. */
  readonly closers: string[];
}

/**
 * Whether the text is the beginning of a JSON value, but not the whole of it. Text such as `{a:1`,
 * which no further characters could make valid, is malformed and not truncated. The content of
 * strings isn't checked, because models write raw line breaks and wrong escapes into them.
 */
export function isCutJson(text: string): boolean {
  // The parser of the engine is much faster, and nearly all texts are whole.
  if (parseBounded(text) !== undefined) return false;
  const position: Position = { text, at: 0, expected: 'value', closers: [] };
  skipSpace(position);
  if (position.at === text.length) return false;
  while (position.at < text.length) {
    const isValid = step(position);
    if (!isValid) return false;
    skipSpace(position);
  }
  return position.expected !== 'nothing';
}

/** Moves past one token, which may be incomplete; returns whether it is allowed here. */
function step(position: Position): boolean {
  const { text, expected, closers } = position;
  const token = text[position.at] ?? '';
  if (token === closers.at(-1)) return close(position);
  switch (expected) {
    case 'nothing':
      return false;
    case 'colon':
      return skip(position, token === ':', 'value');
    case 'comma':
      return skip(position, token === ',', closers.at(-1) === '}' ? 'name' : 'value');
    case 'name':
    case 'first_name':
      return token === '"' && string(position, 'colon');
    default:
      return value(position, token);
  }
}

function value(position: Position, token: string): boolean {
  if (token === '"') return string(position, afterValue(position));
  if (token === '{' || token === '[') {
    position.closers.push(token === '{' ? '}' : ']');
    return skip(position, true, token === '{' ? 'first_name' : 'first_value');
  }
  const start = position.at;
  word.lastIndex = start;
  const found = word.exec(position.text)?.[0] ?? '';
  const end = start + found.length;
  const isLast = end === position.text.length;
  position.at = end;
  // At the end of the text it is not known whether the word is complete.
  position.expected = isLast ? 'value' : afterValue(position);
  return found !== '' && (isLast ? isBegun(found) : isWhole(found));
}

function isBegun(found: string): boolean {
  return words.some((one) => one.startsWith(found)) || begunNumber.test(found);
}

function isWhole(found: string): boolean {
  return words.includes(found) || wholeNumber.test(found);
}

/** A container may be closed after a value or at its beginning, but not after a comma. */
function close(position: Position): boolean {
  const { expected, closers } = position;
  if (expected !== 'comma' && !expected.startsWith('first_')) return false;
  closers.pop();
  return skip(position, true, afterValue(position));
}

function skip(position: Position, isValid: boolean, expected: Expected): boolean {
  position.at += 1;
  position.expected = expected;
  return isValid;
}

/** A string without its closing quote is the last token of a truncated text. */
function string(position: Position, expected: Expected): boolean {
  const { text } = position;
  const end = stringEnd(text, position.at + 1);
  position.at = Math.min(end + 1, text.length);
  position.expected = end < text.length ? expected : 'value';
  return true;
}

function afterValue({ closers }: Position): Expected {
  return closers.length > 0 ? 'comma' : 'nothing';
}

function skipSpace(position: Position): void {
  const { text } = position;
  while (' \t\r\n'.includes(text[position.at] ?? 'end')) position.at += 1;
}
