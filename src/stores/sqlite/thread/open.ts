/**
 * Opens a database in worker threads, so that no disk sync stops the host's event loop: one that
 * writes, one that looks up keys and catalogs beside it, and one for reports.
 */
// Whole, because hosts declare `createRequire` themselves at the head of their bundles.
import nodeModule from 'node:module';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { ConfigurationError } from '../../../errors.ts';
import { isStoreCorrupt, isStoreUnavailable } from '../../../ports/call-options.ts';
import { checkMakerOptions, strict } from '../../../ports/set-up.ts';
import type { OpenDatabase, SqliteDatabase } from '../database.ts';
import { operations } from '../operations.ts';
import { DatabaseThread } from './database-thread.ts';
import type { Opening } from './messages.ts';

const drivers = ['libsql', 'better-sqlite3', 'node:sqlite'] as const;

/** The packages that open SQLite files. */
export type SqliteDriver = (typeof drivers)[number];

/** Options of {@link openSqlite}. */
export interface OpenSqliteOptions {
  /** Default: the first that is installed of `libsql`, `better-sqlite3` and `node:sqlite`. */
  readonly driver?: SqliteDriver;
  /**
   * Where the worker's file is. State it in a bundled app, whose folder lacks the file: copy
   * `tollgate/sqlite-worker` beside the bundle. Default: beside this module.
   */
  readonly workerUrl?: string | URL;
}

/** Where the builds and the tests put the worker, beside this module or not. */
declare const SQLITE_WORKER: string;

const optionsSchema = strict('must be an object', {
  driver: z.enum(drivers, `must be one of ${drivers.join(', ')}`).optional(),
  workerUrl: z.union([z.string(), z.instanceof(URL)], 'must be a URL or a path').optional(),
} satisfies Record<keyof OpenSqliteOptions, z.ZodType>);

/**
 * Opens a database file for all stores of this entry, and creates it if there is none. Commits are
 * shared by the calls that arrive while the one before them is written to the disk.
 *
 * @param path `:memory:` is a database of its own, with one connection
 * @throws ConfigurationError if no driver is installed, or the worker's file is not found;
 *   StoreUnavailable if the file can't be opened
 */
export async function openSqlite(
  path: string,
  options: OpenSqliteOptions = {},
): Promise<SqliteDatabase> {
  return await openIn({ folder: process.cwd() }, path, options);
}

export interface OpenedFrom {
  /** Where the driver is installed. */
  readonly folder: string;
  /** How long after its start a worker that died is started again. Default: 1 s. */
  readonly restartMs?: number;
}

export async function openIn(
  { folder, restartMs = 1_000 }: OpenedFrom,
  path: string,
  options: OpenSqliteOptions,
): Promise<OpenDatabase> {
  checkMakerOptions('openSqlite', optionsSchema, options, {});
  checkPath(path);
  const { driver, workerUrl = new URL(SQLITE_WORKER, import.meta.url) } = options;
  // A worker is also started later, when the folder of the process may be another.
  const absolute = path === ':memory:' ? path : resolve(path);
  const file = driverFile(driver === undefined ? drivers : [driver], folder);
  const starting = (isReader: boolean) => (): Worker => {
    const opening: Opening = { driver: file, path: absolute, isReader };
    return new Worker(workerUrl, { workerData: opening });
  };
  const writer = new DatabaseThread(starting(false), 'unknown', restartMs);
  const { isInFile } = await opened(writer, workerUrl);
  if (!isInFile) {
    // Another connection would have a database of its own.
    return {
      perform: (name, input, how) => writer.perform(name, input, how),
      isInFile,
      close: () => writer.close(),
    };
  }
  const reader = new DatabaseThread(starting(true), 'not_done', restartMs);
  await opened(reader, workerUrl);
  // Started by the first report.
  const reports = new DatabaseThread(starting(true), 'not_done', restartMs);
  return {
    perform: (name, input, how) => {
      if (operations[name].runs !== 'as_query') return writer.perform(name, input, how);
      return (how.mayTakeLong === true ? reports : reader).perform(name, input, how);
    },
    isInFile,
    close: async () => {
      await Promise.all([reader, reports, writer].map((thread) => thread.close()));
    },
  };
}

function checkPath(path: unknown): void {
  if (typeof path === 'string' && path !== '' && !path.includes('\0')) return;
  throw new ConfigurationError("openSqlite: path must be the path of a file, or ':memory:'.");
}

async function opened(
  thread: DatabaseThread,
  workerUrl: string | URL,
): Promise<{ readonly isInFile: boolean }> {
  try {
    return await thread.open();
  } catch (error) {
    if (isStoreUnavailable(error) || isStoreCorrupt(error)) throw error;
    const remedy =
      'In a bundled app, copy tollgate/sqlite-worker beside the bundle and state its place as ' +
      'options.workerUrl';
    throw new ConfigurationError(
      `openSqlite: the worker ${workerUrl} could not be started. ${remedy}.`,
      { cause: error },
    );
  }
}

/**
 * @returns what the worker loads: the path of the module, or the name of one that Node has
 * @throws ConfigurationError if none is installed
 */
function driverFile(names: readonly SqliteDriver[], folder: string): string {
  const places = [join(folder, 'any.js'), import.meta.url];
  for (const name of names) {
    if (name === 'node:sqlite') {
      if (nodeModule.isBuiltin(name)) return name;
      continue;
    }
    for (const place of places) {
      try {
        return nodeModule.createRequire(place).resolve(name);
      } catch {
        // Not installed there.
      }
    }
  }
  const packages = names.filter((name) => name !== 'node:sqlite').join(' or ');
  throw new ConfigurationError(
    packages === ''
      ? 'openSqlite: options.driver is node:sqlite, which this Node does not have. Use libsql.'
      : `openSqlite: no driver of SQLite is installed. Run: npm install ${packages}.`,
  );
}
