/** Issues keys: a new secret for the caller, and the key's record for the host's store. */
import { z } from 'zod';
import { ConfigurationError } from './errors.ts';
import type { Nanos } from './money.ts';
import { keyMembers, keyRemedyOf, period, subject } from './ports/key-schema.ts';
import type { ApiKey, QuotaSubject } from './ports/key-store.ts';
import { maxLines } from './ports/quota-input.ts';
import { checkSetUp, flag, nanos, strict } from './ports/set-up.ts';
import { mintSecret, publicPart } from './secret.ts';

/** The options of a new key; `limitNanos`, `quota` or both say what it is charged to. */
export interface IssueKeyOptions extends Partial<Omit<ApiKey, 'group' | 'quota'>> {
  readonly group: string;
  /** The limit of a quota for this key alone, under the key's id. */
  readonly limitNanos?: Nanos;
  /** The period of `limitNanos`. Default: `total`. */
  readonly period?: QuotaSubject['period'];
  /**
   * Further subjects that each call is charged to, such as the key's group: up to 8, including the
   * key's own.
   */
  readonly quota?: readonly QuotaSubject[];
}

/** A newly issued key. */
export interface IssuedKey {
  /** For the caller. Shown once: no store keeps it. */
  readonly secret: string;
  /** For the store. */
  readonly key: ApiKey;
}

/**
 * Issues a key. The host adds it to a store.
 *
 * ```ts
 * const { secret, key } = issueKey({ group: 'chat', limitNanos: 5_000_000_000n, period: 'month' });
 * keys.add(secret, key);
 * ```
 *
 * Without an `id`, the key's id is `key_` and the public part of its secret.
 *
 * @throws ConfigurationError if an option is invalid, or the key could never be charged
 */
export function issueKey(options: IssueKeyOptions): IssuedKey {
  checkSetUp(optionsSchema, options, {
    root: 'issueKey: options',
    remedyFor: (path) =>
      path[0] === 'disabled' ? 'Leave it out for an enabled key' : keyRemedyOf(path),
    names: 'the type IssueKeyOptions',
  });
  const { limitNanos, period: ownPeriod = 'total', quota: further = [], ...rest } = options;
  const secret = mintSecret();
  const id = options.id ?? `key_${publicPart(secret)}`;
  const own = limitNanos === undefined ? [] : [{ id, period: ownPeriod, limitNanos }];
  const key = { ...rest, id, disabled: options.disabled ?? false, quota: [...own, ...further] };
  const problem = problemOf(key);
  if (problem !== undefined) throw new ConfigurationError(`issueKey: ${problem}`);
  return { secret, key };
}

const optionsSchema = strict('must be an object', {
  ...keyMembers,
  id: keyMembers.id.optional(),
  disabled: flag.optional(),
  limitNanos: nanos.optional(),
  period: period.optional(),
  quota: z.array(subject, 'must be a list of subjects').optional(),
} satisfies Record<keyof IssueKeyOptions, z.ZodType>);

function problemOf({ id, quota, maxConcurrentCalls }: ApiKey): string | undefined {
  const ids = new Set(quota.map((charged) => charged.id));
  if (ids.size === 0) {
    return 'a key needs a limitNanos of its own, or a shared quota. Set one of them.';
  }
  if (ids.size < quota.length) {
    return "each subject may be listed once; limitNanos already adds the key's own.";
  }
  if (ids.size > maxLines) {
    return `a key may be charged to at most ${maxLines} subjects. Remove some from quota.`;
  }
  // A key without a subject of its own needs another line to count its calls.
  if (maxConcurrentCalls !== undefined && !ids.has(id) && ids.size === maxLines) {
    return (
      `a key with maxConcurrentCalls may be charged to at most ${maxLines - 1} subjects besides ` +
      'its own. Remove one from quota, or set maxConcurrentCalls on a subject.'
    );
  }
  return undefined;
}
