/**
 * Owners of keys: a team or a user whose keys share a budget and rate limits. A key store with
 * owners keeps each once, and joins it to the keys that name it.
 */
import { maxNanos, type Nanos } from '../../money.ts';
import type { MaybePromise } from '../call-options.ts';
import { defaultPartition } from '../limits/quota-input.ts';
import type { KeyRateLimits } from '../limits/rates.ts';
import { searchText } from './key-page.ts';
import type { ApiKey, PeriodOfLimit, QuotaSubject } from './key-store.ts';

/** A rate limit of all keys of an owner together. */
export interface OwnerRateLimits extends Omit<KeyRateLimits, 'subject'> {}

/** An owner of keys. Its period is that of its limit. */
export interface KeyOwner extends PeriodOfLimit {
  /** 1 to 120 printable ASCII characters without spaces. */
  readonly id: string;
  /** For people. */
  readonly name?: string;
  /**
   * The most that all its keys may spend together in each period. Default: no limit; what they
   * spend is counted.
   */
  readonly limitNanos?: Nanos;
  /** Limits of all its keys together; at most 32 entries. Default: none. */
  readonly rates?: readonly OwnerRateLimits[];
  /** Whether its keys are refused. */
  readonly disabled: boolean;
  /** The host's own labels. They do not appear in usage records. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Changes of an owner; undefined removes an optional member. */
export type OwnerChange = {
  readonly [Name in keyof Omit<KeyOwner, 'id'>]?: KeyOwner[Name] | undefined;
};

/** Changes of a key; undefined removes an optional member. */
export type KeyChange = {
  readonly [Name in keyof Omit<ApiKey, 'id'>]?: ApiKey[Name] | undefined;
};

/** Selects a page of owners, ordered by id; all owners by default. */
export interface OwnerPageQuery {
  /** Text that the id, the name or a value of the metadata contains, in any case. */
  readonly search?: string;
  /** The `next` of the previous page. */
  readonly after?: string;
  /** How many owners, 1 to 1,000. Default: 100. */
  readonly limit?: number;
}

/** A page of owners. */
export interface OwnerPage {
  /** The owners of this page. */
  readonly owners: readonly KeyOwner[];
  /** Pass this as `after`; undefined on the last page. */
  readonly next: string | undefined;
}

/** The owners of a key store. A change counts from the next lookup of each of their keys on. */
export interface OwnerTable {
  /** The owner with this id, or undefined if there is none. */
  get(id: string): MaybePromise<KeyOwner | undefined>;
  /**
   * A page of owners, ordered by id.
   *
   * @throws RangeError where the query is not valid
   */
  page(query?: OwnerPageQuery): MaybePromise<OwnerPage>;
  /** @throws ConfigurationError where the owner is not valid, or its id is taken */
  add(owner: KeyOwner): MaybePromise<void>;
  /** Changes an owner; false where there is none with this id. */
  update(id: string, change: OwnerChange): MaybePromise<boolean>;
  /** Removes an owner; false where there is none with this id, or a key names it. */
  remove(id: string): MaybePromise<boolean>;
}

/** The quota subject of an owner, which no key has. */
export function ownerSubjectId(ownerId: string): string {
  return `owner.${ownerId}`;
}

/** The budget of an owner, as its keys are charged to it. */
export function ownerSubject({ id, period, anchorDay, limitNanos }: KeyOwner): QuotaSubject {
  const subject = { id: ownerSubjectId(id), period, limitNanos: limitNanos ?? maxNanos };
  return anchorDay === undefined ? subject : { ...subject, anchorDay };
}

/**
 * The key as it is found: charged to its owner as well, and with the owner's rate limits. A key
 * whose owner is missing or disabled, or whose partition is not the owner's, is disabled, because
 * the owner's limit could not hold.
 */
export function joined(key: ApiKey, owner: KeyOwner | undefined): ApiKey {
  if (key.owner === undefined) return key;
  if (owner === undefined) return { ...key, disabled: true };
  const subject = ownerSubject(owner);
  const own = key.quota.filter(({ id }) => id !== subject.id);
  const isApart = (key.quotaPartition ?? defaultPartition) !== defaultPartition;
  const rates = owner.rates?.map((rate) => ({ ...rate, subject: subject.id }));
  return {
    ...key,
    disabled: key.disabled || owner.disabled || isApart,
    quota: [...own, subject],
    ...(rates === undefined ? {} : { sharedRates: [...(key.sharedRates ?? []), ...rates] }),
  };
}

/** The text that a search for owners looks into, in lower case. */
export function ownerSearchText({ id, name, metadata }: KeyOwner): string {
  return searchText([id, name], metadata);
}

/** A page from ordered owners, of which one more than the limit was read. */
export function ownerPageOf(owners: readonly KeyOwner[], limit: number): OwnerPage {
  const shown = owners.slice(0, limit);
  return { owners: shown, next: owners.length > limit ? shown.at(-1)?.id : undefined };
}

/** A record with changes; members that a change sets to undefined are gone. */
export function changed<T extends object>(
  record: T,
  change: { readonly [Name in keyof T]?: T[Name] | undefined },
): T {
  const result = { ...record, ...change };
  for (const name in change) if (change[name] === undefined) Reflect.deleteProperty(result, name);
  return result;
}
