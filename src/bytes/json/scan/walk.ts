/** Walks JSON values by recursion, up to a maximum depth. */
import { GatewayError } from '../../../errors.ts';
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  invalidJson,
  type JsonText,
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

/** The state of a walk through one body. Changed only by the functions in this file. */
export interface JsonWalk {
  readonly text: JsonText;
  /** The names seen in the object that is open at each depth. */
  readonly namesByDepth: MemberNames[];
  /** The number of values so far. */
  values: number;
}

/** Starts a walk. */
export function jsonWalk(text: JsonText): JsonWalk {
  return { text, namesByDepth: [], values: 0 };
}

/** Whether an object below the top level has had one of `definitionNames`. */
export function definesTools({ namesByDepth }: JsonWalk): boolean {
  for (let depth = 1; depth < namesByDepth.length; depth += 1) {
    if (namesByDepth[depth]?.definesTools === true) return true;
  }
  return false;
}

/** Counts a value. @throws GatewayError `invalid_request` with the reason `too_many_values` */
export function countValue(walk: JsonWalk): void {
  walk.values += 1;
  if (walk.values > maxValues) throw tooManyValues();
}

/** The end of the value at `at`; `depth` is the number of containers around it. */
export function valueEnd(walk: JsonWalk, at: number, depth: number): number {
  // As `countValue`, inlined because it runs for every value.
  walk.values += 1;
  if (walk.values > maxValues) throw tooManyValues();
  const first = walk.text.bytes[at];
  if (first === quote) return stringEnd(walk.text, at);
  if (first !== openBrace && first !== openBracket) return scalarEnd(walk.text, at);
  if (depth === maxDepth) throw tooDeep(at);
  return first === openBrace ? objectEnd(walk, at, depth) : arrayEnd(walk, at, depth);
}

function objectEnd(walk: JsonWalk, start: number, depth: number): number {
  const { bytes } = walk.text;
  let at = bytes[start + 1] === quote ? start + 1 : spaceEnd(bytes, start + 1);
  if (bytes[at] === closeBrace) return at + 1;

  const names = namesAt(walk.namesByDepth, depth);
  for (;;) {
    const value = afterColon(bytes, addName(names, walk.text, at));
    at = valueEnd(walk, value, depth + 1);
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
    at = valueEnd(walk, at, depth + 1);
    if (bytes[at] !== comma && bytes[at] !== closeBracket) at = spaceEnd(bytes, at);
    if (bytes[at] !== comma) break;
    at = spaceEnd(bytes, at + 1);
  }
  if (bytes[at] !== closeBracket) throw invalidJson(at);
  return at + 1;
}

/** The offset of the value after the colon that follows a name. */
export function afterColon(bytes: Uint8Array, at: number): number {
  const end = bytes[at] === colon ? at : spaceEnd(bytes, at);
  if (bytes[end] !== colon) throw invalidJson(end);
  return bytes[end + 1] === quote ? end + 1 : spaceEnd(bytes, end + 1);
}

/** The error for nesting that is too deep; `at` is the offset of the opening bracket. */
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
