/** Issues keys: a new secret for the caller, and the key's record for the host's store. */
import { z } from 'zod';
import { ConfigurationError } from './errors.ts';
import type { Nanos } from './money.ts';
import { ownerSubjectId } from './ports/keys/key-owner.ts';
import {
  anchorDay,
  anchorForm,
  fitsPeriod,
  keyMembers,
  keyRemedyOf,
  period,
  subject,
} from './ports/keys/key-schema.ts';
import type { ApiKey, QuotaPeriod, QuotaSubject } from './ports/keys/key-store.ts';
import { defaultPartition, maxLines } from './ports/limits/quota-input.ts';
import type { Problem } from './ports/problems.ts';
import { checkSetUp, flag, nanos, setUpProblems, strict, type Wording } from './ports/set-up.ts';
import { mintSecret, publicPart } from './secret.ts';

/** The options of a new key; `limitNanos`, `quota` or `owner` say what it is charged to. */
export interface IssueKeyOptions extends Partial<Omit<ApiKey, 'group' | 'quota' | 'sharedRates'>> {
  readonly group: string;
  /** The limit of a quota for this key alone, under the key's id. */
  readonly limitNanos?: Nanos;
  /** The period of `limitNanos`. Default: `total`. */
  readonly period?: QuotaPeriod;
  /** The day on which that period begins, if it is `month`. Default: 1. */
  readonly anchorDay?: number;
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
  checkSetUp(optionsSchema, options, { ...wording, root: 'issueKey: options' });
  const secret = mintSecret();
  const key = keyOf(options, `key_${publicPart(secret)}`);
  const problem = chargeProblem(key);
  if (problem !== undefined) throw new ConfigurationError(`issueKey: ${problem}`);
  return { secret, key };
}

/** Everything that is wrong with the options of a new key. */
export function issueProblems(options: IssueKeyOptions): readonly Problem[] {
  const problems = setUpProblems(optionsSchema, options, { ...wording, root: '' });
  if (problems.length > 0) return problems;
  const problem = chargeProblem(keyOf(options, 'key_new'));
  return problem === undefined ? [] : [{ path: ['quota'], sentence: problem }];
}

function keyOf(options: IssueKeyOptions, newId: string): ApiKey {
  const { limitNanos, period: named = 'total', anchorDay: day, quota = [], ...rest } = options;
  const id = options.id ?? newId;
  const ownPeriod = day === undefined ? { period: named } : { period: named, anchorDay: day };
  const own = limitNanos === undefined ? [] : [{ id, ...ownPeriod, limitNanos }];
  return { ...rest, id, disabled: options.disabled ?? false, quota: [...own, ...quota] };
}

const wording: Omit<Wording, 'root'> = {
  remedyFor: (path) =>
    path[0] === 'disabled' ? 'Leave it out for an enabled key' : keyRemedyOf(path),
  names: 'the type IssueKeyOptions',
};

const { sharedRates: _joined, ...ownMembers } = keyMembers;

const optionsSchema = strict('must be an object', {
  ...ownMembers,
  id: keyMembers.id.optional(),
  disabled: flag.optional(),
  limitNanos: nanos.optional(),
  period: period.optional(),
  anchorDay: anchorDay.optional(),
  quota: z.array(subject, 'must be a list of subjects').optional(),
} satisfies Record<keyof IssueKeyOptions, z.ZodType>).refine(fitsPeriod, {
  path: ['anchorDay'],
  message: anchorForm,
});

/** Why a key could not be charged, as it is without what its owner adds. */
export function chargeProblem(key: ApiKey): string | undefined {
  const { id, quota, owner, quotaPartition, maxConcurrentCalls } = key;
  const ids = new Set(quota.map((charged) => charged.id));
  if (ids.size < quota.length) {
    return "each subject may be listed once; limitNanos already adds the key's own.";
  }
  if (owner !== undefined) {
    if (quotaPartition !== undefined && quotaPartition !== defaultPartition) {
      return 'a key with a quotaPartition can have no owner. Leave one of them out.';
    }
    ids.add(ownerSubjectId(owner));
  }
  if (ids.size === 0) {
    return 'a key needs a limitNanos of its own, a shared quota or an owner. Set one of them.';
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
