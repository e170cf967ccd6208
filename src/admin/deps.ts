/** What the parts of the admin library share: the host's stores, and pages of lists. */
import type { CatalogVersions } from '../catalog/catalog-versions.ts';
import type { Clock } from '../clock.ts';
import type { Gateway } from '../gateway.ts';
import type { IssuedKey, IssueKeyOptions } from '../issue-key.ts';
import type { MaybePromise } from '../ports/call-options.ts';
import type { KeyChange, OwnerTable } from '../ports/keys/key-owner.ts';
import type { KeyPage, KeyPageQuery } from '../ports/keys/key-page.ts';
import type { ApiKey, KeyStore } from '../ports/keys/key-store.ts';
import type { QuotaStore } from '../ports/limits/quota-store.ts';
import type { Catalog } from '../ports/models/catalog.ts';
import type { ListedModel } from '../ports/models/listed-model.ts';
import type { RefusalQueries } from '../stores/sql/refusal-report.ts';
import type { UsageQueries } from '../stores/sql/usage/report.ts';
import { invalid } from './admin-error.ts';
import type { Audit } from './audit/audit.ts';
import type { Live } from './now/live.ts';

/**
 * A key store with the optional methods that operators need. The stores for memory, SQLite and
 * PostgreSQL have all of them; what a store lacks is refused with the code `not_supported`.
 */
export interface AdminKeyStore extends KeyStore {
  /** How long its own cache, here or in another process, serves a key, in ms. */
  readonly ttlMs?: number;
  /** Stores a new key, and returns its secret this once. */
  issue?(options: IssueKeyOptions): MaybePromise<IssuedKey>;
  /** A member that is undefined in the change is to be removed. */
  update?(id: string, change: KeyChange): MaybePromise<boolean>;
  /** Removes a key; false if there is none. */
  remove?(id: string): MaybePromise<boolean>;
  /** The record of a key by its id. */
  get?(id: string): MaybePromise<ApiKey | undefined>;
  /** The keys that a query selects, in pages. */
  page?(query?: KeyPageQuery): MaybePromise<KeyPage>;
  /** The owners of keys. Default: an owner is a label. */
  readonly owners?: AdminOwnerTable;
}

/** The owners of a key store; without its optional methods they are read-only. */
export interface AdminOwnerTable
  extends Pick<OwnerTable, 'get' | 'page'>,
    Partial<Omit<OwnerTable, 'get' | 'page'>> {}

/** A catalog with the optional methods that operators need. */
export interface AdminCatalog extends Catalog, Partial<CatalogVersions> {
  /** All models and wildcards. Every catalog of the package can list them. */
  models?(): readonly ListedModel[];
}

/** The queries of a usage sink; those for memory and databases have them. */
export type AdminUsage = Partial<UsageQueries & RefusalQueries>;

/** A cache of keys in this process that must forget a key when it is changed. */
export interface AdminKeyCache {
  /** Drops the key, so that the next request reads its record. */
  forget(keyId: string): void;
  /** Forgets all keys of an owner. */
  forgetKeysOf?(ownerId: string): void;
  /** How long a cache, here or in another process, serves a key without asking the store, in ms. */
  readonly ttlMs?: number;
}

/** A store of replies, items or index entries that can delete those of one owner. */
export interface AdminOwnedStore {
  /** Deletes a batch of an owner's entries, and returns how many; 0 when none is left. */
  forgetOwner?(owner: string): MaybePromise<number>;
}

export interface AdminDeps {
  readonly gateway: Gateway;
  readonly stores: AdminStores;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly live: Live;
  readonly currency: string | undefined;
}

interface AdminStores {
  readonly keys: AdminKeyStore;
  readonly keyCache: AdminKeyCache | undefined;
  readonly quota: QuotaStore;
  readonly usage: AdminUsage;
  readonly catalog: AdminCatalog | undefined;
  readonly replyStores: readonly AdminOwnedStore[];
}

/** A page of a list. */
export interface Page<T> {
  /** The rows of this page. */
  readonly data: readonly T[];
  /** Pass this as `after`; undefined on the last page. */
  readonly next: string | undefined;
}

export const maxPage = 100;

export interface PageQuery {
  /** The `next` of the previous page. */
  readonly after?: string;
  /** 1 to 100. Default: 100. */
  readonly limit?: number;
}

export function limitOf({ limit = maxPage }: PageQuery): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= maxPage) return limit;
  throw invalid('limit', `limit must be an integer from 1 to ${maxPage}.`);
}

/** A page of a list in memory; its cursor is a position. */
export function pageOf<T>(all: readonly T[], query: PageQuery): Page<T> {
  const limit = limitOf(query);
  const { after = '0' } = query;
  const start = /^\d{1,9}$/.test(after) ? Number(after) : Number.NaN;
  if (!Number.isSafeInteger(start)) {
    throw invalid('after', 'after must be the next of an earlier page.');
  }
  const end = start + limit;
  return { data: all.slice(start, end), next: end < all.length ? String(end) : undefined };
}

/** Without the members that are undefined. */
export function given<T extends object>(
  members: T,
): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const result: { [Name in keyof T]?: Exclude<T[Name], undefined> } = {};
  for (const [member, value] of Object.entries(members)) {
    if (value !== undefined) Reflect.set(result, member, value);
  }
  return result;
}
