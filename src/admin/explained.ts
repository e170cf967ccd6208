/** Reasons in words, for operators. */
import { failureMeanings } from '../failure-meanings.ts';
import type { FailureReason } from '../failure-reasons.ts';

/** A reason in the words of docs/events.md. */
export interface Explained {
  /** What it means; undefined where there is no reason. */
  readonly meaning: string | undefined;
  /** What to do; undefined where there is nothing to do. */
  readonly remedy: string | undefined;
}

/** What a reason means, and what to do about it. */
export function explained(reason: FailureReason | undefined): Explained {
  if (reason === undefined) return { meaning: undefined, remedy: undefined };
  const { meaning, remedy } = failureMeanings[reason];
  return { meaning, remedy };
}
