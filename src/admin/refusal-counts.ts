/** Sums of refusals by code and reason, each with its explanation. */
import { type FailureReason, isFailureReason } from '../failure-reasons.ts';
import { type Explained, explainedRefusal } from './explained.ts';
import { latestDetail, type SeenRefusals } from './seen-refusals.ts';

/** How often requests were refused for one reason. */
export interface RefusalCount extends Explained {
  /** `other` for all kinds after the first 16 of a minute. */
  readonly code: string;
  readonly reason: FailureReason | undefined;
  readonly count: number;
  /**
   * What the latest of them in this process named: the member, the path, the limit, or the model
   * that is not served. Undefined if nothing of the request is to blame, or none is remembered.
   */
  readonly detail: string | undefined;
}

/** A part of a sum; `reason` is `''` where there is none. */
export interface CountedRefusals {
  readonly code: string;
  readonly reason: string;
  readonly count: number;
}

/** The sums, most frequent first; `seen` is what is remembered, of one key or of all. */
export function refusalCounts(
  parts: readonly CountedRefusals[],
  seen: SeenRefusals,
  keyId?: string,
): readonly RefusalCount[] {
  const sums = new Map<string, CountedRefusals>();
  for (const { code, reason, count } of parts) {
    const name = `${code}\n${reason}`;
    sums.set(name, { code, reason, count: count + (sums.get(name)?.count ?? 0) });
  }
  return [...sums.values()]
    .sort((one, other) => other.count - one.count)
    .map(({ code, reason: name, count }) => {
      const reason = isFailureReason(name) ? name : undefined;
      const detail = latestDetail(seen, { code, reason }, keyId);
      return { code, reason, count, detail, ...explainedRefusal({ code, reason }) };
    });
}
