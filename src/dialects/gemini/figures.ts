/**
 * Finds the usage of a native stream: nearly every event repeats it, so it is parsed only when
 * somebody asks, and where its members change.
 */
import { splitUsage, type UsageGap } from '../../canonical/reply.ts';
import { type JsonObject, parseJson } from '../../json.ts';
import type { Usage } from '../../money.ts';
import { mergedUsage } from '../usage-counts.ts';
import { geminiFigureNames, geminiGap, geminiReplyUsage, geminiStated } from './reply-usage.ts';

/**
 * A part of each name that a charge depends on. A search goes from one first letter to the next, so
 * each begins with one that is rare here.
 */
const countNames = ['ptTokenCount', 'UsePromptToken', 'datesToken', 'ghtsToken', 'ContentToken'];

/** The usage of one stream. */
export interface StreamFigures {
  /**
   * `usage` begins as a `usageMetadata` object, whatever stands behind it, as latin1; `counted` is
   * the content up to its event, in tokens. False for zeros behind figures, which are ignored.
   */
  note(usage: string, counted: number): boolean;
  /** The last figures, or a floor of what was used; undefined where none came. */
  soFar(counted: number, isWhole: boolean): Usage | undefined;
}

const countAboveZero = /TokenCount"\s*:\s*[1-9]/;
/** A member that states no count: `null`, a fraction, a string. */
const oddCount = /TokenCount"\s*:\s*(?!\d+\s*[,}])/;

/** None yet. */
export function streamFigures(): StreamFigures {
  let merged: JsonObject | undefined;
  /** The last object, its members, and what had been counted with it. */
  let last: string | undefined;
  let lastMembers = 0;
  let countedAtLast = 0;
  /** What the last object leaves open that was merged, and what had been counted at the figures. */
  let gap: UsageGap;
  let countedThen = 0;

  const mergeLast = (): void => {
    if (last === undefined) return;
    const parsed = parseJson(last.slice(0, objectEnd(last)));
    const stated = geminiStated(merged, parsed);
    const after = mergedUsage(merged, stated, geminiFigureNames);
    gap = geminiGap(stated);
    if (gap !== 'output') countedThen = countedAtLast;
    // What is absurd replaces nothing.
    if (merged === undefined || geminiReplyUsage(after) !== undefined) merged = after;
  };

  return {
    note: (usage, counted) => {
      const members = membersIn(usage);
      if (last !== undefined) {
        if (!countAboveZero.test(usage)) return false;
        if (members !== lastMembers) mergeLast();
      }
      last = usage;
      lastMembers = members;
      countedAtLast = counted;
      return true;
    },
    soFar: (counted, isWhole) => {
      mergeLast();
      const figures = geminiReplyUsage(merged);
      if (figures === undefined) return undefined;
      const usage = splitUsage(figures, countedThen);
      // The settlement counts an output of which nothing was stated, and says so in the record.
      if (isWhole && (gap !== 'output' || usage.outputTokens === 0)) return usage;
      const since = usage.outputTokens === 0 ? counted : counted - countedThen;
      return { ...usage, outputTokens: usage.outputTokens + since };
    },
  };
}

/** Whether the figures at the end of these events have all members that those before have. */
export function areLastFiguresFull(events: string, last: string): boolean {
  if (!countAboveZero.test(last) || oddCount.test(last)) return false;
  for (const name of countNames) {
    if (!last.includes(name) && events.includes(name)) return false;
  }
  return true;
}

/** The members that a charge depends on, a bit for each. */
function membersIn(usage: string): number {
  if (oddCount.test(usage)) return -1;
  let members = 0;
  for (const name of countNames) members = (members << 1) | (usage.includes(name) ? 1 : 0);
  return members;
}

const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Where the object ends that the text begins with; its strings are words without braces. */
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
