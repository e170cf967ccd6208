/**
 * Scans a large body in sections, so that other calls can run in between: 32 MiB of small values
 * take a third of a second. Same grammar as `scan.ts`, but with a list of open containers instead
 * of recursion, which can't be interrupted.
 */
import { afterCell, endCell, nameCell, type Value } from '../tape.ts';
import {
  closeBrace,
  closeBracket,
  comma,
  invalidJson,
  jsonText,
  openBrace,
  openBracket,
  scalarEnd,
  spaceEnd,
} from '../text.ts';
import { addName, namesAt } from './member-names.ts';
import { bodyStart } from './scan.ts';
import {
  addValue,
  afterColon,
  type JsonScan,
  type JsonWalk,
  jsonWalk,
  maxDepth,
  scanOf,
  tooDeep,
} from './walk.ts';

/** Takes at most about a hundredth of a second. */
const sectionBytes = 256 * 1024;

/**
 * As `scanJson`, but each `next()` scans one section. A single string is never split: it costs far
 * less than the same number of bytes in small values.
 *
 * @throws GatewayError from `next()`, as `scanJson` does
 */
export function* scanInSteps(body: Uint8Array): Generator<undefined, JsonScan> {
  const state = initialState(body);
  let sectionEnd = sectionBytes;
  while (state.open.length > 0) {
    if (state.at >= sectionEnd) {
      yield undefined;
      sectionEnd = state.at + sectionBytes;
    }
    if (state.isEmpty || !readValue(state)) endValue(state);
  }
  const rest = spaceEnd(body, state.at);
  if (rest !== body.length) throw invalidJson(rest);
  return scanOf(state.walk);
}

interface ScanState {
  readonly walk: JsonWalk;
  /** Outermost first. */
  readonly open: { readonly value: Value; readonly closing: number }[];
  /** The offset of the next name, value or closing bracket; after a value, its end. */
  at: number;
  /** The container that was opened last is empty. */
  isEmpty: boolean;
}

/** Sections of two bodies may alternate, so that each has cells of its own. */
const firstCells = 65_536;

function initialState(body: Uint8Array): ScanState {
  const walk = jsonWalk(jsonText(body), new Int32Array(firstCells));
  const state: ScanState = { walk, open: [], at: bodyStart(body), isEmpty: false };
  openContainer(state, startValue(walk, state.at, 0), closeBrace);
  return state;
}

function startValue(walk: JsonWalk, start: number, name: number): Value {
  const value = addValue(walk);
  walk.cells[value] = start;
  walk.cells[value + nameCell] = name;
  return value;
}

function openContainer(state: ScanState, value: Value, closing: number): void {
  const { walk, open } = state;
  if (open.length === maxDepth) throw tooDeep(state.at);
  if (closing === closeBrace) namesAt(walk.namesByDepth, open.length);
  open.push({ value, closing });
  state.at = spaceEnd(walk.text.bytes, state.at + 1);
  state.isEmpty = walk.text.bytes[state.at] === closing;
}

/** Of a container it reads only the opening bracket, and returns true. */
function readValue(state: ScanState): boolean {
  const { walk, open } = state;
  const { bytes } = walk.text;
  const isMember = open.at(-1)?.closing === closeBrace;
  const name = isMember ? state.at : 0;
  if (isMember) state.at = readName(state);
  const value = startValue(walk, state.at, name);
  const first = bytes[state.at];
  if (first === openBrace || first === openBracket) {
    openContainer(state, value, first === openBrace ? closeBrace : closeBracket);
    return true;
  }
  state.at = scalarEnd(walk.text, state.at);
  finishValue(walk, value, state.at);
  return false;
}

/** The offset of the value after the name. */
function readName({ walk, open, at }: ScanState): number {
  const depth = open.length - 1;
  const names = walk.namesByDepth[depth] ?? namesAt(walk.namesByDepth, depth);
  return afterColon(walk.text.bytes, addName(names, walk.text, at));
}

function finishValue(walk: JsonWalk, value: Value, end: number): void {
  walk.cells[value + endCell] = end;
  walk.cells[value + afterCell] = walk.length;
}

/** Moves past a value, and past all containers that end with it. */
function endValue(state: ScanState): void {
  const { walk, open } = state;
  const { bytes } = walk.text;
  for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
    if (!state.isEmpty) {
      state.at = spaceEnd(bytes, state.at);
      if (bytes[state.at] === comma) {
        state.at = spaceEnd(bytes, state.at + 1);
        return;
      }
      if (bytes[state.at] !== last.closing) throw invalidJson(state.at);
    }
    state.isEmpty = false;
    state.at += 1;
    open.pop();
    finishValue(walk, last.value, state.at);
  }
}
