/**
 * The row of a key: the columns are its id, its group, whether it is disabled and the digest of its
 * secret; the rest is JSON. No column holds a secret.
 */
import type { IssuedKey, IssueKeyOptions } from '../../issue-key.ts';
import { isJsonObject, items, type JsonValue, jsonWithBigints, member } from '../../json.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import {
  joined,
  type KeyChange,
  type KeyOwner,
  type OwnerTable,
} from '../../ports/keys/key-owner.ts';
import type { KeyPage, KeyPageQuery } from '../../ports/keys/key-page.ts';
import type { ApiKey, KeyStore, PeriodOfLimit, QuotaSubject } from '../../ports/keys/key-store.ts';
import { quotaPeriods } from '../../ports/keys/key-store.ts';
import type { KeyRateLimits } from '../../ports/limits/rates.ts';
import { areKeyRates, areOwnerRates } from '../../ports/limits/rates-schema.ts';
import { corrupt, flagAt, jsonAt, textAt, textOrNoneAt } from './columns.ts';
import { nanosFrom, stringsFrom } from './usage/json.ts';

/** A {@link KeyStore} over a table whose keys can be changed while gateways run. */
export interface KeyTable extends KeyStore {
  /**
   * Issues a key and stores its digest. The secret exists only in the returned value.
   *
   * @throws ConfigurationError where the key could never be charged, or its id is taken
   */
  issue(options: IssueKeyOptions): MaybePromise<IssuedKey>;
  /**
   * Adds a key with a secret that the host chooses.
   *
   * @throws ConfigurationError where the id or the secret is taken, or the secret could be guessed
   */
  add(secret: string, key: ApiKey): MaybePromise<void>;
  /**
   * Changes a key from its next lookup on, for example `{ disabled: true }`; false where there is
   * no key with this id.
   */
  update(id: string, change: KeyChange): MaybePromise<boolean>;
  /** Removes a key and the digest of its secret; false where there is no key with this id. */
  remove(id: string): MaybePromise<boolean>;
  /** The keys of a group, or all keys, ordered by id. */
  list(group?: string): MaybePromise<readonly ApiKey[]>;
  /** The key with this id, or undefined if there is none. */
  get(id: string): MaybePromise<ApiKey | undefined>;
  /**
   * A page of keys, ordered by id; keys added during paging may be missed.
   *
   * @throws RangeError where the query is not valid
   */
  page(query?: KeyPageQuery): MaybePromise<KeyPage>;
  /** The owners of keys, each with a budget and rates of its own. */
  readonly owners: OwnerTable;
}

/** The column `record`: all members that have no separate column. */
export function keyText(key: ApiKey): string {
  const { id: _id, group: _group, owner: _owner, disabled: _disabled, ...rest } = key;
  return jsonWithBigints(rest);
}

/**
 * The key of a row with the columns `id`, `key_group`, `owner`, `disabled` and `record`.
 *
 * @throws StoreCorrupt that names the column
 */
export function keyFrom(row: unknown): ApiKey {
  const record = jsonAt(row, 'record');
  const expiresAtMs = countFrom(record, 'expiresAtMs');
  const maxConcurrentCalls = countFrom(record, 'maxConcurrentCalls');
  const quotaPartition = member(record, 'quotaPartition');
  const responseOwner = member(record, 'responseOwner');
  const models = member(record, 'models');
  const owner = textOrNoneAt(row, 'owner');
  const rates = member(record, 'rates');
  const metadata = member(record, 'metadata');
  if (quotaPartition !== undefined && typeof quotaPartition !== 'string') corrupt('record');
  if (responseOwner !== undefined && typeof responseOwner !== 'string') corrupt('record');
  const strings = metadata === undefined ? undefined : (stringsFrom(metadata) ?? corrupt('record'));
  return {
    id: textAt(row, 'id'),
    group: textAt(row, 'key_group'),
    disabled: flagAt(row, 'disabled'),
    quota: subjectsFrom(member(record, 'quota')),
    ...(models === undefined ? {} : { models: textsFrom(models) }),
    ...(owner === undefined ? {} : { owner }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    ...(quotaPartition === undefined ? {} : { quotaPartition }),
    ...(responseOwner === undefined ? {} : { responseOwner }),
    ...(maxConcurrentCalls === undefined ? {} : { maxConcurrentCalls }),
    ...(rates === undefined ? {} : { rates: ratesFrom(rates) }),
    ...(strings === undefined ? {} : { metadata: strings }),
  };
}

/** The owner of a row with the columns `id` and `record`. */
export function ownerFrom(row: unknown): KeyOwner {
  return ownerOf(textAt(row, 'id'), jsonAt(row, 'record'));
}

/**
 * The key of a row that was joined to its owner's record.
 *
 * @throws StoreCorrupt that names the column
 */
export function joinedKeyFrom(row: unknown): ApiKey {
  const key = keyFrom(row);
  if (key.owner === undefined) return key;
  const record = jsonAt(row, 'owner_record');
  return joined(key, record === undefined ? undefined : ownerOf(key.owner, record));
}

function ownerOf(id: string, record: JsonValue | undefined): KeyOwner {
  const name = member(record, 'name');
  const disabled = member(record, 'disabled');
  const rates = member(record, 'rates');
  const metadata = member(record, 'metadata');
  if (name !== undefined && typeof name !== 'string') corrupt('record');
  if (typeof disabled !== 'boolean') corrupt('record');
  if (rates !== undefined && !areOwnerRates(rates)) corrupt('record');
  const strings = metadata === undefined ? undefined : (stringsFrom(metadata) ?? corrupt('record'));
  return {
    id,
    ...limitFrom(record),
    disabled,
    ...(name === undefined ? {} : { name }),
    ...(rates === undefined ? {} : { rates }),
    ...(strings === undefined ? {} : { metadata: strings }),
  };
}

/** The column `record` of an owner: all members but its id. */
export function ownerText({ id: _id, ...rest }: KeyOwner): string {
  return jsonWithBigints(rest);
}

function textsFrom(value: JsonValue): readonly string[] {
  if (!Array.isArray(value)) corrupt('record');
  return items(value).map((item) => (typeof item === 'string' ? item : corrupt('record')));
}

function ratesFrom(value: JsonValue): readonly KeyRateLimits[] {
  return areKeyRates(value) ? value : corrupt('record');
}

function subjectsFrom(value: JsonValue | undefined): readonly QuotaSubject[] {
  return Array.isArray(value) ? items(value).map(subjectFrom) : corrupt('record');
}

function subjectFrom(value: JsonValue): QuotaSubject {
  const id = member(value, 'id');
  const maxConcurrentCalls = countFrom(value, 'maxConcurrentCalls');
  const models = member(value, 'models');
  const visible = member(value, 'visible');
  if (typeof id !== 'string') corrupt('record');
  if (visible !== undefined && typeof visible !== 'boolean') corrupt('record');
  return {
    id,
    ...limitFrom(value),
    ...(models === undefined ? {} : { models: textsFrom(models) }),
    ...(maxConcurrentCalls === undefined ? {} : { maxConcurrentCalls }),
    ...(visible === undefined ? {} : { visible }),
  };
}

/** What a subject and an owner have in common. */
function limitFrom(value: JsonValue | undefined): PeriodOfLimit & Pick<KeyOwner, 'limitNanos'> {
  const period = quotaPeriods.find((known) => known === member(value, 'period'));
  const anchorDay = countFrom(value, 'anchorDay');
  const limit = member(value, 'limitNanos');
  if (period === undefined) corrupt('record');
  const limitNanos = limit === undefined ? undefined : (nanosFrom(limit) ?? corrupt('record'));
  return {
    period,
    ...(anchorDay === undefined ? {} : { anchorDay }),
    ...(limitNanos === undefined ? {} : { limitNanos }),
  };
}

function countFrom(value: JsonValue | undefined, name: string): number | undefined {
  if (!isJsonObject(value)) corrupt('record');
  const count = member(value, name);
  if (count === undefined) return undefined;
  return typeof count === 'number' && Number.isSafeInteger(count) ? count : corrupt('record');
}
