/** Maps Gemini's finish reasons to the common ones, and decides which of several counts. */
import type { FinishReason } from '../../../canonical/reply.ts';

/** The meaning of a finish reason. `unusable`: the tool call that the model intended is missing. */
export interface FinishMeaning {
  readonly reason: Exclude<FinishReason, 'tool_calls'> | 'unusable';
  /** Whether the common reason is as specific as Gemini's. */
  readonly isExact: boolean;
}

const stop: FinishMeaning = { reason: 'stop', isExact: true };
const other: FinishMeaning = { reason: 'other', isExact: false };
const filtered: FinishMeaning = { reason: 'content_filter', isExact: false };
const unusable: FinishMeaning = { reason: 'unusable', isExact: false };

const meanings: ReadonlyMap<string, FinishMeaning> = new Map([
  ['STOP', stop],
  ['MAX_TOKENS', { reason: 'length', isExact: true }],
  ['CONTINUATION', { reason: 'length', isExact: false }],
  ['SAFETY', { reason: 'content_filter', isExact: true }],
  ['BLOCKLIST', filtered],
  ['PROHIBITED_CONTENT', filtered],
  ['SPII', filtered],
  ['RECITATION', filtered],
  ['IMAGE_SAFETY', filtered],
  ['IMAGE_PROHIBITED_CONTENT', filtered],
  ['IMAGE_RECITATION', filtered],
  ['MODEL_ARMOR', filtered],
  ['MALFORMED_FUNCTION_CALL', unusable],
  ['MALFORMED_RESPONSE', unusable],
  ['UNEXPECTED_TOOL_CALL', unusable],
  ['TOO_MANY_TOOL_CALLS', unusable],
  ['MISSING_THOUGHT_SIGNATURE', unusable],
]);

/** The meaning of a finish reason; `other` for an unknown one. */
export function finishMeaning(reason: string): FinishMeaning {
  return meanings.get(reason) ?? other;
}

const severities: Readonly<Record<FinishMeaning['reason'], number>> = {
  stop: 0,
  other: 0,
  length: 1,
  content_filter: 2,
  unusable: 3,
};

/**
 * The finish reason that counts if a stream has several: the most severe one, and the last among
 * equals. Google may send STOP with every event.
 */
export function moreSevereFinish(before: string | undefined, after: string): string {
  if (before === undefined) return after;
  const severity = (reason: string): number => severities[finishMeaning(reason).reason];
  return severity(after) >= severity(before) ? after : before;
}
