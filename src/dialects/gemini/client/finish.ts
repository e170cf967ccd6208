/** Maps Gemini's finish reasons to the common ones, and decides which of several counts. */
import type { FinishReason } from '../../../canonical/reply.ts';
import type { FailureReason } from '../../../failure-reasons.ts';

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

function finishMeaning(reason: string): FinishMeaning {
  return meanings.get(reason) ?? other;
}

const severities: Readonly<Record<FinishMeaning['reason'], number>> = {
  stop: 0,
  other: 0,
  length: 1,
  content_filter: 2,
  unusable: 3,
};

/** Google may send STOP with every event; the last among equals counts. */
export function moreSevereFinish(before: string | undefined, after: string): string {
  if (before === undefined) return after;
  const severity = (reason: string): number => severities[finishMeaning(reason).reason];
  return severity(after) >= severity(before) ? after : before;
}

/** `unusable` is set if the candidate has nothing that a caller could use. */
export interface Finish {
  readonly unusable: FailureReason | undefined;
  readonly reason: FinishReason;
  readonly native: string | undefined;
  readonly message: string | undefined;
}

interface FinishFacts {
  readonly finishReason: string | undefined;
  readonly message: string | undefined;
  readonly blockReason: string | undefined;
  readonly hasOutput: boolean;
  readonly hasCalls: boolean;
}

/** The precedence is `content_filter`, `length`, `tool_calls`, `stop`. */
export function finishOf(facts: FinishFacts): Finish {
  const { finishReason, message, blockReason, hasOutput, hasCalls } = facts;
  const normalReason = hasCalls ? 'tool_calls' : 'stop';
  if (finishReason === undefined && blockReason !== undefined) {
    return { unusable: undefined, reason: 'content_filter', native: blockReason, message };
  }
  if (finishReason === undefined) {
    const unusable = hasOutput ? undefined : 'upstream_empty_response';
    return { unusable, reason: normalReason, native: undefined, message: undefined };
  }
  const meaning = finishMeaning(finishReason);
  const native = meaning.isExact ? undefined : finishReason;
  switch (meaning.reason) {
    case 'stop':
      // Google sends a message even for success, such as "Model generated function call(s)."
      return { unusable: undefined, reason: normalReason, native, message: undefined };
    case 'unusable':
      return { unusable: 'upstream_unusable_output', reason: 'other', native, message };
    case 'other': {
      const unusable = hasOutput ? undefined : 'upstream_empty_response';
      return { unusable, reason: hasCalls ? 'tool_calls' : 'other', native, message };
    }
    default:
      return { unusable: undefined, reason: meaning.reason, native, message };
  }
}
