/**
 * The row of a key: the columns are its id, its group, whether it is disabled and the digest of its
 * secret; the rest is JSON. No column holds a secret.
 */
import type { IssuedKey, IssueKeyOptions } from '../../issue-key.ts';
import { isJsonObject, items, type JsonValue, jsonWithBigints, member } from '../../json.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { KeyPage, KeyPageQuery } from '../../ports/key-page.ts';
import type { ApiKey, KeyStore, QuotaSubject } from '../../ports/key-store.ts';
import type { KeyRateLimits } from '../../ports/rates.ts';
import { areKeyRates } from '../../ports/rates-schema.ts';
import { corrupt, flagAt, jsonAt, textAt } from './columns.ts';
import { nanosFrom, stringsFrom } from './usage-json.ts';

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
  update(id: string, change: Partial<Omit<ApiKey, 'id'>>): MaybePromise<boolean>;
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
}

/** The column `record`: all members that have no separate column. */
export function keyText({ id: _id, group: _group, disabled: _disabled, ...rest }: ApiKey): string {
  return jsonWithBigints(rest);
}

/**
 * The key of a row with the columns `id`, `key_group`, `disabled` and `record`.
 *
 * @throws StoreCorrupt that names the column
 */
export function keyFrom(row: unknown): ApiKey {
  const record = jsonAt(row, 'record');
  const expiresAtMs = countFrom(record, 'expiresAtMs');
  const maxConcurrentCalls = countFrom(record, 'maxConcurrentCalls');
  const quotaPartition = member(record, 'quotaPartition');
  const responseOwner = member(record, 'responseOwner');
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
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    ...(quotaPartition === undefined ? {} : { quotaPartition }),
    ...(responseOwner === undefined ? {} : { responseOwner }),
    ...(maxConcurrentCalls === undefined ? {} : { maxConcurrentCalls }),
    ...(rates === undefined ? {} : { rates: ratesFrom(rates) }),
    ...(strings === undefined ? {} : { metadata: strings }),
  };
}

function ratesFrom(value: JsonValue): readonly KeyRateLimits[] {
  return areKeyRates(value) ? value : corrupt('record');
}

function subjectsFrom(value: JsonValue | undefined): readonly QuotaSubject[] {
  return Array.isArray(value) ? items(value).map(subjectFrom) : corrupt('record');
}

function subjectFrom(value: JsonValue): QuotaSubject {
  const id = member(value, 'id');
  const period = periods.find((known) => known === member(value, 'period'));
  const limit = member(value, 'limitNanos');
  const maxConcurrentCalls = countFrom(value, 'maxConcurrentCalls');
  const visible = member(value, 'visible');
  if (typeof id !== 'string' || period === undefined) corrupt('record');
  if (visible !== undefined && typeof visible !== 'boolean') corrupt('record');
  const limitNanos = limit === undefined ? undefined : (nanosFrom(limit) ?? corrupt('record'));
  return {
    id,
    period,
    ...(limitNanos === undefined ? {} : { limitNanos }),
    ...(maxConcurrentCalls === undefined ? {} : { maxConcurrentCalls }),
    ...(visible === undefined ? {} : { visible }),
  };
}

const periods: readonly QuotaSubject['period'][] = ['total', 'day', 'month'];

function countFrom(value: JsonValue | undefined, name: string): number | undefined {
  if (!isJsonObject(value)) corrupt('record');
  const count = member(value, name);
  if (count === undefined) return undefined;
  return typeof count === 'number' && Number.isSafeInteger(count) ? count : corrupt('record');
}
