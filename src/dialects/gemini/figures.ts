/**
 * Finds the usage of a native stream: nearly every event repeats it, so it is parsed only when
 * somebody asks, and where its members change.
 */
import { type JsonObject, type JsonValue, parseJson } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { mergedFigures } from '../usage-figures.ts';
import { geminiFigureNames } from './reply-usage.ts';
import { geminiFigures } from './usage.ts';

const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The usage of one stream. */
export interface StreamFigures {
  /** A `usageMetadata` object begins here; `counted` is the content up to its event, in tokens. */
  note(block: Buffer, at: number, counted: number): void;
  /** The last figures, or a floor of what was used; undefined where none came. */
  soFar(counted: number, isWhole: boolean): Usage | undefined;
}

/** None yet. */
export function streamFigures(): StreamFigures {
  let merged: JsonObject | undefined;
  /** The last object: its bytes, its members as one number, and what had been counted with it. */
  let last: Buffer | undefined;
  let lastMembers = 0;
  let countedThen = 0;

  /** What is absurd replaces nothing. */
  const mergeLast = (): void => {
    const parsed: JsonValue = (last && parseJson(last.toString('utf8'))) ?? null;
    const after = mergedFigures(merged, parsed, geminiFigureNames);
    if (merged === undefined || geminiFigures(after) !== undefined) merged = after;
  };

  return {
    note: (block, at, counted) => {
      const { end, members, hasCounts } = look(block, at);
      if (last !== undefined && !hasCounts) return;
      if (last !== undefined && members !== lastMembers) mergeLast();
      last = block.subarray(at, end);
      lastMembers = members;
      countedThen = counted;
    },
    soFar: (counted, isWhole) => {
      mergeLast();
      const usage = geminiFigures(merged);
      if (usage === undefined || isWhole) return usage;
      const since = usage.outputTokens === 0 ? counted : counted - countedThen;
      return { ...usage, outputTokens: usage.outputTokens + since };
    },
  };
}

/** Where the object ends, which members it has, and whether any of its numbers is above zero. */
function look(
  block: Buffer,
  at: number,
): { readonly end: number; readonly members: number; readonly hasCounts: boolean } {
  let depth = 0;
  let members = 0;
  let hasCounts = false;
  for (let index = at; index < block.length; index += 1) {
    const byte = block[index] ?? 0;
    if (byte >= 0x30 && byte <= 0x39) hasCounts ||= byte > 0x30;
    else members = (Math.imul(members, 31) + byte) | 0;
    if (byte === openBrace) depth += 1;
    if (byte !== closeBrace) continue;
    depth -= 1;
    if (depth === 0) return { end: index + 1, members, hasCounts };
  }
  return { end: block.length, members, hasCounts };
}
