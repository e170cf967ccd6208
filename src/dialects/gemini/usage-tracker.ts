/**
 * Tracks the usage of a native stream. Nearly every event repeats it, so that it is parsed only on
 * demand, or when its members change.
 */
import { parseBounded } from '../../bounded-json.ts';
import type { Usage } from '../../money.ts';
import { geminiUsageReader, streamUsage } from '../stream-usage.ts';

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
   * @param isComplete the reply is complete with this event
   */
  record(usage: string, counted: number, isComplete: boolean): void;
  /**
   * The final usage, or a lower bound of it while the last one isn't final; undefined if none was
   * received.
   */
  soFar(counted: number): Usage | undefined;
}

const countAboveZero = /TokenCount"\s*:\s*[1-9]/;
/** A member that isn't a valid count: `null`, a fraction or a string. */
const invalidCount = /TokenCount"\s*:\s*(?!\d+\s*[,}])/;

/** Creates a tracker without any usage. */
export function newUsageTracker(): UsageTracker {
  const usage = streamUsage(geminiUsageReader);
  /** The last object, a bit mask of its members, and the tokens counted up to it. */
  let last: string | undefined;
  let lastMembers = 0;
  let countedAtLast = 0;
  let isLastFinal = false;
  const addLast = (): void => {
    if (last === undefined) return;
    usage.add(parseBounded(last.slice(0, objectEnd(last))), countedAtLast, isLastFinal);
  };
  return {
    record: (text, counted, isComplete) => {
      const members = membersIn(text);
      if (last !== undefined) {
        // Zeros after real counts are ignored.
        if (!countAboveZero.test(text)) return;
        if (members !== lastMembers) addLast();
      }
      last = text;
      lastMembers = members;
      countedAtLast = counted;
      isLastFinal = isComplete;
    },
    soFar: (counted) => {
      addLast();
      return usage.soFar(counted);
    },
  };
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
