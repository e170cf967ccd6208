/** The worker of `openSqlite`: opens a database, and does what the host's thread asks for. */
import { createRequire } from 'node:module';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { failureOf } from '../failure.ts';
import { connectionTo, type SqliteHandle } from '../handle.ts';
import { operations } from '../operations.ts';
import { answersTo } from './answers.ts';
import { type FromWorker, type Opening, sentError, type ToWorker } from './messages.ts';

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
