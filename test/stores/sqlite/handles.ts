/** The databases of the suites: libsql in memory and in a file, and `node:sqlite` if available. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import {
  migrateSqlite,
  type SqliteHandle,
  sqliteMigrations,
} from '../../../src/stores/sqlite/index.ts';

/** A handle that can be closed. */
export interface OpenDatabase extends SqliteHandle {
  close(): unknown;
}

/** A kind of database, and how one is opened at a path. */
export interface Kind {
  readonly name: string;
  /** False where every opened database is a new one in memory. */
  readonly inFile: boolean;
  open(path: string): OpenDatabase;
}

/** A file system in memory if possible, since every commit waits for the disk. */
const parentFolder = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const nodeSqlite = loadNodeSqlite();

/** Every kind that this Node version has. */
export const kinds: readonly Kind[] = [
  { name: 'libsql in memory', inFile: false, open: () => new Libsql(':memory:') },
  { name: 'libsql in a file', inFile: true, open: (path) => new Libsql(path) },
  ...(nodeSqlite === undefined
    ? []
    : [{ name: 'node:sqlite in a file', inFile: true, open: nodeSqlite }]),
];

/** The kinds whose handles can share a file. */
export const fileKinds: readonly Kind[] = kinds.filter(({ inFile }) => inFile);

/** A new, open, migrated database, and a function that removes it. */
export interface Scratch {
  readonly db: OpenDatabase;
  /** Opens the same file again. */
  again(): OpenDatabase;
  readonly path: string;
  cleanup(): void;
}

/** A new database with its tables, or with those of an older version. */
export function scratch(kind: Kind, version?: number): Scratch {
  const folder = mkdtempSync(join(parentFolder, 'tollgate-sqlite-'));
  const path = join(folder, 'tollgate.db');
  const opened: OpenDatabase[] = [];
  const again = (): OpenDatabase => {
    const db = kind.open(path);
    opened.push(db);
    return db;
  };
  const db = again();
  if (version === undefined) migrateSqlite(db);
  else migrateTo(db, version);
  return {
    db,
    again,
    path,
    cleanup: () => {
      for (const each of opened) each.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The number of the first migration that contains a text. */
export function migrationWith(text: string): number {
  return sqliteMigrations.findIndex((sql) => sql.includes(text)) + 1;
}

function migrateTo(db: OpenDatabase, version: number): void {
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('CREATE TABLE tollgate_schema (version INTEGER NOT NULL PRIMARY KEY) STRICT');
  for (const [index, sql] of sqliteMigrations.slice(0, version).entries()) {
    db.exec(sql);
    db.exec(`INSERT INTO tollgate_schema (version) VALUES (${index + 1})`);
  }
}

/** Missing in Node 20. Where it is experimental, this swallows its warning. */
function loadNodeSqlite(): ((path: string) => OpenDatabase) | undefined {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    const module: unknown = process.getBuiltinModule?.('node:sqlite');
    if (typeof module !== 'object' || module === null) return undefined;
    const DatabaseSync: unknown = Reflect.get(module, 'DatabaseSync');
    if (typeof DatabaseSync !== 'function') return undefined;
    return (path) => Reflect.construct(DatabaseSync, [path]);
  } finally {
    process.emitWarning = emitWarning;
  }
}
