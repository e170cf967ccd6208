/**
 * Finds the values of a JSON object, and refuses any body that two parsers might read differently:
 * the gateway could check one model and the upstream run another. The error names what is at the
 * faulty byte.
 */
import { isUtf8 } from 'node:buffer';
import { GatewayError, isGatewayError } from '../../../errors.ts';
import { isLikeOwnSecret } from '../../../secret.ts';
import { afterCell, cellsPerValue, endCell, nameCell, type Value } from '../tape.ts';
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  invalidJson,
  isSpace,
  type JsonText,
  jsonText,
  openBrace,
  openBracket,
  quote,
  scalarEnd,
  spaceEnd,
  stringEnd,
} from '../text.ts';
import { addName, type MemberNames, namesAt } from './member-names.ts';

/** The maximum nesting: deeper bodies could overflow the stack of recursive code elsewhere. */
export const maxDepth = 64;
const maxValues = 500_000;
/** With those of the root. */
const maxCells = (maxValues + 1) * cellsPerValue;

export interface JsonScan {
  readonly cells: Int32Array;
  /** An object below the top level has a member of a name in `definitionNames`. */
  readonly definesTools: boolean;
}

/** The state of a walk through one body. Changed only by the functions in this file. */
export interface JsonWalk {
  readonly text: JsonText;
  readonly namesByDepth: MemberNames[];
  cells: Int32Array;
  /** The number of cells so far: four for each value. */
  length: number;
}

/** Starts a walk, with cells that may be used again when it has ended. */
export function jsonWalk(text: JsonText, cells: Int32Array): JsonWalk {
  return { text, namesByDepth: [], cells, length: 0 };
}

export function scanOf(walk: JsonWalk): JsonScan {
  return { cells: walk.cells.slice(0, walk.length), definesTools: definesTools(walk) };
}

/** Adds a value to the tape; its other cells are written when its end is known. */
export function addValue(walk: JsonWalk): Value {
  const value = walk.length;
  if (value === walk.cells.length) grow(walk);
  walk.length = value + cellsPerValue;
  return value;
}

/** @throws GatewayError `invalid_request` with the reason `too_many_values` */
function grow(walk: JsonWalk): void {
  if (walk.length >= maxCells) throw tooManyValues();
  const cells = new Int32Array(Math.min(2 * walk.cells.length, maxCells));
  cells.set(walk.cells);
  walk.cells = cells;
}

function definesTools({ namesByDepth }: JsonWalk): boolean {
  for (let depth = 1; depth < namesByDepth.length; depth += 1) {
    if (namesByDepth[depth]?.definesTools === true) return true;
  }
  return false;
}

/**
 * The end of the value at `at`; `depth` is the number of containers around it, `name` the offset
 * of its name.
 */
function valueEnd(walk: JsonWalk, at: number, depth: number, name: number): number {
  // As `addValue`, inlined because it runs for every value.
  const value = walk.length;
  if (value === walk.cells.length) grow(walk);
  walk.length = value + cellsPerValue;
  const first = walk.text.bytes[at];
  let end: number;
  if (first === quote) end = stringEnd(walk.text, at);
  else if (first !== openBrace && first !== openBracket) end = scalarEnd(walk.text, at);
  else if (depth === maxDepth) throw tooDeep(at);
  else end = first === openBrace ? objectEnd(walk, at, depth) : arrayEnd(walk, at, depth);
  const { cells } = walk;
  cells[value] = at;
  cells[value + endCell] = end;
  cells[value + afterCell] = walk.length;
  cells[value + nameCell] = name;
  return end;
}

function objectEnd(walk: JsonWalk, start: number, depth: number): number {
  const { bytes } = walk.text;
  let at = bytes[start + 1] === quote ? start + 1 : spaceEnd(bytes, start + 1);
  if (bytes[at] === closeBrace) return at + 1;

  const names = namesAt(walk.namesByDepth, depth);
  for (;;) {
    const value = afterColon(bytes, addName(names, walk.text, at));
    at = valueEnd(walk, value, depth + 1, at);
    if (bytes[at] !== comma && bytes[at] !== closeBrace) at = spaceEnd(bytes, at);
    if (bytes[at] !== comma) break;
    at += 1;
    if (bytes[at] !== quote) at = spaceEnd(bytes, at);
  }
  if (bytes[at] !== closeBrace) throw invalidJson(at);
  return at + 1;
}

function arrayEnd(walk: JsonWalk, start: number, depth: number): number {
  const { bytes } = walk.text;
  let at = spaceEnd(bytes, start + 1);
  if (bytes[at] === closeBracket) return at + 1;

  for (;;) {
    at = valueEnd(walk, at, depth + 1, 0);
    if (bytes[at] !== comma && bytes[at] !== closeBracket) at = spaceEnd(bytes, at);
    if (bytes[at] !== comma) break;
    at = spaceEnd(bytes, at + 1);
  }
  if (bytes[at] !== closeBracket) throw invalidJson(at);
  return at + 1;
}

export function afterColon(bytes: Uint8Array, at: number): number {
  const end = bytes[at] === colon ? at : spaceEnd(bytes, at);
  if (bytes[end] !== colon) throw invalidJson(end);
  return bytes[end + 1] === quote ? end + 1 : spaceEnd(bytes, end + 1);
}

export function tooDeep(at: number): GatewayError {
  return new GatewayError(
    'invalid_request',
    `The request body is nested deeper than ${maxDepth} levels at byte ${at}. Flatten it.`,
    { reason: 'too_deep' },
  );
}

function tooManyValues(): GatewayError {
  return new GatewayError(
    'invalid_request',
    `The request body has more than ${maxValues} values. Send fewer.`,
    { reason: 'too_many_values' },
  );
}

/** The cells of every body that needs no more; a scan is one turn. */
const scratch = new Int32Array(16_384);

/**
 * Scans a body. Runs once, before the body is used to authorise anything and before any
 * `JSON.parse`.
 *
 * @throws GatewayError `invalid_request` with the reason `invalid_json`, `not_an_object`,
 * `duplicate_key` (at any depth, by decoded names), `name_too_long` (over 4,096 bytes), `too_deep`
 * (over 64 levels), `too_many_values` (over 500,000, or 10,000 members in one object), `bom` or
 * `invalid_utf8`
 */
export function scanJson(body: Uint8Array): JsonScan {
  const text = jsonText(body);
  const walk = jsonWalk(text, scratch);
  const end = valueEnd(walk, bodyStart(body), 0, 0);
  const rest = spaceEnd(text.bytes, end);
  if (rest !== text.bytes.length) throw invalidJson(rest);
  return scanOf(walk);
}

/** The offset of the opening brace of the body. @throws GatewayError as `scanJson` does */
export function bodyStart(body: Uint8Array): number {
  checkEncoding(body);
  const start = body[0] === openBrace ? 0 : spaceEnd(body, 0);
  if (start === body.length) throw invalidJson(start);
  if (body[start] !== openBrace) throw notAnObject();
  return start;
}

function checkEncoding(body: Uint8Array): void {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new GatewayError(
      'invalid_request',
      'The request body begins with a byte order mark (BOM). Send it without one.',
      { reason: 'bom' },
    );
  }
  if (!isUtf8(body)) {
    throw new GatewayError(
      'invalid_request',
      'The request body is not valid UTF-8. Send JSON encoded as UTF-8.',
      { reason: 'invalid_utf8' },
    );
  }
}

function notAnObject(): GatewayError {
  return new GatewayError('invalid_request', 'The request body must be one JSON object: {…}.', {
    reason: 'not_an_object',
  });
}

/** The same error, or one whose message names what is at its byte of `text`. */
export function explainFault(error: unknown, text: Uint8Array): unknown {
  if (!isGatewayError(error) || error.atByte === undefined) return error;
  const { code, reason, atByte } = error;
  const message =
    reason === 'duplicate_key' ? duplicateName(text, atByte) : invalidText(text, atByte);
  return message === undefined
    ? error
    : new GatewayError(code, message, { ...(reason && { reason }) });
}

function duplicateName(text: Uint8Array, start: number): string | undefined {
  const name = Buffer.from(text.subarray(start, text.indexOf(quote, start))).toString('latin1');
  if (!/^[\w.-]{1,64}$/.test(name) || isLikeOwnSecret(name)) return undefined;
  return `The request body has \`${name}\` twice in one object, at byte ${start}. Send it once.`;
}

function invalidText(text: Uint8Array, at: number): string {
  if (text.every(isSpace)) return `The request body is empty. ${sendObject}`;
  if (at >= text.length) {
    return `The request body is not valid JSON: it ends too early, at byte ${at}. ${sendObject}`;
  }
  const fault = `The request body is not valid JSON at byte ${at}:`;
  const byte = text[at] ?? 0;
  if ((byte === closeBrace || byte === closeBracket) && followsComma(text, at)) {
    return `${fault} \`${String.fromCharCode(byte)}\` follows a comma. Remove that comma.`;
  }
  if (byte === apostrophe) return `${fault} \`'\` is there. JSON has double quotes.`;
  return `${fault} ${described(byte)} is there. ${sendObject}`;
}

const apostrophe = 0x27;
const backtick = 0x60;
const sendObject = 'Send one JSON object (RFC 8259).';

function followsComma(text: Uint8Array, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && isSpace(text[before] ?? 0)) before -= 1;
  return text[before] === comma;
}

function described(byte: number): string {
  if (byte > 0x7e) return 'a character that is not ASCII';
  const isShown = byte > 0x20 && byte !== backtick;
  return isShown
    ? `\`${String.fromCharCode(byte)}\``
    : `the byte 0x${byte.toString(16).padStart(2, '0')}`;
}
