/** The port that keeps the audit trail: what operators have changed, and when. */
import type { MaybePromise } from './call-options.ts';

/** One change by an operator; it survives `JSON.stringify` and holds no secret. */
export interface AuditRecord {
  /** Unix ms. */
  readonly atMs: number;
  /** Who made the change. */
  readonly actor: string;
  /** What was done: `key.limit`, `channel.weight`. */
  readonly action: string;
  /** The id of what was changed; undefined where there is none yet. */
  readonly target: string | undefined;
  /** The details, without secrets. A member `xBefore` is the value that `x` had before. */
  readonly change: Readonly<Record<string, string | number | boolean | null>>;
  /**
   * `refused`: it was not tried, because the actor may only read, or the request broke a rule.
   * `failed`: it was tried; if `code` is `unavailable`, it may have taken effect.
   */
  readonly outcome: 'done' | 'failed' | 'refused';
  /** Why it failed or was refused. */
  readonly code: string | undefined;
}

/** Selects records, all of them by default. */
export interface AuditQuery {
  /** Only what this person did. */
  readonly actor?: string;
  /** An action: `key.limit`; or all of a kind: `key`. */
  readonly action?: string;
  /** Only changes of this key, owner, channel or batch, by its id. */
  readonly target?: string;
  /** Only those that ended so. */
  readonly outcome?: AuditRecord['outcome'];
  /** Unix ms, inclusive. */
  readonly fromMs?: number;
  /** Unix ms, exclusive. */
  readonly toMs?: number;
  /** 1 to 1,000. Default: 100. */
  readonly limit?: number;
  /** The `next` of the previous page. */
  readonly after?: string;
}

/** A page of records, the latest first. */
export interface AuditPage {
  /** The records of this page, the latest first. */
  readonly records: readonly AuditRecord[];
  /** Pass this as `after`; undefined on the last page. */
  readonly next: string | undefined;
}

/** Keeps audit records. */
export interface AuditLog {
  /** Adds a record. Rejects with a StoreUnavailable where it could not be written. */
  record(entry: AuditRecord): MaybePromise<void>;
  /** @throws RangeError where the query is not valid; StoreUnavailable, StoreCorrupt */
  page(query: AuditQuery): MaybePromise<AuditPage>;
  /**
   * Deletes records from before a time, the oldest first, at most `limit` of them; returns how many
   * it deleted.
   */
  deleteBefore(beforeMs: number, limit: number): MaybePromise<number>;
  /** The records are lost when this process ends. */
  readonly isInMemory?: boolean;
}
