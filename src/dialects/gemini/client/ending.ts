/** How a candidate ended, from all that was seen of it (TRANSLATION §6.13, §6.14). */
import type { FinishReason } from '../../../canonical/reply.ts';
import { finishMeaning } from './finish-words.ts';

/** How a candidate ended; an `unusable` one has nothing that a caller could take for an answer. */
export interface CandidateEnding {
  readonly unusable: string | undefined;
  readonly reason: FinishReason;
  readonly native: string | undefined;
  readonly message: string | undefined;
}

/** What a candidate, and its prompt, said of the end. */
export interface SeenOfCandidate {
  readonly word: string | undefined;
  readonly message: string | undefined;
  readonly blockReason: string | undefined;
  readonly hasOutput: boolean;
  readonly hasCalls: boolean;
}

/** `content_filter` before `length` before `tool_calls` before `stop` (TRANSLATION §6.13). */
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
      // Google explains even what went well: "Model generated function call(s)."
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
