/** A database as the stores use it: on this thread over the host's handle, or in a worker. */
import { z } from 'zod';
import type { CallOptions, MaybePromise } from '../../ports/call-options.ts';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { type Connection, connectionTo, type SqliteHandle } from './handle.ts';
import { aHandle, handleRemedy } from './handle-check.ts';
import { type InputOf, type OperationName, operations, type ResultOf } from './operations.ts';

/** A database in a worker thread, opened by `openSqlite`. */
export interface SqliteDatabase {
  /**
   * Runs an operation of the stores; not for hosts.
   *
   * @internal
   */
  perform<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    options: PerformOptions,
  ): MaybePromise<ResultOf<Name>>;
  /** False for one in memory. */
  readonly isInFile: boolean;
  /** Waits for what is queued, and closes the file. */
  close(): Promise<void>;
}

export interface PerformOptions extends CallOptions {
  /** The time by the store's clock. */
  readonly nowMs: number;
  /** What the input says of them is in the operation. */
  readonly bytes?: Uint8Array | undefined;
}

/** What runs operations. */
export interface Performer extends Pick<SqliteDatabase, 'perform'> {}

/** What the stores take as their `client`. */
export type SqliteClient = SqliteHandle | SqliteDatabase;

export function isDatabase(client: SqliteClient): client is SqliteDatabase {
  return 'perform' in client;
}

/** The database itself, or one over the host's handle, which answers directly. */
export function performerOf(client: SqliteClient): Performer {
  if (isDatabase(client)) return client;
  const connection = connectionTo(client);
  return {
    perform: (name, input, options) => performOn(connection, name, input, options),
  };
}

/** Runs one operation, in a transaction of its own where it needs one. */
export function performOn<Name extends OperationName>(
  connection: Connection,
  name: Name,
  input: InputOf<Name>,
  { nowMs, bytes, ...options }: PerformOptions,
): ResultOf<Name> {
  const operation = operations[name];
  const run = () => operation.run(connection, input, nowMs, bytes);
  if (operation.runs === 'alone') return run();
  if (operation.runs === 'as_query') return connection.reading(run, options);
  const isDurable = operation.mayBeLost?.(input) !== true;
  return connection.transaction(run, { ...options, isDurable });
}

/**
 * Creates the tables, or brings them to the newest version, in one transaction; several processes
 * may do so at once. Switches the file to WAL mode, so that readers never wait.
 *
 * @throws ConfigurationError where a newer version of this package has changed the tables so that
 *   this one can't use them; StoreUnavailable where the file can't be written
 */
export function migrateSqlite(db: SqliteHandle): void;
export function migrateSqlite(db: SqliteDatabase): Promise<void>;
export function migrateSqlite(db: SqliteClient): MaybePromise<void> {
  const shape = z.object({ client: aHandle });
  checkMakerOptions('migrateSqlite', shape, { client: db }, handleRemedy);
  return performerOf(db).perform('migrate', undefined, { nowMs: 0 });
}
