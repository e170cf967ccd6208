/** The usage log in a SQLite table: written in batches, and queried for bills. */
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
import { aHandle, handleRemedy } from './schema.ts';
import { readUsageCharges, readUsagePage, readUsageReport } from './usage-queries.ts';

/** The database, and how many records may wait to be written. */
export interface SqliteUsageSinkOptions {
  /** Open and migrated. */
  readonly client: SqliteHandle;
  /** How long a record may wait to be written together with others. Default: 200 ms. */
  readonly flushMs?: number;
  /** How many records may wait while the file can't be written. Default: 10,000. */
  readonly maxBufferedRecords?: number;
  /**
   * Called for each failed write. Its records are kept and written with the next. Errors that the
   * callback throws are ignored.
   */
  readonly onError?: (error: unknown) => void;
  /**
   * Called for each record that is given up: SQLite refused its content, or the file could not be
   * written for 8 s while the sink was closing. Errors that the callback throws are ignored.
   * Without it, `close()` rejects.
   */
  readonly onLost?: (record: UsageRecord, error: unknown) => void;
  readonly clock?: Clock;
}

/** A sink whose log can be queried; returns directly, never a promise. */
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

/** How many records one transaction writes at most, since others wait for it meanwhile. */
const batchSize = 500;

/** Deadline of `close`, below the 10 s that the gateway waits for it. */
const closeMs = 8_000;

/** A closing sink waits for the lock in short turns: its holder may be in this process. */
const lockTurn = { timeoutMs: 250, pauseMs: 100 };

/**
 * A usage sink over a migrated database. Each call is one row, by its request and reservation: a
 * batch that is written again counts once, and a later revision replaces an earlier one. A record
 * of a call in doubt is on disk when `record` returns.
 *
 * When the buffer is full, `record` throws; accepted records are written or reported as lost.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function sqliteUsageSink(options: SqliteUsageSinkOptions): SqliteUsageSink {
  checkMakerOptions('sqliteUsageSink', optionsSchema, options, handleRemedy);
  const { client, flushMs = 200, maxBufferedRecords = 10_000, clock = systemClock() } = options;
  const connection = connectionTo(client);
  const { onError, onLost } = options;
  const buffered: BufferedRecord[] = [];
  let unreported: unknown;
  let closed = false;

  const reportLost = (record: UsageRecord, error: unknown): void => {
    if (onLost === undefined) unreported ??= error;
    else swallowErrors(() => onLost(record, error));
  };

  const flush = (callOptions?: CallOptions): void => {
    while (buffered.length > 0) {
      const batch = buffered.slice(0, batchSize);
      const refused = connection.transaction(() => write(connection, batch), callOptions);
      buffered.splice(0, batch.length);
      for (const { record, error } of refused) reportLost(record, error);
    }
  };

  const stop = clock.every(flushMs, () => {
    try {
      flush();
    } catch (error) {
      swallowErrors(() => onError?.(error));
    }
  });

  const writeRemaining = async (): Promise<void> => {
    const untilMs = clock.monotonicMs() + closeMs;
    while (buffered.length > 0) {
      try {
        flush(lockTurn);
      } catch (error) {
        if (clock.monotonicMs() < untilMs) await pause(lockTurn.pauseMs);
        else for (const { record } of buffered.splice(0)) reportLost(record, error);
      }
    }
  };

  return {
    record: (entry) => {
      if (closed) throw new Error('The usage log is closed.');
      if (buffered.length >= maxBufferedRecords) throw new Error('The usage log is full.');
      buffered.push({ record: entry, values: usageValuesOf(entry).map(bindable) });
      if (isInDoubt(entry)) flush();
    },
    close: async () => {
      closed = true;
      stop();
      await writeRemaining();
      if (unreported !== undefined) throw unreported;
    },
    // Buffered records are written first, so that the result includes them.
    usageReport: (query, callOptions) => {
      flush(callOptions);
      return readUsageReport(connection, query, callOptions);
    },
    usageCharges: (filter, callOptions) => {
      flush(callOptions);
      return readUsageCharges(connection, filter, callOptions);
    },
    usageRecords: (filter, page, callOptions) => {
      flush(callOptions);
      return readUsagePage(connection, filter, page, callOptions);
    },
  };
}

/** A record that waits to be written. */
interface BufferedRecord {
  readonly record: UsageRecord;
  readonly values: readonly SqliteValue[];
}

/** A record that SQLite refused. Its transaction goes on without it. */
interface Refused {
  readonly record: UsageRecord;
  readonly error: Error;
}

/** Writes a batch inside a transaction and returns the refused records, which must not block it. */
function write(connection: Connection, batch: readonly BufferedRecord[]): readonly Refused[] {
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

/** SQLite has no booleans. Objects can't be bound; refused here, that affects only one record. */
function bindable(value: SqlValue): SqliteValue {
  if (typeof value === 'object' && value !== null) {
    throw new RangeError('Usage record refused: a member is an object.');
  }
  if (typeof value !== 'boolean') return value;
  return value ? 1n : 0n;
}
