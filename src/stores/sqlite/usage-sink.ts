/** The usage log in a SQLite table: written in batches, and asked for bills. */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import { swallowErrors } from '../../events.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import { aClock, aFunction, checkMakerOptions, positive, wait } from '../../ports/set-up.ts';
import { isInDoubt, type UsageRecord, type UsageSink } from '../../ports/usage-sink.ts';
import type { SqlValue } from '../sql/columns.ts';
import type {
  UsageCharges,
  UsageChargesFilter,
  UsageFilter,
  UsagePage,
  UsageQueries,
  UsageRecordPage,
  UsageReportQuery,
  UsageReportRow,
} from '../sql/usage-report.ts';
import { usageColumns, usageValuesOf } from '../sql/usage-row.ts';
import { failureOf, isRefused } from './failure.ts';
import { type Connection, connectionTo, type SqliteHandle, type SqliteValue } from './handle.ts';
import { aHandle, handleCure } from './schema.ts';
import { readUsageCharges, readUsagePage, readUsageReport } from './usage-queries.ts';

/** The database, and how much may wait to be written. */
export interface SqliteUsageSinkOptions {
  /** Open and migrated. */
  readonly client: SqliteHandle;
  /** How long a record may wait for others to be written with it; 200 ms where left out. */
  readonly flushMs?: number;
  /** How many records may wait while the file can't be written; 10,000 where left out. */
  readonly maxBufferedRecords?: number;
  /**
   * Called with each write that failed; its records are kept and written with the next. What it
   * throws is swallowed.
   */
  readonly onError?: (error: unknown) => void;
  /**
   * Called with each record that will never be written: the file refuses it for what is in it, or
   * can't be written for 8 s while the sink closes. What it throws is swallowed. Where left out,
   * `close()` rejects.
   */
  readonly onLost?: (record: UsageRecord, error: unknown) => void;
  readonly clock?: Clock;
}

/** A sink that can be asked; answers at once, never by promise. */
export interface SqliteUsageSink extends UsageSink, UsageQueries {
  record(entry: UsageRecord): void;
  usageReport(query: UsageReportQuery, options?: CallOptions): readonly UsageReportRow[];
  usageCharges(filter?: UsageChargesFilter, options?: CallOptions): readonly UsageCharges[];
  usageRecords(filter: UsageFilter, page?: UsagePage, options?: CallOptions): UsageRecordPage;
}

const optionsSchema = z.strictObject(
  {
    client: aHandle,
    flushMs: wait.optional(),
    maxBufferedRecords: positive.optional(),
    onError: aFunction.optional(),
    onLost: aFunction.optional(),
    clock: aClock.optional(),
  } satisfies Record<keyof SqliteUsageSinkOptions, z.ZodType>,
  'must be an object',
);

const insertUsage = [
  'INSERT INTO tollgate_usage (',
  usageColumns.map(({ name }) => name).join(', '),
  ') VALUES (',
  usageColumns.map(() => '?').join(', '),
  `)
ON CONFLICT (request_id, reservation_id) DO UPDATE
SET outcome = excluded.outcome, reason = excluded.reason, basis = excluded.basis,
  charge_nanos = excluded.charge_nanos, booked = excluded.booked, revision = excluded.revision
WHERE excluded.revision > tollgate_usage.revision`,
].join('');

/** The most that one transaction writes: others wait for it meanwhile. */
const batchSize = 500;

/** How long writes are tried while the sink closes: the gateway waits 10 s for it. */
const closingMs = 8_000;

/** A closing sink waits in short turns, for whoever has the lock may be in this process. */
const turn = { timeoutMs: 250, pauseMs: 100 };

/**
 * A usage sink over a migrated database. Each call is one row, by its request and reservation: a
 * batch that is written again counts once, and a later revision takes the place of an earlier one.
 * A record of a call in doubt is on the disk when `record` returns.
 *
 * A full buffer refuses the new record, by an error for whoever recorded it: what was taken is
 * written, or told as lost.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function sqliteUsageSink(options: SqliteUsageSinkOptions): SqliteUsageSink {
  checkMakerOptions('sqliteUsageSink', optionsSchema, options, handleCure);
  const { client, flushMs = 200, maxBufferedRecords = 10_000, clock = systemClock() } = options;
  const connection = connectionTo(client);
  const { onError, onLost } = options;
  const waiting: Taken[] = [];
  let untold: unknown;
  let closed = false;

  const lose = (record: UsageRecord, error: unknown): void => {
    if (onLost === undefined) untold ??= error;
    else swallowErrors(() => onLost(record, error));
  };

  const flush = (call?: CallOptions): void => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchSize);
      const refused = connection.transaction(() => write(connection, batch), call);
      waiting.splice(0, batch.length);
      for (const { record, error } of refused) lose(record, error);
    }
  };

  const stop = clock.every(flushMs, () => {
    try {
      flush();
    } catch (error) {
      swallowErrors(() => onError?.(error));
    }
  });

  const writeLast = async (): Promise<void> => {
    const untilMs = clock.monotonicMs() + closingMs;
    while (waiting.length > 0) {
      try {
        flush(turn);
      } catch (error) {
        if (clock.monotonicMs() < untilMs) await pause(turn.pauseMs);
        else for (const { record } of waiting.splice(0)) lose(record, error);
      }
    }
  };

  return {
    record: (entry) => {
      if (closed) throw new Error('The usage log is closed.');
      if (waiting.length >= maxBufferedRecords) throw new Error('The usage log is full.');
      waiting.push({ record: entry, values: usageValuesOf(entry).map(bindable) });
      if (isInDoubt(entry)) flush();
    },
    close: async () => {
      closed = true;
      stop();
      await writeLast();
      if (untold !== undefined) throw untold;
    },
    // What was recorded here is in the answer, so it is written first.
    usageReport: (query, call) => {
      flush(call);
      return readUsageReport(connection, query, call);
    },
    usageCharges: (filter, call) => {
      flush(call);
      return readUsageCharges(connection, filter, call);
    },
    usageRecords: (filter, page, call) => {
      flush(call);
      return readUsagePage(connection, filter, page, call);
    },
  };
}

/** A record that waits to be written. */
interface Taken {
  readonly record: UsageRecord;
  readonly values: readonly SqliteValue[];
}

/** A record that the file refused, which changed nothing and ended no transaction. */
interface Refused {
  readonly record: UsageRecord;
  readonly error: Error;
}

/** Writes a batch inside a transaction, but for what of it is refused: that must not block it. */
function write(connection: Connection, batch: readonly Taken[]): readonly Refused[] {
  const refused: Refused[] = [];
  for (const { record, values } of batch) {
    try {
      connection.run(insertUsage, ...values);
    } catch (error) {
      if (!isRefused(error)) throw error;
      refused.push({ record, error: failureOf(error, 'not_done') });
    }
  }
  return refused;
}

/** SQLite has no booleans. What no driver binds is refused here, where one record is at stake. */
function bindable(value: SqlValue): SqliteValue {
  if (typeof value === 'object' && value !== null) {
    throw new RangeError('Usage record refused: a member is an object.');
  }
  if (typeof value !== 'boolean') return value;
  return value ? 1n : 0n;
}
