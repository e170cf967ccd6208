/** Determines how a candidate ended from everything that was received. */

import type { FinishReason } from '../../../canonical/reply.ts';
import type { FailureReason } from '../../../failure-reasons.ts';
import { finishMeaning } from './finish-reasons.ts';

/**
 * How a candidate ended. `unusable` is set if the candidate has nothing that a caller could use.
 */
export interface CandidateEnding {
  readonly unusable: FailureReason | undefined;
  readonly reason: FinishReason;
  readonly native: string | undefined;
  readonly message: string | undefined;
}

/** The received facts that determine the ending. */
export interface CandidateFacts {
  readonly finishReason: string | undefined;
  readonly message: string | undefined;
  readonly blockReason: string | undefined;
  readonly hasOutput: boolean;
  readonly hasCalls: boolean;
}

/** The precedence is `content_filter`, `length`, `tool_calls`, `stop`. */
export function endingOf(facts: CandidateFacts): CandidateEnding {
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
