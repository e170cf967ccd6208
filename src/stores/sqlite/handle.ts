/**
 * The part of a SQLite driver that the stores use, the same in better-sqlite3, libsql and
 * `node:sqlite`, and a connection over it with cached statements and transactions.
 */
import type { CallOptions } from '../../ports/call-options.ts';
import { StoreUnavailable } from '../../ports/call-options.ts';
import { failureOf, isBusy } from './failure.ts';

/** An open `Database` of libsql or better-sqlite3, or a `DatabaseSync` of `node:sqlite`. */
export interface SqliteHandle {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/**
 * A prepared statement: `all` returns rows, `run` doesn't. The values are {@link SqliteValue}s, but
 * the drivers' types for values have nothing in common except `unknown`.
 */
export interface SqliteStatement {
  run(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown;
}

/**
 * A bound value. Whole numbers are bigints, because a number is bound as a double. Some drivers
 * refuse `undefined`, and all refuse booleans.
 */
export type SqliteValue = string | bigint | number | Uint8Array | null;

export interface Connection {
  /** All rows of a query at once, since an open cursor would pin its snapshot. */
  rows(sql: string, ...values: SqliteValue[]): readonly unknown[];
  row(sql: string, ...values: SqliteValue[]): unknown;
  run(sql: string, ...values: SqliteValue[]): void;
  exec(sql: string): void;
  /** Repeats a statement that no transaction may contain until no other connection blocks it. */
  execWhenFree(sql: string, timeoutMs: number): void;
  /**
   * Runs work in a transaction that holds the write lock from its beginning.
   *
   * @throws StoreUnavailable `not_done` where the lock is not free within `timeoutMs`, default 1 s;
   *   at once while it has not been free for a second of such waits
   */
  transaction<T>(work: () => T, options?: TransactionOptions): T;
  reading<T>(work: () => T, options?: CallOptions): T;
}

export interface TransactionOptions extends CallOptions {
  /** False: the commit is not synced, so that a crash of the machine may lose it. Default: true. */
  readonly isDurable?: boolean;
}

/** How long the driver waits for a lock: short, so that the deadline can be checked. */
const busyTimeoutMs = 25;
const defaultTimeoutMs = 1_000;
/**
 * Waiting blocks the process. A lock that was not free for this long is hardly contention: another
 * program holds it, and nothing waits for it until it was free once.
 */
const maxVainWaitMs = 1_000;

/**
 * `synchronous = FULL`: a commit is on disk before it returns, also in WAL mode. Both settings
 * belong to the connection, not to the file.
 */
const waitBriefly = `PRAGMA busy_timeout = ${busyTimeoutMs};`;
const synced = 'PRAGMA synchronous = FULL;';
const settings = `${waitBriefly} ${synced}`;
/** In WAL mode such a commit can be lost with the machine, but never a part of it. */
const unsynced = 'PRAGMA synchronous = NORMAL;';

export function connectionTo(db: SqliteHandle): Connection {
  const statement = statementCache(db);
  let isConfigured = false;
  const begin = beginning(db);

  const configure = (): void => {
    if (isConfigured) return;
    db.exec(settings);
    isConfigured = true;
  };

  const rows: Connection['rows'] = (sql, ...values) => {
    const found = statement(sql).all(...values);
    return Array.isArray(found) ? found : [];
  };

  return {
    rows,
    row: (sql, ...values) => rows(sql, ...values)[0],
    run: (sql, ...values) => {
      statement(sql).run(...values);
    },
    exec: (sql) => {
      db.exec(sql);
    },
    execWhenFree: (sql, timeoutMs) => execWhenFree(db, sql, timeoutMs),
    transaction: (work, options) => {
      mapErrors(options, () => {
        configure();
        // It can't be changed inside a transaction.
        if (options?.isDurable === false) db.exec(unsynced);
      });
      try {
        mapErrors(options, () => begin(options?.timeoutMs ?? defaultTimeoutMs));
        return commitAfter(db, work);
      } finally {
        if (options?.isDurable === false) db.exec(synced);
      }
    },
    reading: (work, options) =>
      mapErrors(options, () => {
        configure();
        return work();
      }),
  };
}

function beginning(db: SqliteHandle): (timeoutMs: number) => void {
  // A deferred transaction would lock at its first write, and fail if another connection has
  // written since BEGIN.
  const sql = 'BEGIN IMMEDIATE';
  /** How long transactions have waited for the lock since it was last free. */
  let vainWaitMs = 0;
  return (timeoutMs) => {
    try {
      if (vainWaitMs < maxVainWaitMs) execWhenFree(db, sql, timeoutMs);
      else execAtOnce(db, sql);
      vainWaitMs = 0;
    } catch (error) {
      if (isBusy(error)) vainWaitMs += timeoutMs;
      throw error;
    }
  };
}

function statementCache(db: SqliteHandle): (sql: string) => SqliteStatement {
  const prepared = new Map<string, SqliteStatement>();
  return (sql) => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const created = db.prepare(sql);
    prepared.set(sql, created);
    return created;
  };
}

/** Runs work that changes nothing, unless the call was aborted, and maps the driver's errors. */
function mapErrors<T>(options: CallOptions | undefined, work: () => T): T {
  refuseAborted(options);
  try {
    return work();
  } catch (error) {
    throw failureOf(error, 'not_done');
  }
}

/**
 * Repeats a statement until no other connection blocks it, or the deadline has passed. It is
 * synchronous and each try waits for the busy timeout, so the time is counted in tries.
 */
function execWhenFree(db: SqliteHandle, sql: string, timeoutMs: number): void {
  for (let remainingMs = timeoutMs; ; remainingMs -= busyTimeoutMs) {
    try {
      db.exec(sql);
      return;
    } catch (error) {
      if (!isBusy(error) || remainingMs <= busyTimeoutMs) throw error;
    }
  }
}

function execAtOnce(db: SqliteHandle, sql: string): void {
  db.exec('PRAGMA busy_timeout = 0');
  try {
    db.exec(sql);
  } finally {
    db.exec(waitBriefly);
  }
}

function commitAfter<T>(db: SqliteHandle, work: () => T): T {
  let result: T;
  try {
    result = work();
  } catch (error) {
    rollBack(db);
    throw failureOf(error, 'not_done');
  }
  try {
    db.exec('COMMIT');
  } catch (error) {
    // After a lock or a full disk nothing is written; after an I/O error the outcome is unknown.
    rollBack(db);
    throw failureOf(error, 'unknown');
  }
  return result;
}

function rollBack(db: SqliteHandle): void {
  try {
    db.exec('ROLLBACK');
  } catch {
    // The caller throws the original failure.
  }
}

function refuseAborted(options: CallOptions | undefined): void {
  if (options?.signal?.aborted !== true) return;
  throw new StoreUnavailable('the call was aborted', { outcome: 'not_done' });
}
