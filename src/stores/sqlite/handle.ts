/**
 * The little of a SQLite driver that the stores use, alike in better-sqlite3, libsql and Node's own
 * `node:sqlite`, and a connection over it: statements prepared once, and one kind of transaction.
 */
import type { CallOptions } from '../../ports/call-options.ts';
import { StoreUnavailable } from '../../ports/call-options.ts';
import { failureOf, isBusy } from './failure.ts';

/** An open database: libsql's `Database`, better-sqlite3's, or `DatabaseSync` of `node:sqlite`. */
export interface SqliteHandle {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/**
 * A prepared statement; `run` for one that answers no rows, `all` for one that does. It is given
 * {@link SqliteValue}s; the drivers' own types for that have nothing in common but `unknown`.
 */
export interface SqliteStatement {
  run(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown;
}

/**
 * What is bound. Whole numbers are bigints, for a number is bound as a double; `undefined` is
 * refused by some drivers, and booleans by all.
 */
export type SqliteValue = string | bigint | number | null;

/** A handle of which every answer and every failure is known. */
export interface Connection {
  /** The rows of a query, all of them: a cursor left open would hold its snapshot. */
  rows(sql: string, ...values: SqliteValue[]): readonly unknown[];
  /** The only row of a query, or undefined. */
  row(sql: string, ...values: SqliteValue[]): unknown;
  run(sql: string, ...values: SqliteValue[]): void;
  /**
   * One transaction that may write, held against every other process from its first moment.
   *
   * @throws StoreUnavailable `not_done` where the lock is not free in time: `timeoutMs`, or 1 s
   */
  transaction<T>(work: () => T, options?: CallOptions): T;
  /** One reading outside a transaction, with failures of the driver told as ours. */
  reading<T>(work: () => T, options?: CallOptions): T;
}

/** How long the driver itself waits for a lock: short, so that the deadline is ours. */
const waitMs = 25;
const defaultTimeoutMs = 1_000;

/**
 * `synchronous = FULL`: a commit is on the disk before it is answered, also in WAL. Both settings
 * are the connection's, not the file's.
 */
const settings = 'PRAGMA busy_timeout = 25; PRAGMA synchronous = FULL;';

/** Takes a handle into use. The tables may be made later. */
export function connectionTo(db: SqliteHandle): Connection {
  const prepared = new Map<string, SqliteStatement>();
  let isSet = false;

  const statement = (sql: string): SqliteStatement => {
    const known = prepared.get(sql);
    if (known !== undefined) return known;
    const made = db.prepare(sql);
    prepared.set(sql, made);
    return made;
  };

  const set = (): void => {
    if (isSet) return;
    db.exec(settings);
    isSet = true;
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
    transaction: (work, options) => {
      refuseAborted(options);
      try {
        set();
        // Deferred would take the lock at the first write, and fail if another wrote since BEGIN.
        execWhenFree(db, 'BEGIN IMMEDIATE', options?.timeoutMs ?? defaultTimeoutMs);
      } catch (error) {
        throw failureOf(error, 'not_done');
      }
      return commitAfter(db, work);
    },
    reading: (work, options) => {
      refuseAborted(options);
      try {
        set();
        return work();
      } catch (error) {
        throw failureOf(error, 'not_done');
      }
    },
  };
}

/**
 * Runs a statement again until no other connection is in its way, or the time is up. Nothing else
 * runs in this process meanwhile, so the wait is counted in tries.
 */
export function execWhenFree(db: SqliteHandle, sql: string, timeoutMs: number): void {
  for (let leftMs = timeoutMs; ; leftMs -= waitMs) {
    try {
      db.exec(sql);
      return;
    } catch (error) {
      if (!isBusy(error) || leftMs <= waitMs) throw error;
    }
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
    // A lock or a full disk leaves nothing behind; of a failed write to the disk nobody knows.
    rollBack(db);
    throw failureOf(error, 'unknown');
  }
  return result;
}

/** Some failures have rolled back already, and then there is nothing to do. */
function rollBack(db: SqliteHandle): void {
  try {
    db.exec('ROLLBACK');
  } catch {
    // The failure before this one is what is told.
  }
}

function refuseAborted(options: CallOptions | undefined): void {
  if (options?.signal?.aborted !== true) return;
  throw new StoreUnavailable('the call was given up', { outcome: 'not_done' });
}
