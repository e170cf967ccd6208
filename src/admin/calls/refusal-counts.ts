/**
 * The refusals that this process remembers, and sums of refusals by code and reason, each with its
 * explanation.
 */
import { type FailureReason, isFailureReason } from '../../failure-reasons.ts';
import { type Explained, explainedRefusal, type SeenRefusal } from './summary.ts';

/** How often requests were refused for one reason. */
export interface RefusalCount extends Explained {
  /** `other` for all kinds after the first 16 of a minute. */
  readonly code: string;
  /** More specific than the code. */
  readonly reason: FailureReason | undefined;
  /** How many requests were refused so. */
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

export const maxSeenRefusals = 400;

interface SeenKind {
  /** Since when all of them are counted. */
  readonly sinceMs: number;
  count: number;
  /** Oldest first; never empty. */
  readonly latest: SeenRefusal[];
}

/**
 * By code and reason, then by key; the key that was refused last comes last. Up to
 * `maxSeenRefusals` combinations all keep their latest refusal. If there are more, a key of the
 * code and reason that has most keys is forgotten.
 */
export interface SeenRefusals {
  readonly kinds: Map<string, Map<string, SeenKind>>;
  size: number;
}

export function rememberRefusal(seen: SeenRefusals, refusal: SeenRefusal): void {
  const { code, reason = '', keyId = '', atMs } = refusal;
  const name = `${code}\n${reason}`;
  const keys = seen.kinds.get(name) ?? new Map<string, SeenKind>();
  const kind = keys.get(keyId) ?? { sinceMs: atMs, count: 0, latest: [] };
  kind.count += 1;
  kind.latest.push(refusal);
  keys.delete(keyId);
  keys.set(keyId, kind);
  seen.kinds.set(name, keys);
  seen.size += 1;
  if (seen.size > maxSeenRefusals) forgetOne(seen);
}

function forgetOne(seen: SeenRefusals): void {
  let longest: SeenRefusal[] = [];
  let crowd = { name: '', keys: new Map<string, SeenKind>() };
  for (const [name, keys] of seen.kinds) {
    if (keys.size > crowd.keys.size) crowd = { name, keys };
    for (const { latest } of keys.values()) if (latest.length > longest.length) longest = latest;
  }
  seen.size -= 1;
  if (longest.length > 1) {
    longest.shift();
    return;
  }
  const [refusedLongestAgo = ''] = crowd.keys.keys();
  crowd.keys.delete(refusedLongestAgo);
  if (crowd.keys.size === 0) seen.kinds.delete(crowd.name);
}

/** What is remembered, newest first. */
export function latestRefusals({ kinds }: SeenRefusals): readonly SeenRefusal[] {
  return [...kinds.values()]
    .flatMap((keys) => [...keys.values()].flatMap(({ latest }) => latest))
    .reverse()
    .sort((one, other) => other.atMs - one.atMs);
}

export function kindsOfKey({ kinds }: SeenRefusals, keyId: string): readonly SeenKind[] {
  return [...kinds.values()].flatMap((keys) => keys.get(keyId) ?? []);
}

function latestDetail(
  { kinds }: SeenRefusals,
  { code, reason }: Pick<SeenRefusal, 'code' | 'reason'>,
  keyId?: string,
): string | undefined {
  const keys = kinds.get(`${code}\n${reason ?? ''}`);
  const kind = keyId === undefined ? [...(keys?.values() ?? [])].at(-1) : keys?.get(keyId);
  return kind === undefined ? undefined : detailOf(kind);
}

export function detailOf({ latest }: SeenKind): string | undefined {
  const { limit, param, path, requestedModel } = latest.at(-1) ?? {};
  return param === 'model' ? (requestedModel ?? param) : (limit ?? param ?? path);
}
