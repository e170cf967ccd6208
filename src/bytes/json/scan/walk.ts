/** Walks JSON values by recursion, up to a maximum depth. */
import { GatewayError } from '../../../errors.ts';
import { afterCell, cellsPerValue, endCell, nameCell, type Value } from '../tape.ts';
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
export function valueEnd(walk: JsonWalk, at: number, depth: number, name: number): number {
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
