/** Applies the migrations to a file, and says what is wrong with its tables. */
import { ConfigurationError } from '../../errors.ts';
import { integerAt, textAt } from '../sql/columns.ts';
import type { Connection } from './handle.ts';
import { sqliteMigrations } from './migrations.ts';

const versionTable = `
CREATE TABLE IF NOT EXISTS tollgate_schema (
  version INTEGER NOT NULL PRIMARY KEY
) STRICT;
`;

const selectVersion = 'SELECT coalesce(max(version), 0) AS version FROM tollgate_schema';
/** Read only where the version is newer than this package's, so that the column exists. */
const selectOldest =
  'SELECT coalesce(max(oldest_compatible), 1) AS oldest_compatible FROM tollgate_schema';
const insertVersion = 'INSERT INTO tollgate_schema (version) VALUES (?)';

/**
 * Creates the tables, or brings them to the newest version, in one transaction; several processes
 * may do so at once. Switches the file to WAL mode, so that readers never wait.
 *
 * @throws ConfigurationError where a newer version of this package has changed the tables so that
 *   this one can't use them; StoreUnavailable where the file can't be written
 */
export function migrate(connection: Connection): void {
  connection.reading(() => {
    const mode = textAt(connection.row('PRAGMA journal_mode'), 'journal_mode');
    // Switching waits for readers, so it is done only if needed. It has no effect on a database in
    // memory.
    if (mode === 'wal') return;
    connection.execWhenFree('PRAGMA journal_mode = WAL', migrationDeadline.timeoutMs);
  });
  connection.transaction(() => {
    connection.exec(versionTable);
    const version = integerAt(connection.row(selectVersion), 'version');
    const refusal = newerProblem(connection, version);
    if (refusal !== undefined) throw new ConfigurationError(`migrateSqlite: ${refusal}.`);
    for (const [index, migration] of sqliteMigrations.entries()) {
      if (index < version) continue;
      connection.exec(migration);
      connection.run(insertVersion, BigInt(index + 1));
    }
    const [problem] = layoutProblems(connection);
    if (problem !== undefined) throw new ConfigurationError(`migrateSqlite: ${problem}.`);
  }, migrationDeadline);
}

/** Long, since other processes may be migrating much data. */
const migrationDeadline = { timeoutMs: 30_000 };

/** The problems of the file's tables, each a sentence; empty where there is none. */
export function schemaProblems(connection: Connection): readonly string[] {
  const found = connection.row(
    "SELECT count(*) AS tables FROM sqlite_master WHERE name = 'tollgate_schema'",
  );
  if (integerAt(found, 'tables') === 0) return ['the tables are missing: run migrateSqlite(db)'];
  const version = integerAt(connection.row(selectVersion), 'version');
  const refusal = newerProblem(connection, version);
  if (refusal !== undefined) return [refusal];
  if (version >= sqliteMigrations.length) return layoutProblems(connection);
  return [
    `the tables are of version ${version}, not ${sqliteMigrations.length}: run migrateSqlite(db)`,
  ];
}

/** Why these tables can't be used, where a newer version of the package has changed them. */
function newerProblem(connection: Connection, version: number): string | undefined {
  const own = sqliteMigrations.length;
  if (version <= own) return undefined;
  const oldest = integerAt(connection.row(selectOldest), 'oldest_compatible');
  if (oldest <= own) return undefined;
  const needed = `which only packages of table version ${oldest} or later can use`;
  return `the tables are of version ${version}, ${needed}: update this package, which has ${own}`;
}

/**
 * Tables made before the first release have the same version number but other columns, so one new
 * column is looked for in each table that has changed.
 */
const newColumns: readonly (readonly [table: string, column: string])[] = [
  ['tollgate_quota', 'extra_nanos'],
  ['tollgate_hold', 'idle'],
  ['tollgate_lease', 'idle'],
  ['tollgate_usage', 'cost_nanos'],
];

function layoutProblems(connection: Connection): readonly string[] {
  const hasAll = newColumns.every(([table, column]) => {
    const found = connection.row(
      'SELECT count(*) AS columns FROM pragma_table_info(?) WHERE name = ?',
      table,
      column,
    );
    return integerAt(found, 'columns') === 1;
  });
  return hasAll ? [] : [oldLayout];
}

const oldLayout =
  "the tables are those of a version before the first release, which this package can't use: " +
  'start with a new file, or drop the tables that begin with tollgate_ and run migrateSqlite(db)';
