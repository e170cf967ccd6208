/** Determines how a candidate ended from everything that was received. */
import type { FinishReason } from '../../../canonical/reply.ts';
import { finishMeaning } from './finish-words.ts';

/**
 * How a candidate ended. `unusable` is set if the candidate has nothing that a caller could use.
 */
export interface CandidateEnding {
  readonly unusable: string | undefined;
  readonly reason: FinishReason;
  readonly native: string | undefined;
  readonly message: string | undefined;
}

/** The received facts that determine the ending. */
export interface SeenOfCandidate {
  readonly word: string | undefined;
  readonly message: string | undefined;
  readonly blockReason: string | undefined;
  readonly hasOutput: boolean;
  readonly hasCalls: boolean;
}

/** The precedence is `content_filter`, `length`, `tool_calls`, `stop`. */
export function endingOf(seen: SeenOfCandidate): CandidateEnding {
  const { word, message, blockReason, hasOutput, hasCalls } = seen;
  const plain = hasCalls ? 'tool_calls' : 'stop';
  if (word === undefined && blockReason !== undefined) {
    return { unusable: undefined, reason: 'content_filter', native: blockReason, message };
  }
  if (word === undefined) {
    const unusable = hasOutput ? undefined : 'upstream_empty_response';
    return { unusable, reason: plain, native: undefined, message: undefined };
  }
  const meaning = finishMeaning(word);
  const native = meaning.isWhole ? undefined : word;
  switch (meaning.reason) {
    case 'stop':
      // Google sends a message even for success, such as "Model generated function call(s)."
      return { unusable: undefined, reason: plain, native, message: undefined };
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
