/**
 * The worker of `openSqlite`: opens a database, and does what the host's thread asks for, all of a
 * message in one transaction.
 */
import { createRequire } from 'node:module';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { StoreUnavailable } from '../../../ports/call-options.ts';
import { failureOf } from '../failure.ts';
import { type Connection, connectionTo, type SqliteHandle } from '../handle.ts';
import { type OperationName, operations, performOn } from '../operations.ts';
import {
  type Answer,
  type FromWorker,
  monotonicMs,
  type Opening,
  type Requested,
  sentError,
  type ToWorker,
} from './messages.ts';

interface ClosableHandle extends SqliteHandle {
  close(): unknown;
}

if (isMainThread || parentPort === null) {
  throw new Error('tollgate/sqlite-worker runs only as the worker of openSqlite().');
}
const port = parentPort;
const opening: Opening = workerData;
const send = (message: FromWorker): void => port.postMessage(message);

try {
  const db = open(opening);
  // Drivers read the file at the first statement only; this finds a file that is no database.
  db.exec('PRAGMA schema_version');
  const connection = connectionTo(db);
  const isInFile = operations.isInFile.run(connection, undefined, 0);
  if (opening.isReader) db.exec('PRAGMA query_only = ON');
  port.on('message', (message: ToWorker) => {
    if (message !== 'close') return send({ answers: answersTo(connection, message) });
    db.close();
    port.close();
  });
  send({ opened: { isInFile } });
} catch (error) {
  send({ failed: sentError(failureOf(error, 'not_done')) });
}

function open({ driver, path }: Opening): ClosableHandle {
  // Any file of the folder would do: the driver's own path is absolute.
  const loaded: unknown = createRequire(`${process.cwd()}/any.js`)(driver);
  const name = driver === 'node:sqlite' ? 'DatabaseSync' : 'default';
  const Database = memberOf(loaded, name) ?? loaded;
  if (typeof Database !== 'function') throw new TypeError(`${driver} is no driver of SQLite`);
  return Reflect.construct(Database, [path]);
}

function memberOf(value: unknown, name: string): unknown {
  const canHave = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return canHave ? Reflect.get(value, name) : undefined;
}

/** The answers in the order of the operations. Never throws. */
function answersTo(connection: Connection, requested: readonly Requested[]): readonly Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; at < requested.length; ) {
    const end = endOfGroup(requested, at);
    const group = requested.slice(at, end);
    const [first] = group;
    answers.push(
      ...(group.length === 1 && first !== undefined
        ? [answered(() => alone(connection, first))]
        : together(connection, group)),
    );
    at = end;
  }
  return answers;
}

/** Those that can share a transaction follow each other; others are on their own. */
function endOfGroup(requested: readonly Requested[], begin: number): number {
  let end = begin;
  while (operations[requested[end]?.name ?? 'check'].runs === 'in_transaction') end += 1;
  return Math.max(end, begin + 1);
}

function alone<Name extends OperationName>(
  connection: Connection,
  requested: Requested<Name>,
): unknown {
  const { name, input, nowMs, bytes } = requested;
  refuseLate(requested);
  return performOn(connection, name, input, { nowMs, bytes, timeoutMs: remainingMs([requested]) });
}

/**
 * One commit for all. An operation that fails is undone alone; if the transaction itself fails,
 * nothing is done, and if the commit fails, nobody knows.
 */
function together(connection: Connection, group: readonly Requested[]): readonly Answer[] {
  const isDurable = group.some((requested) => !mayBeLost(requested));
  try {
    return connection.transaction(
      () => group.map((requested) => inSavepoint(connection, requested)),
      {
        timeoutMs: remainingMs(group),
        isDurable,
      },
    );
  } catch (error) {
    const failed = { error: sentError(error) };
    return group.map(() => failed);
  }
}

function mayBeLost<Name extends OperationName>({ name, input }: Requested<Name>): boolean {
  return operations[name].mayBeLost?.(input) === true;
}

function inSavepoint<Name extends OperationName>(
  connection: Connection,
  requested: Requested<Name>,
): Answer {
  const { name, input, nowMs, bytes } = requested;
  connection.run('SAVEPOINT tollgate');
  let answer: Answer;
  try {
    refuseLate(requested);
    answer = { value: operations[name].run(connection, input, nowMs, bytes) };
  } catch (error) {
    undo(connection, error);
    answer = { error: sentError(failureOf(error, 'not_done')) };
  }
  connection.run('RELEASE tollgate');
  return answer;
}

/** A full disk or an I/O error ends the whole transaction, and with it the savepoint. */
function undo(connection: Connection, cause: unknown): void {
  try {
    connection.run('ROLLBACK TO tollgate');
  } catch {
    throw new StoreUnavailable('SQLite ended the transaction', { outcome: 'not_done', cause });
  }
}

function answered(work: () => unknown): Answer {
  try {
    return { value: work() };
  } catch (error) {
    return { error: sentError(failureOf(error, 'unknown')) };
  }
}

function refuseLate({ deadlineMs }: Requested): void {
  if (deadlineMs === undefined || deadlineMs > monotonicMs()) return;
  throw new StoreUnavailable('the time for the call was over', { outcome: 'not_done' });
}

/** As long as any of them may wait for a lock. */
function remainingMs(group: readonly Requested[]): number {
  const nowMs = monotonicMs();
  const times = group.map(({ deadlineMs }) =>
    Math.max(0, (deadlineMs ?? nowMs + usualWaitMs) - nowMs),
  );
  return Math.max(...times);
}

const usualWaitMs = 1_000;
