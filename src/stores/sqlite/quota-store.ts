/**
 * A quota store in SQLite: durable, and exact over any number of processes on one machine. Each
 * operation is one transaction that holds the file's write lock from its beginning.
 */
import type { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import { isError } from '../../errors.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import {
  checkAdjust,
  checkEnding,
  checkExtend,
  checkReserve,
  checkRow,
  checkSweep,
} from '../../ports/quota-input.ts';
import type { AdjustInput, AdjustResult, QuotaStore } from '../../ports/quota-store.ts';
import { checkMakerOptions, positive, strict } from '../../ports/set-up.ts';
import { integerAt, textAt, textOrNoneAt } from '../sql/columns.ts';
import { isBusy } from './failure.ts';
import { type Connection, connectionTo, type SqliteHandle } from './handle.ts';
import { handleAndClock, handleRemedy } from './handle-check.ts';
import { findHold, type PartitionLedger } from './quota-ledger.ts';
import { adjust, extend, read, release, reserve, settle } from './quota-operations.ts';
import { schemaProblems } from './schema.ts';

/** The database, the clock of the leases, and how long ended reservations are remembered. */
export interface SqliteQuotaStoreOptions {
  /** Open, migrated, and not inside a transaction when the store is called. */
  readonly client: SqliteHandle;
  /** The clock by which leases end. Default: the machine's clock, which all processes share. */
  readonly clock?: Clock;
  /** How long an ended reservation is remembered to answer repeats. Default: an hour. */
  readonly endedTtlMs?: number;
}

const optionsSchema = strict('must be an object', {
  ...handleAndClock,
  endedTtlMs: positive.optional(),
} satisfies Record<keyof SqliteQuotaStoreOptions, z.ZodType>);

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

/**
 * A quota store over a migrated database; its methods return directly, never a promise. Adjustments
 * are remembered forever, since a payment may be reported again after days.
 *
 * @throws ConfigurationError that names the option and says how to fix it; StoreUnavailable where
 *   the database can't be read
 */
export function sqliteQuotaStore(options: SqliteQuotaStoreOptions): QuotaStore {
  checkMakerOptions('sqliteQuotaStore', optionsSchema, options, handleRemedy);
  const { client, clock = systemClock(), endedTtlMs = 3_600_000 } = options;
  const connection = connectionTo(client);
  const durability = connection.reading(() => (isInFile(connection) ? 'durable' : 'process'));

  const inLedger = <T>(
    partition: string,
    callOptions: CallOptions | undefined,
    work: (ledger: PartitionLedger) => T,
  ): T =>
    connection.transaction(() => work({ connection, partition, nowMs: clock.now() }), callOptions);

  return {
    durability,
    reserve: (input, callOptions) => {
      checkReserve(input);
      return inLedger(input.partition, callOptions, (ledger) => reserve(ledger, input));
    },
    extend: (inputs, callOptions) => {
      checkExtend(inputs);
      if (inputs.length === 0) return [];
      return connection.transaction(() => {
        const nowMs = clock.now();
        return inputs.map((input) =>
          extend({ connection, partition: input.partition, nowMs }, input),
        );
      }, callOptions);
    },
    settle: (input, callOptions) => {
      checkEnding(input);
      return inLedger(input.partition, callOptions, (ledger) => settle(ledger, input));
    },
    release: (input, callOptions) => {
      checkEnding(input);
      return inLedger(input.partition, callOptions, (ledger) => release(ledger, input));
    },
    sweep: (bounds) => {
      checkSweep(bounds);
      return connection.transaction(() => {
        const nowMs = clock.now();
        connection.run(forgetHolds, BigInt(nowMs - endedTtlMs), maxForgotten);
        return sweep(connection, bounds, nowMs);
      }, bounds);
    },
    read: (subject, period, partition, callOptions) => {
      checkRow(subject, period, partition);
      return inLedger(partition, callOptions, (ledger) => read(ledger, subject, period));
    },
    adjust: (input, callOptions) => {
      checkAdjust(input);
      return inLedger(input.partition, callOptions, (ledger) => adjustOnce(ledger, input));
    },
    check: (callOptions) => {
      const result = connection.reading(() => checkResult(connection), callOptions);
      if (result.ok) checkWritable(connection);
      return result;
    },
    // The host closes its handle, and there is nothing to wait for.
    close: () => {},
  };
}

/** Whether the database has a file; one in memory has none. */
function isInFile(connection: Connection): boolean {
  const main = connection
    .rows('PRAGMA database_list')
    .find((row) => textAt(row, 'name') === 'main');
  return (textOrNoneAt(main, 'file') ?? '') !== '';
}

function sweep(
  connection: Connection,
  { max, partition }: { readonly max: number; readonly partition?: string },
  nowMs: number,
): { readonly expired: number; readonly more: boolean } {
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

function checkResult(connection: Connection): Awaited<ReturnType<QuotaStore['check']>> {
  const problems = [...schemaProblems(connection), ...settingProblems(connection)];
  return problems.length === 0 ? { ok: true } : { ok: false, problems };
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
