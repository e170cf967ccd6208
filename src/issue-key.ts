/** Issues keys: a new secret for the caller, and the record of its key for the host's store. */
import { ConfigurationError } from './errors.ts';
import type { Nanos } from './money.ts';
import type { ApiKey, QuotaSubject } from './ports/key-store.ts';
import { isName, isNanos } from './ports/quota-input.ts';
import { mintSecret, publicPart } from './secret.ts';

/** What a new key is to be; `limitNanos`, `quota` or both say what it is charged to. */
export interface IssueKeyOptions extends Partial<Omit<ApiKey, 'group' | 'quota'>> {
  readonly group: string;
  /** Gives the key a quota of its own, under its own id. */
  readonly limitNanos?: Nanos;
  /** The span of `limitNanos`; `total` where left out. */
  readonly period?: QuotaSubject['period'];
  /** Further subjects each call is charged to, such as its group's: up to 8, its own included. */
  readonly quota?: readonly QuotaSubject[];
}

/** A key as it leaves the mint. */
export interface IssuedKey {
  /** For the caller, shown once: no store keeps it. */
  readonly secret: string;
  /** For the store. */
  readonly key: ApiKey;
}

/**
 * Issues a key; adding it to a store is the host's step.
 *
 * ```ts
 * const { secret, key } = issueKey({ group: 'chat', limitNanos: 5_000_000_000n, period: 'month' });
 * keys.add(secret, key);
 * ```
 *
 * A key's id is `key_` and the public part of its secret where none is given.
 *
 * @throws ConfigurationError where the key could never be charged
 */
export function issueKey(options: IssueKeyOptions): IssuedKey {
  const { limitNanos, period = 'total', quota: further = [], ...rest } = options;
  const secret = mintSecret();
  const id = options.id ?? `key_${publicPart(secret)}`;
  const own = limitNanos === undefined ? [] : [{ id, period, limitNanos }];
  const quota = [...own, ...further];
  checkQuota(id, quota);
  return { secret, key: { ...rest, id, disabled: options.disabled ?? false, quota } };
}

function checkQuota(id: string, quota: readonly QuotaSubject[]): void {
  const problem = problemOf(id, quota);
  if (problem !== undefined) throw new ConfigurationError(`issueKey: ${problem}`);
}

function problemOf(id: string, quota: readonly QuotaSubject[]): string | undefined {
  if (![id, ...quota.map((subject) => subject.id)].every(isName)) {
    return 'ids of keys and subjects must match /^[A-Za-z0-9._-]{1,64}$/.';
  }
  if (quota.length === 0) return 'a key needs a limitNanos of its own, or a quota to share.';
  if (quota.length > 8) return 'a key may be charged to at most 8 subjects.';
  if (new Set(quota.map((subject) => subject.id)).size < quota.length) {
    return "each subject may be named once; the key's own is named by limitNanos.";
  }
  if (!quota.every(({ limitNanos }) => limitNanos === undefined || isNanos(limitNanos))) {
    return 'limitNanos must be a bigint from 0 to 2^53 − 1.';
  }
  return undefined;
}
