/** Explains reasons and error codes to operators. */
import { isErrorCode } from '../errors.ts';
import { failureMeanings } from '../failure-meanings.ts';
import type { FailureReason } from '../failure-reasons.ts';
import { codeMeanings } from './code-meanings.ts';

export interface Explained {
  /** What it means; undefined where there is no reason. */
  readonly meaning: string | undefined;
  /** What to do; undefined where there is nothing to do. */
  readonly remedy: string | undefined;
}

export function explained(reason: FailureReason | undefined): Explained {
  if (reason === undefined) return { meaning: undefined, remedy: undefined };
  const { meaning, remedy } = failureMeanings[reason];
  return { meaning, remedy };
}

export function explainedRefusal({
  code,
  reason,
}: {
  readonly code: string;
  readonly reason: FailureReason | undefined;
}): Explained {
  if (reason !== undefined || !isErrorCode(code)) return explained(reason);
  const { meaning, remedy } = codeMeanings[code];
  return { meaning, remedy };
}
