/**
 * The scan of a large body in sections, so that other calls get their turn in between: a body of
 * 32 MiB that is all small values takes a third of a second. The same grammar as `json-scan.ts`,
 * with a list of open containers in place of recursion, which can't stop half-way.
 */
import { decodeString } from '../../decode.ts';
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
import { addName } from './member-names.ts';
import { bodyStart, type JsonScan, type Member } from './scan.ts';
import {
  afterColon,
  countValue,
  type JsonWalk,
  jsonWalk,
  maxDepth,
  namesAt,
  tooDeep,
} from './walk.ts';

/** About a hundredth of a second for the most expensive bytes. */
const sectionBytes = 256 * 1024;

/**
 * As `scanJson`; each `next()` scans a section. A single string is never split: it costs far less
 * than as many bytes of small values.
 *
 * @throws GatewayError from `next()`, as `scanJson` does
 */
export function* scanInSteps(body: Uint8Array): Generator<undefined, JsonScan> {
  const state = begun(body);
  let sectionEnd = sectionBytes;
  while (state.open.length > 0) {
    if (state.at >= sectionEnd) {
      yield undefined;
      sectionEnd = state.at + sectionBytes;
    }
    if (state.isEmpty || !opensContainer(state)) endValue(state);
  }
  const rest = spaceEnd(body, state.at);
  if (rest !== body.length) throw invalidJson(rest);
  return { members: state.members, values: state.walk.values };
}

interface State {
  readonly walk: JsonWalk;
  readonly members: Member[];
  /** The closing bracket of each open container, from the outermost. */
  readonly open: number[];
  /** Where the next name, value or closing bracket is; behind a value, where that ends. */
  at: number;
  /** The container that was opened last is closed at once. */
  isEmpty: boolean;
  /** The member of the body that is being read. */
  member: (Omit<Member, 'value'> & { readonly valueStart: number }) | undefined;
}

function begun(body: Uint8Array): State {
  const at = spaceEnd(body, bodyStart(body) + 1);
  const walk = jsonWalk(jsonText(body));
  namesAt(walk, 0);
  const isEmpty = body[at] === closeBrace;
  return { walk, members: [], open: [closeBrace], at, isEmpty, member: undefined };
}

/** Reads the next value, and its name in an object; of a container only the opening bracket. */
function opensContainer(state: State): boolean {
  const { walk, open } = state;
  const { bytes } = walk.text;
  const value = open.at(-1) === closeBrace ? behindName(state) : state.at;
  countValue(walk);
  const first = bytes[value];
  if (first !== openBrace && first !== openBracket) {
    state.at = scalarEnd(walk.text, value);
    return false;
  }
  if (open.length === maxDepth) throw tooDeep(value);
  if (first === openBrace) namesAt(walk, open.length);
  open.push(first === openBrace ? closeBrace : closeBracket);
  state.at = spaceEnd(bytes, value + 1);
  state.isEmpty = bytes[state.at] === open.at(-1);
  return true;
}

function behindName(state: State): number {
  const { walk, open, at } = state;
  const names = walk.namesByDepth[open.length - 1] ?? namesAt(walk, open.length - 1);
  const end = addName(names, walk.text, at);
  const valueStart = afterColon(walk.text.bytes, end);
  if (open.length === 1) {
    const name = decodeString(walk.text.bytes, at + 1, end - 1);
    state.member = { name, nameSpan: { start: at, end }, valueStart };
  }
  return valueStart;
}

/** Goes on behind a value, and behind all containers that end with it. */
function endValue(state: State): void {
  const { walk, open, members } = state;
  const { bytes } = walk.text;
  while (open.length > 0) {
    if (!state.isEmpty) {
      if (open.length === 1 && state.member !== undefined) {
        const { name, nameSpan, valueStart } = state.member;
        members.push({ name, nameSpan, value: { start: valueStart, end: state.at } });
      }
      state.at = spaceEnd(bytes, state.at);
      if (bytes[state.at] === comma) {
        state.at = spaceEnd(bytes, state.at + 1);
        return;
      }
      if (bytes[state.at] !== open.at(-1)) throw invalidJson(state.at);
    }
    state.isEmpty = false;
    state.at += 1;
    open.pop();
  }
}
