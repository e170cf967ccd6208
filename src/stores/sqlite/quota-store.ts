/**
 * Quota in a SQLite file: durable, exact over any number of processes on one machine. Each
 * operation is one transaction that holds the file's only write lock from its first moment.
 */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import {
  checkAdjust,
  checkEnding,
  checkExtend,
  checkReserve,
  checkRow,
  checkSweep,
} from '../../ports/quota-input.ts';
import type { AdjustInput, QuotaState, QuotaStore } from '../../ports/quota-store.ts';
import { aClock, checkMakerOptions, positive } from '../../ports/set-up.ts';
import { integerAt, textAt, textOrNoneAt } from '../sql/columns.ts';
import { type Connection, connectionTo, type SqliteHandle } from './handle.ts';
import { type Books, findHold } from './quota-books.ts';
import { adjust, extend, read, release, reserve, settle } from './quota-operations.ts';
import { aHandle, handleCure, schemaProblems } from './schema.ts';

/** The database, the clock of the leases, and how long is remembered. */
export interface SqliteQuotaStoreOptions {
  /** Open, migrated, and not in the middle of a transaction when the store is asked. */
  readonly client: SqliteHandle;
  /** The store's own clock, by which leases end: the machine's, which all processes share. */
  readonly clock?: Clock;
  /** How long a reservation that has ended is remembered for repeats; an hour where left out. */
  readonly endedTtlMs?: number;
}

const optionsSchema = z.strictObject(
  {
    client: aHandle,
    clock: aClock.optional(),
    endedTtlMs: positive.optional(),
  } satisfies Record<keyof SqliteQuotaStoreOptions, z.ZodType>,
  'must be an object',
);

// Named, for the planner would rather walk a partition's tombstones by the primary key.
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

/** The statements of a sweep and of an adjustment, for the test of their plans. */
export const sweepStatements: readonly string[] = [
  selectDue,
  selectDueOfPartition,
  forgetHolds,
  selectAdjustment,
];

/** One sweep forgets at most so many: at one every half minute, those of 300 calls a second. */
const mostForgotten = 10_000n;

/**
 * A quota store over a migrated database; answers at once, never by promise. Adjustments are
 * remembered for ever: a payment may be told again after days.
 *
 * @throws ConfigurationError that names the option and the cure; StoreUnavailable where the
 *   database can't be read
 */
export function sqliteQuotaStore(options: SqliteQuotaStoreOptions): QuotaStore {
  checkMakerOptions('sqliteQuotaStore', optionsSchema, options, handleCure);
  const { client, clock = systemClock(), endedTtlMs = 3_600_000 } = options;
  const connection = connectionTo(client);
  const durability = connection.reading(() => (isInFile(connection) ? 'durable' : 'process'));

  const inBooks = <T>(
    partition: string,
    call: CallOptions | undefined,
    work: (books: Books) => T,
  ): T => connection.transaction(() => work({ connection, partition, nowMs: clock.now() }), call);

  return {
    durability,
    reserve: (input, call) => {
      checkReserve(input);
      return inBooks(input.partition, call, (books) => reserve(books, input));
    },
    extend: (inputs, call) => {
      checkExtend(inputs);
      if (inputs.length === 0) return [];
      return connection.transaction(() => {
        const nowMs = clock.now();
        return inputs.map((input) =>
          extend({ connection, partition: input.partition, nowMs }, input),
        );
      }, call);
    },
    settle: (input, call) => {
      checkEnding(input);
      return inBooks(input.partition, call, (books) => settle(books, input));
    },
    release: (input, call) => {
      checkEnding(input);
      return inBooks(input.partition, call, (books) => release(books, input));
    },
    sweep: (bounds) => {
      checkSweep(bounds);
      return connection.transaction(() => {
        const nowMs = clock.now();
        connection.run(forgetHolds, BigInt(nowMs - endedTtlMs), mostForgotten);
        return sweep(connection, bounds, nowMs);
      }, bounds);
    },
    read: (subject, period, partition, call) => {
      checkRow(subject, period, partition);
      return inBooks(partition, call, (books) => read(books, subject, period));
    },
    adjust: (input, call) => {
      checkAdjust(input);
      return inBooks(input.partition, call, (books) => adjustOnce(books, input));
    },
    check: (call) => connection.reading(() => verdictOn(connection), call),
    // The handle is the host's, and nothing is pending, ever.
    close: () => {},
  };
}

/** What is in memory has no file to its name. */
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
  const due = (most: number): readonly unknown[] =>
    partition === undefined
      ? connection.rows(selectDue, BigInt(nowMs), BigInt(most))
      : connection.rows(selectDueOfPartition, BigInt(nowMs), partition, BigInt(most));
  const expired = due(max);
  for (const row of expired) {
    findHold({ connection, partition: textAt(row, 'quota_partition'), nowMs }, textAt(row, 'id'));
  }
  return { expired: expired.length, more: due(1).length > 0 };
}

function adjustOnce(books: Books, input: AdjustInput): QuotaState {
  const { connection, partition, nowMs } = books;
  const isRepeated = connection.row(selectAdjustment, partition, input.id) !== undefined;
  if (!isRepeated) connection.run(insertAdjustment, partition, input.id, BigInt(nowMs));
  return adjust(books, input, isRepeated);
}

function verdictOn(connection: Connection): Awaited<ReturnType<QuotaStore['check']>> {
  const problems = [...schemaProblems(connection), ...settingProblems(connection)];
  return problems.length === 0 ? { ok: true } : { ok: false, problems };
}

function settingProblems(connection: Connection): readonly string[] {
  const mode = textAt(connection.row('PRAGMA journal_mode'), 'journal_mode');
  const level = integerAt(connection.row('PRAGMA synchronous'), 'synchronous');
  const isReadOnly = integerAt(connection.row('PRAGMA query_only'), 'query_only') === 1;
  return [
    // A database in memory has no other mode. A file with its journal there breaks in a crash.
    ...(mode === 'wal' || (mode === 'memory' && !isInFile(connection))
      ? []
      : [`journal_mode is ${mode}, not wal: run migrateSqlite(db)`]),
    ...(level >= 2 ? [] : ['synchronous is below FULL: leave it as the store sets it']),
    ...(isReadOnly ? ['query_only is on: give the store a handle that may write'] : []),
  ];
}
