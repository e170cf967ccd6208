/** A database as the stores use it: on this thread over the host's handle, or in a worker. */
import { z } from 'zod';
import type { MaybePromise } from '../../ports/call-options.ts';
import { checkMakerOptions } from '../../ports/set-up.ts';
import { connectionTo, type SqliteHandle } from './handle.ts';
import { aHandle, handleRemedy } from './handle-check.ts';
import {
  type InputOf,
  type OperationName,
  type PerformOptions,
  performOn,
  type ResultOf,
} from './operations.ts';

/** A database in a worker thread, opened by `openSqlite`: the `client` of all stores. */
export interface SqliteDatabase {
  /** False for one in memory. */
  readonly isInFile: boolean;
  /** Waits for what the stores have asked for, and closes the file. */
  close(): Promise<void>;
}

/** The same, as the stores see it. */
export interface OpenDatabase extends SqliteDatabase, Performer {}

/** What runs operations. */
export interface Performer {
  perform<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    options: PerformOptions,
  ): MaybePromise<ResultOf<Name>>;
}

/** What the stores take as their `client`. */
export type SqliteClient = SqliteHandle | SqliteDatabase;

export function isDatabase(client: SqliteClient): client is OpenDatabase {
  return 'perform' in client;
}

/** The database itself, or one over the host's handle, which answers directly. */
export function performerOf(client: SqliteClient): Performer {
  if (isDatabase(client)) return client;
  if (!('exec' in client)) throw new TypeError('not a database of openSqlite()');
  const connection = connectionTo(client);
  return {
    perform: (name, input, options) => performOn(connection, name, input, options),
  };
}

/**
 * Creates the tables, or brings them to the newest version, in one transaction; several processes
 * may do so at once. Switches the file to WAL mode, so that readers never wait.
 *
 * @throws ConfigurationError where a newer version of this package has changed the tables so that
 *   this one can't use them; StoreUnavailable where the file can't be written
 */
export function migrateSqlite(db: SqliteClient): MaybePromise<void> {
  const shape = z.object({ client: aHandle });
  checkMakerOptions('migrateSqlite', shape, { client: db }, handleRemedy);
  return performerOf(db).perform('migrate', undefined, { nowMs: 0 });
}
