/** Databases in worker threads for tests, over a driver that can be told to fail. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import { migrateSqlite, type SqliteDatabase } from '../../../src/stores/sqlite/index.ts';
import { openIn } from '../../../src/stores/sqlite/thread/open.ts';
import type { OpenDatabase } from './handles.ts';

const parentFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
/** What goes wrong at one call of the driver by the worker that writes, counted from 1. */
export interface Failure {
  readonly at: number;
  readonly as: 'exit_before' | 'exit_after' | 'full' | 'io';
}

/** A disk on which the file may have no more pages than this. */
export interface SmallDisk {
  readonly maxPages: number;
}

/** A file whose tables exist. */
export interface ThreadScratch {
  readonly path: string;
  /** Opens it in worker threads. */
  open(trouble?: Failure | SmallDisk): Promise<SqliteDatabase>;
  /** Opens it on this thread. */
  handle(): OpenDatabase;
  /** Whether the failure has happened. */
  hasFailed(): boolean;
  /** No worker that is started from now on can open anything. */
  breakDriver(): void;
  cleanup(): Promise<void>;
}

export async function threadScratch(): Promise<ThreadScratch> {
  const folder = mkdtempSync(join(parentFolder, 'tollgate-thread-'));
  const path = join(folder, 'tollgate.db');
  const handles: OpenDatabase[] = [];
  const databases: SqliteDatabase[] = [];
  const handle = (): OpenDatabase => {
    const db = new Libsql(path);
    handles.push(db);
    return db;
  };
  migrateSqlite(handle());
  mkdirSync(join(folder, 'node_modules/libsql'), { recursive: true });
  return {
    path,
    handle,
    breakDriver: () => rmSync(join(folder, 'node_modules/libsql/index.js')),
    hasFailed: () => existsSync(`${path}.failed`),
    open: async (trouble) => {
      writeFileSync(join(folder, 'node_modules/libsql/index.js'), driverWith(trouble));
      const opened = await openIn({ folder, restartMs: 1 }, path, {
        driver: 'libsql',
      });
      databases.push(opened);
      return opened;
    },
    cleanup: async () => {
      for (const each of databases) await each.close();
      for (const each of handles) each.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** libsql, with one failure of the first worker that writes, or on a small disk. */
function driverWith(trouble: Failure | SmallDisk | undefined): string {
  const real = createRequire(import.meta.url).resolve('libsql');
  return `
const { existsSync, writeFileSync } = require('node:fs');
const Libsql = require(${JSON.stringify(real)});
const { at, as, maxPages } = ${JSON.stringify(trouble ?? {})};
let calls = 0;
module.exports = function Failing(path) {
  const db = new Libsql(path);
  if (maxPages !== undefined) db.exec('PRAGMA max_page_count = ' + maxPages);
  let isReader = false;
  const call = (work) => {
    calls += 1;
    if (isReader || calls !== at || existsSync(path + '.failed')) {
      return work();
    }
    writeFileSync(path + '.failed', '');
    if (as === 'exit_before') process.exit(1);
    if (as === 'exit_after') {
      work();
      process.exit(1);
    }
    const code = as === 'full' ? 'SQLITE_FULL' : 'SQLITE_IOERR_WRITE';
    throw Object.assign(new Error(code), { code });
  };
  return {
    exec: (sql) => {
      if (sql.includes('query_only')) isReader = true;
      return call(() => db.exec(sql));
    },
    prepare: (sql) => {
      const statement = db.prepare(sql);
      return {
        run: (...values) => call(() => statement.run(...values)),
        all: (...values) => call(() => statement.all(...values)),
      };
    },
    close: () => db.close(),
  };
};
`;
}
