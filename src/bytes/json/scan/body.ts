/**
 * Scans a request body, with or without elided strings: at once, or in sections so that other calls
 * can run in between.
 */
import { setImmediate } from 'node:timers/promises';
import { type GatewayError, isGatewayError } from '../../../errors.ts';
import { mayHoldExactNumbers, parseExactly } from '../../../exact-numbers.ts';
import { type JsonValue, parseJson } from '../../../json.ts';
import { type Body, joinedBody, originalBytes } from '../../body/body.ts';
import { afterCell, endCell, nameCell, Tape, type Value } from '../tape.ts';
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
import {
  addValue,
  afterColon,
  bodyStart,
  type JsonScan,
  type JsonWalk,
  jsonWalk,
  maxDepth,
  scanJson,
  scanOf,
  tooDeep,
} from './scan.ts';

/** @throws GatewayError as `scanJson` does */
export function scanBody(body: Body): Tape {
  try {
    return tapeOf(body, scanJson(body.text));
  } catch (error) {
    if (body.elisions.length === 0 || !isGatewayError(error)) throw error;
    // The elided text is not valid JSON: either the body is not, and a scan of all of it finds the
    // right offset, or it is, and an elision lies inside a long list of numbers. The full text
    // replaces the elided one in every holder of this body, so that its memory is not taken twice.
    Object.assign(body, joinedBody(body.chunks));
    return tapeOf(body, scanJson(body.text));
  }
}

/** Texts up to this size are scanned without yielding to the event loop. */
export const largeTextBytes = 1_048_576;

/** As {@link scanBody}, but yields after each section: for texts of more than 1 MiB. */
export async function scanBodyInTurns(body: Body): Promise<Tape> {
  try {
    return tapeOf(body, await scanText(body.text));
  } catch (error) {
    if (body.elisions.length === 0 || !isGatewayError(error)) throw error;
    Object.assign(body, joinedBody(body.chunks));
    return tapeOf(body, await scanText(body.text));
  }
}

function tapeOf(body: Body, { cells, definesTools }: JsonScan): Tape {
  return new Tape(body, cells, definesTools);
}

async function scanText(text: Uint8Array): Promise<JsonScan> {
  const scan = scanInSteps(text);
  for (;;) {
    const step = scan.next();
    await setImmediate();
    if (step.done === true) return step.value;
  }
}

/**
 * Parses the value between `start` and `end` of the text of a scanned body, with its elided bytes.
 *
 * @throws GatewayError `invalid_request` with the reason `invalid_json` if an elision contains a
 * control character
 */
export function parsePart(
  body: Body,
  start: number,
  end: number,
  parse: (text: string) => JsonValue | undefined = parseJson,
): JsonValue {
  const value = parse(originalBytes(body, start, end).toString('utf8'));
  if (value === undefined) throw findElidedFault(body) ?? invalidJson(0);
  return value;
}

/**
 * The parsed value. Meant for small ones: a large string is copied.
 *
 * @throws GatewayError as {@link parsePart} does
 */
export function parsedValue(tape: Tape, value: Value): JsonValue {
  const start = tape.start(value);
  const end = tape.end(value);
  if (tape.length(value) !== end - start) return parsePart(tape.body, start, end);
  if (tape.isString(value)) return tape.text(value);
  const parsed = parseJson(tape.bytes.toString('utf8', start, end));
  if (parsed === undefined) throw invalidJson(start);
  return parsed;
}

/**
 * Parses a whole scanned body as `parseExactly` does. Only its text is searched for numbers that a
 * double would change: elisions contain none, and a large body is mostly elided.
 *
 * @throws GatewayError as {@link parsePart} does
 */
export function parseBodyExactly(body: Body): JsonValue {
  const isPlain = !mayHoldExactNumbers(body.text.toString('latin1'));
  return parsePart(body, 0, body.text.length, isPlain ? parseJson : parseExactly);
}

/**
 * Looks for the one error that the scan of an elided body misses, a control character in an
 * elision, by scanning all of its bytes.
 */
export function findElidedFault({ elisions, chunks }: Body): GatewayError | undefined {
  if (elisions.length === 0) return undefined;
  try {
    scanJson(joinedBody(chunks).text);
    return undefined;
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}

/** Takes at most about a hundredth of a second. */
const sectionBytes = 256 * 1024;

/**
 * As `scanJson`, but each `next()` scans one section: 32 MiB of small values take a third of a
 * second. Recursion can't be interrupted, so this has a list of open containers. A single string is
 * never split: it costs far less than the same number of bytes in small values.
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
