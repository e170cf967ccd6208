/**
 * What the stores ask of a database, as plain data and functions over a connection, so that it runs
 * on whichever thread has the connection. It also migrates a file and checks its tables.
 */
import { ConfigurationError, isError } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import type {
  AdjustInput,
  AdjustResult,
  ExtendInput,
  ExtendResult,
  QuotaState,
  QuotaStore,
  ReleaseInput,
  ReleaseResult,
  ReserveInput,
  ReserveResult,
  SettleInput,
  SettleResult,
} from '../../ports/limits/quota-store.ts';
import { integerAt, textAt, textOrNoneAt } from '../sql/columns.ts';
import type { SqlFunctions } from '../sql/engine.ts';
import { isBusy } from './failure.ts';
import { forgetful, functions } from './functions.ts';
import type { Connection, SqliteValue } from './handle.ts';
import { sqliteMigrations } from './migrations.ts';
import { findHold, type PartitionLedger } from './quota-ledger.ts';
import { adjust, extend, read, release, reserve, settle } from './quota-operations.ts';

/** The input and the result of each operation. */
type Signatures = {
  readonly [Name in keyof SqlFunctions]: readonly [SqlFunctions[Name], JsonValue];
} & {
  readonly query: readonly [Query, readonly unknown[]];
  readonly insert: readonly [Inserted, undefined];
  readonly change: readonly [Query, number];
  readonly reserve: readonly [ReserveInput, ReserveResult];
  readonly extend: readonly [readonly ExtendInput[], readonly ExtendResult[]];
  readonly settle: readonly [SettleInput, SettleResult];
  readonly release: readonly [ReleaseInput, ReleaseResult];
  readonly sweep: readonly [Sweep, SweepResult];
  readonly state: readonly [StateOf, QuotaState | undefined];
  readonly adjust: readonly [AdjustInput, AdjustResult];
  readonly check: readonly [undefined, Checked];
  readonly isInFile: readonly [undefined, boolean];
  readonly migrate: readonly [undefined, undefined];
};

export type OperationName = keyof Signatures;
export type InputOf<Name extends OperationName> = Signatures[Name][0];
export type ResultOf<Name extends OperationName> = Signatures[Name][1];

interface Operation<Input, Result> {
  /**
   * How it runs: as a part of a transaction, outside of any because it begins its own, or as a
   * query, for which a connection that only reads is enough.
   */
  readonly runs: 'in_transaction' | 'alone' | 'as_query';
  /** Whether a crash of the machine may lose it, so that it waits for no disk. Default: never. */
  mayBeLost?(input: Input): boolean;
  run(connection: Connection, input: Input, nowMs: number, bytes?: Uint8Array): Result;
}

export interface PerformOptions extends CallOptions {
  /** The time by the store's clock. */
  readonly nowMs: number;
  /** The content of an input that is otherwise JSON. */
  readonly bytes?: Uint8Array | undefined;
  /** A report, which must keep no look-up of a key waiting. */
  readonly mayTakeLong?: boolean;
}

interface Query {
  readonly sql: string;
  readonly values: readonly SqliteValue[];
}

interface Inserted {
  readonly sql: string;
  readonly rows: readonly (readonly SqliteValue[])[];
  readonly mayBeLost: boolean;
}

interface Sweep {
  readonly max: number;
  readonly partition: string | undefined;
  /** Ended holds are forgotten after this time. */
  readonly endedTtlMs: number;
}

interface StateOf {
  readonly subject: string;
  readonly period: string;
  readonly partition: string;
}

interface SweepResult {
  readonly expired: number;
  readonly more: boolean;
}

type Checked = Awaited<ReturnType<QuotaStore['check']>>;

export const operations: {
  readonly [Name in OperationName]: Operation<InputOf<Name>, ResultOf<Name>>;
} = {
  query: {
    runs: 'as_query',
    run: (connection, { sql, values }) => connection.rows(sql, ...values),
  },
  insert: {
    runs: 'in_transaction',
    mayBeLost: ({ mayBeLost }) => mayBeLost,
    run: (connection, { sql, rows }) => {
      for (const values of rows) connection.run(sql, ...values);
      return undefined;
    },
  },
  change: {
    runs: 'in_transaction',
    run: (connection, { sql, values }) => connection.rows(sql, ...values).length,
  },
  claim: functionOf('claim'),
  rates: functionOf('rates'),
  keep: functionOf('keep'),
  use: functionOf('use'),
  reserve: { runs: 'in_transaction', run: onLedger(reserve) },
  extend: {
    runs: 'in_transaction',
    run: (connection, inputs, nowMs) =>
      inputs.map((input) => onLedger(extend)(connection, input, nowMs)),
  },
  settle: { runs: 'in_transaction', run: onLedger(settle) },
  release: { runs: 'in_transaction', run: onLedger(release) },
  sweep: { runs: 'in_transaction', run: sweep },
  state: {
    runs: 'in_transaction',
    run: onLedger((ledger, { subject, period }) => read(ledger, subject, period)),
  },
  adjust: { runs: 'in_transaction', run: onLedger(adjustOnce) },
  check: { runs: 'alone', run: check },
  isInFile: { runs: 'alone', run: (connection) => connection.reading(() => isInFile(connection)) },
  migrate: {
    runs: 'alone',
    run: (connection) => {
      migrate(connection);
      return undefined;
    },
  },
};

function onLedger<Input extends { readonly partition: string }, Result>(
  operation: (ledger: PartitionLedger, input: Input) => Result,
): Operation<Input, Result>['run'] {
  return (connection, input, nowMs) =>
    operation({ connection, partition: input.partition, nowMs }, input);
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

function functionOf<Name extends keyof SqlFunctions>(
  name: Name,
): Operation<SqlFunctions[Name], JsonValue> {
  return {
    runs: 'in_transaction',
    mayBeLost: () => forgetful.has(name),
    run: functions[name],
  };
}

// INDEXED BY, because the planner prefers the primary key and would read all ended reservations.
const selectDue = `
SELECT quota_partition, id FROM tollgate_hold INDEXED BY tollgate_hold_due
WHERE state = 'held' AND due_at_ms <= ? ORDER BY due_at_ms LIMIT ?`;
const selectDueOfPartition = `
SELECT quota_partition, id FROM tollgate_hold INDEXED BY tollgate_hold_due
WHERE state = 'held' AND due_at_ms <= ? AND quota_partition = ? ORDER BY due_at_ms LIMIT ?`;
const forgetHolds = `
DELETE FROM tollgate_hold WHERE (quota_partition, id) IN (
  SELECT quota_partition, id FROM tollgate_hold
  WHERE ended_at_ms <= ? ORDER BY ended_at_ms LIMIT ?
)`;
const selectAdjustment = `
SELECT id FROM tollgate_adjustment WHERE quota_partition = ? AND id = ?`;
const insertAdjustment = `
INSERT INTO tollgate_adjustment (quota_partition, id, adjusted_at_ms) VALUES (?, ?, ?)`;

/** Statements of sweeps and adjustments, exported so that a test can check their query plans. */
export const sweepStatements: readonly string[] = [
  selectDue,
  selectDueOfPartition,
  forgetHolds,
  selectAdjustment,
];

/** Ended holds that one sweep deletes at most: with a sweep every 30 s, enough for 300 calls/s. */
const maxForgotten = 10_000n;

function sweep(
  connection: Connection,
  { max, partition, endedTtlMs }: Sweep,
  nowMs: number,
): SweepResult {
  connection.run(forgetHolds, BigInt(nowMs - endedTtlMs), maxForgotten);
  const due = (limit: number): readonly unknown[] =>
    partition === undefined
      ? connection.rows(selectDue, BigInt(nowMs), BigInt(limit))
      : connection.rows(selectDueOfPartition, BigInt(nowMs), partition, BigInt(limit));
  const expired = due(max);
  for (const row of expired) {
    findHold({ connection, partition: textAt(row, 'quota_partition'), nowMs }, textAt(row, 'id'));
  }
  return { expired: expired.length, more: due(1).length > 0 };
}

function adjustOnce(ledger: PartitionLedger, input: AdjustInput): AdjustResult {
  const { connection, partition, nowMs } = ledger;
  const replay = connection.row(selectAdjustment, partition, input.id) !== undefined;
  if (!replay) connection.run(insertAdjustment, partition, input.id, BigInt(nowMs));
  return adjust(ledger, input, replay);
}

/** Whether the database has a file; one in memory has none. */
function isInFile(connection: Connection): boolean {
  const main = connection
    .rows('PRAGMA database_list')
    .find((row) => textAt(row, 'name') === 'main');
  return (textOrNoneAt(main, 'file') ?? '') !== '';
}

function check(connection: Connection): Checked {
  const problems = connection.reading(() => [
    ...schemaProblems(connection),
    ...settingProblems(connection),
  ]);
  if (problems.length > 0) return { ok: false, problems };
  checkWritable(connection);
  return { ok: true };
}

/**
 * Rewrites a page unchanged: reading also works on a full disk or in a read-only file, where no
 * call could be charged.
 */
function checkWritable(connection: Connection): void {
  const rewrite = (): void => {
    const version = integerAt(connection.row('PRAGMA user_version'), 'user_version');
    connection.run(`PRAGMA user_version = ${version}`);
  };
  try {
    connection.transaction(rewrite, { timeoutMs: lockWaitMs });
  } catch (error) {
    // If another connection is writing, the file can be written.
    if (!isError(error) || !isBusy(error.cause)) throw error;
  }
}

/** Short, because it blocks the process, and readiness probes check often. */
const lockWaitMs = 50;

function settingProblems(connection: Connection): readonly string[] {
  const mode = textAt(connection.row('PRAGMA journal_mode'), 'journal_mode');
  const level = integerAt(connection.row('PRAGMA synchronous'), 'synchronous');
  const isReadOnly = integerAt(connection.row('PRAGMA query_only'), 'query_only') === 1;
  return [
    // `memory` is right only for a database in memory: a crash would corrupt a file in that mode.
    ...(mode === 'wal' || (mode === 'memory' && !isInFile(connection))
      ? []
      : [`journal_mode is ${mode}, not wal: run migrateSqlite(db)`]),
    ...(level >= 2 ? [] : ['synchronous is below FULL: leave it as the store sets it']),
    ...(isReadOnly ? ['query_only is on: give the store a handle that can write'] : []),
  ];
}

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
function migrate(connection: Connection): void {
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
function schemaProblems(connection: Connection): readonly string[] {
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
