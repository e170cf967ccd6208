/**
 * Opens a database in worker threads, so that no disk sync stops the host's event loop: one that
 * writes, one that looks up keys and catalogs beside it, and one for reports. At most one group is
 * on its way to a worker, and what arrives meanwhile goes together into the next one.
 */
import nodeModule from 'node:module';
import { join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { ConfigurationError } from '../../../errors.ts';
import { thrownCode } from '../../../events/thrown.ts';
import {
  isStoreCorrupt,
  isStoreUnavailable,
  StoreUnavailable,
} from '../../../ports/call-options.ts';
import { checkMakerOptions, strict } from '../../../ports/set-up.ts';
import type { OpenDatabase, SqliteDatabase } from '../database.ts';
import {
  type InputOf,
  type OperationName,
  operations,
  type PerformOptions,
  type ResultOf,
} from '../operations.ts';
import {
  type FromWorker,
  monotonicMs,
  type Opening,
  type Requested,
  receivedError,
  type ToWorker,
} from './messages.ts';

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

interface Waiting {
  readonly requested: Requested;
  readonly signal: AbortSignal | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** So that one commit does not keep the first of a long queue waiting for the last. */
const maxGroup = 128;

export class DatabaseThread {
  readonly #start: () => Worker;
  /** What is known of operations that a worker had when it died. */
  readonly #outcome: 'not_done' | 'unknown';
  /** A worker that dies at its start must not be started in a loop. */
  readonly #restartMs: number;
  #worker: Worker | undefined;
  #startedMs = Number.NEGATIVE_INFINITY;
  #isOpen = false;
  #isScheduled = false;
  #closed: Promise<void> | undefined;
  #waiting: Waiting[] = [];
  #sent: readonly Waiting[] = [];
  #lastError: unknown;
  #onChange: () => void = () => {};

  constructor(start: () => Worker, outcome: 'not_done' | 'unknown', restartMs: number) {
    this.#start = start;
    this.#outcome = outcome;
    this.#restartMs = restartMs;
  }

  /** Resolves with what the worker says of its file; rejects if it could not open it. */
  open(): Promise<{ readonly isInFile: boolean }> {
    return new Promise((resolve, reject) => {
      this.#onChange = () => {
        if (this.#worker === undefined) reject(this.#lastError);
      };
      this.#launch((message) => {
        if ('opened' in message) resolve(message.opened);
      });
    });
  }

  perform<Name extends OperationName>(
    name: Name,
    input: InputOf<Name>,
    { nowMs, bytes, timeoutMs, signal }: PerformOptions,
  ): Promise<ResultOf<Name>> {
    if (this.#closed !== undefined) return Promise.reject(notDone('the database is closed'));
    const deadlineMs = timeoutMs === undefined ? undefined : monotonicMs() + timeoutMs;
    return new Promise((resolve, reject) => {
      const requested: Requested<Name> = { name, input, nowMs, bytes, deadlineMs };
      this.#waiting.push({ requested, signal, resolve, reject });
      this.#worker?.ref();
      this.#schedule();
    });
  }

  /** Waits for what was requested before, and for the end of the worker. */
  close(): Promise<void> {
    this.#closed ??= this.#drained();
    return this.#closed;
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = () => {
        if (this.#waiting.length > 0 || this.#sent.length > 0) return;
        if (this.#worker === undefined) resolve();
        else this.#post('close');
      };
      this.#worker?.ref();
      this.#onChange();
    });
  }

  /** What one turn of the event loop asks for goes in one message. */
  #schedule(): void {
    if (this.#isScheduled || this.#sent.length > 0) return;
    this.#isScheduled = true;
    if (this.#worker === undefined) {
      const waitMs = Math.max(0, this.#startedMs + this.#restartMs - monotonicMs());
      setTimeout(() => this.#relaunch(), waitMs);
    } else if (this.#isOpen) setImmediate(() => this.#flush());
  }

  #relaunch(): void {
    this.#launch(() => {});
  }

  #launch(onMessage: (message: FromWorker) => void): void {
    this.#startedMs = monotonicMs();
    let worker: Worker;
    try {
      worker = this.#start();
    } catch (error) {
      this.#lastError = error;
      return this.#ended();
    }
    this.#worker = worker;
    worker
      .on('message', (message: FromWorker) => {
        onMessage(message);
        this.#receive(message);
      })
      .on('error', (error) => {
        this.#lastError = error;
      })
      .on('exit', () => this.#ended());
  }

  #receive(message: FromWorker): void {
    if ('answers' in message) return this.#settle(message.answers);
    if ('failed' in message) {
      this.#lastError = receivedError(message.failed);
      return;
    }
    this.#isOpen = true;
    this.#isScheduled = false;
    this.#next();
  }

  #flush(): void {
    this.#isScheduled = false;
    const nowMs = monotonicMs();
    const group: Waiting[] = [];
    const late: Waiting[] = [];
    for (const one of this.#waiting.splice(0, maxGroup)) {
      const isLate = one.signal?.aborted === true || (one.requested.deadlineMs ?? nowMs) < nowMs;
      (isLate ? late : group).push(one);
    }
    for (const one of late) one.reject(notDone('the call ended before its turn'));
    this.#sent = group;
    if (group.length === 0) return this.#next();
    try {
      this.#post(group.map(({ requested }) => requested));
    } catch (error) {
      // A value that can't be sent to another thread.
      this.#sent = [];
      for (const one of group) one.reject(error);
      this.#next();
    }
  }

  #post(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }

  #settle(answers: Extract<FromWorker, { readonly answers: unknown }>['answers']): void {
    const sent = this.#sent;
    this.#sent = [];
    for (const [index, { resolve, reject }] of sent.entries()) {
      const answer = answers[index];
      if (answer === undefined) reject(notDone('the worker gave no answer'));
      else if ('error' in answer) reject(receivedError(answer.error));
      else resolve(answer.value);
    }
    this.#next();
  }

  /** What waits is for the next worker, unless this one could not even open the file. */
  #ended(): void {
    const cause = this.#lastError;
    const lost = this.#sent;
    const given = this.#isOpen ? [] : this.#waiting;
    if (!this.#isOpen) this.#waiting = [];
    this.#sent = [];
    this.#worker = undefined;
    this.#isOpen = false;
    this.#isScheduled = false;
    const options = { outcome: this.#outcome, code: thrownCode(cause), cause };
    const why = options.code === undefined ? '' : `: ${options.code}`;
    for (const { reject } of lost) {
      reject(new StoreUnavailable(`the database's worker ended${why}`, options));
    }
    for (const { reject } of given) reject(notDone('the database could not be opened', cause));
    this.#next();
  }

  #next(): void {
    if (this.#waiting.length > 0) this.#schedule();
    else if (this.#sent.length === 0 && this.#closed === undefined) this.#worker?.unref();
    this.#onChange();
  }
}

function notDone(message: string, cause?: unknown): StoreUnavailable {
  return new StoreUnavailable(message, { outcome: 'not_done', cause });
}
