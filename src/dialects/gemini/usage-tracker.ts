/**
 * Tracks the usage of a native stream. Nearly every event repeats it, so that it is parsed only on
 * demand, or when its members change.
 */
import { parseBounded } from '../../bounded-json.ts';
import { splitUsage, type UsageGap } from '../../canonical/reply.ts';
import type { JsonObject } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { mergedUsage } from '../usage-counts.ts';
import {
  geminiGap,
  geminiReplyUsage,
  geminiUsageMembers,
  withImpliedOutput,
} from './reply-usage.ts';

/**
 * Distinctive parts of the names of the counts that affect the charge. Each begins with a letter
 * that is rare in events, because a text search skips from one first letter to the next.
 */
const countNames = ['ptTokenCount', 'UsePromptToken', 'datesToken', 'ghtsToken', 'ContentToken'];

/** Tracks the usage of one stream. */
export interface UsageTracker {
  /**
   * Records a `usageMetadata` object.
   *
   * @param usage latin1 text that begins with the object; any text may follow
   * @param counted the content up to and including its event, in tokens
   * @returns false for zero counts after non-zero ones, which are ignored
   */
  record(usage: string, counted: number): boolean;
  /**
   * The last usage, or a lower bound if the stream isn't complete; undefined if none was received.
   */
  soFar(counted: number, isFinal: boolean): Usage | undefined;
}

const countAboveZero = /TokenCount"\s*:\s*[1-9]/;
/** A member that isn't a valid count: `null`, a fraction or a string. */
const invalidCount = /TokenCount"\s*:\s*(?!\d+\s*[,}])/;

/** The usage of one stream so far. */
interface TrackerState {
  merged: JsonObject | undefined;
  /** The last object, a bit mask of its members, and the tokens counted up to it. */
  last: string | undefined;
  lastMembers: number;
  countedAtLast: number;
  /** The missing part of the last merged object. */
  gap: UsageGap;
  /** The tokens counted up to the last stated output. */
  countedThen: number;
}

/** Creates a tracker without any usage. */
export function newUsageTracker(): UsageTracker {
  const state: TrackerState = {
    merged: undefined,
    last: undefined,
    lastMembers: 0,
    countedAtLast: 0,
    gap: undefined,
    countedThen: 0,
  };
  return {
    record: (usage, counted) => {
      const members = membersIn(usage);
      if (state.last !== undefined) {
        if (!countAboveZero.test(usage)) return false;
        if (members !== state.lastMembers) mergeLast(state);
      }
      state.last = usage;
      state.lastMembers = members;
      state.countedAtLast = counted;
      return true;
    },
    soFar: (counted, isFinal) => usageSoFar(state, counted, isFinal),
  };
}

function mergeLast(state: TrackerState): void {
  const { last, merged } = state;
  if (last === undefined) return;
  const parsed = parseBounded(last.slice(0, objectEnd(last)));
  const stated = withImpliedOutput(merged, parsed);
  const after = mergedUsage(merged, stated, geminiUsageMembers);
  state.gap = geminiGap(stated);
  if (state.gap !== 'output') state.countedThen = state.countedAtLast;
  // An invalid object doesn't replace a valid one.
  if (merged === undefined || geminiReplyUsage(after) !== undefined) state.merged = after;
}

function usageSoFar(state: TrackerState, counted: number, isFinal: boolean): Usage | undefined {
  mergeLast(state);
  const { merged, gap, countedThen } = state;
  const read = geminiReplyUsage(merged);
  if (read === undefined) return undefined;
  const usage = splitUsage(read, countedThen);
  // If no output was stated, the settlement counts it and marks the record accordingly.
  if (isFinal && (gap !== 'output' || usage.outputTokens === 0)) return usage;
  const since = usage.outputTokens === 0 ? counted : counted - countedThen;
  return { ...usage, outputTokens: usage.outputTokens + since };
}

/** Whether the last usage object of these events has every count that earlier ones have. */
export function isLastUsageComplete(events: string, last: string): boolean {
  if (!countAboveZero.test(last) || invalidCount.test(last)) return false;
  for (const name of countNames) {
    if (!last.includes(name) && events.includes(name)) return false;
  }
  return true;
}

/** A bit mask of the counts that affect the charge. */
function membersIn(usage: string): number {
  if (invalidCount.test(usage)) return -1;
  let members = 0;
  for (const name of countNames) members = (members << 1) | (usage.includes(name) ? 1 : 0);
  return members;
}

const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The end of the object at the start of the text. Its strings never contain braces. */
function objectEnd(text: string): number {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === openBrace) depth += 1;
    if (code === closeBrace) depth -= 1;
    if (depth === 0) return index + 1;
  }
  return text.length;
}
