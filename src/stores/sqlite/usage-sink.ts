/** The usage log in a SQLite table: written in batches, and asked for bills. */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import { aClock, aFunction, checkMakerOptions, positive, wait } from '../../ports/set-up.ts';
import type { UsageRecord, UsageSink } from '../../ports/usage-sink.ts';
import type { SqlValue } from '../sql/columns.ts';
import type {
  UsageFilter,
  UsagePage,
  UsageQueries,
  UsageRecordPage,
  UsageReportQuery,
  UsageReportRow,
} from '../sql/usage-report.ts';
import { usageValuesOf } from '../sql/usage-row.ts';
import { connectionTo, type SqliteHandle, type SqliteValue } from './handle.ts';
import { aHandle, handleCure } from './schema.ts';
import { readUsagePage, readUsageReport } from './usage-queries.ts';

/** The database, and how much may wait to be written. */
export interface SqliteUsageSinkOptions {
  /** Open and migrated. */
  readonly db: SqliteHandle;
  /** How long a record may wait for others to be written with it; 200 ms where left out. */
  readonly flushMs?: number;
  /** How many records may wait while the file can't be written; 10,000 where left out. */
  readonly maxBufferedRecords?: number;
  /** Called with each write that failed; its records are kept and written with the next. */
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
}

/** A sink that can be asked; answers at once, never by promise. */
export interface SqliteUsageSink extends UsageSink, UsageQueries {
  record(entry: UsageRecord): void;
  usageReport(query: UsageReportQuery, options?: CallOptions): readonly UsageReportRow[];
  usageRecords(filter: UsageFilter, page?: UsagePage, options?: CallOptions): UsageRecordPage;
}

const optionsSchema = z.strictObject(
  {
    db: aHandle,
    flushMs: wait.optional(),
    maxBufferedRecords: positive.optional(),
    onError: aFunction.optional(),
    clock: aClock.optional(),
  } satisfies Record<keyof SqliteUsageSinkOptions, z.ZodType>,
  'must be an object',
);

const insertUsage = `
INSERT INTO tollgate_usage (request_id, reservation_id, quota_partition, key_id,
  key_group, protocol, streamed, model_id, channel_id, upstream_model, started_at_ms,
  duration_ms, first_byte_ms, status, outcome, reason, basis, input_tokens,
  cached_input_tokens, output_tokens, images, held_nanos, charge_nanos, price, metadata, lines,
  attempts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (request_id, reservation_id) DO UPDATE
SET outcome = excluded.outcome, reason = excluded.reason, basis = excluded.basis,
  charge_nanos = excluded.charge_nanos
WHERE tollgate_usage.outcome = 'unknown'`;

/** The most that one transaction writes: others wait for it meanwhile. */
const batchSize = 500;

/**
 * A usage sink over a migrated database. Each call is one row, by its request and reservation: a
 * batch that is written again counts once, and a call that was `unknown` becomes what it was
 * resolved to. What is known of a call stays, whatever is recorded of it later.
 *
 * A full buffer refuses the new record, by an error for whoever recorded it: what was taken is
 * never dropped while the process lives.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function sqliteUsageSink(options: SqliteUsageSinkOptions): SqliteUsageSink {
  checkMakerOptions('sqliteUsageSink', optionsSchema, options, handleCure);
  const { db, flushMs = 200, maxBufferedRecords = 10_000, clock = systemClock() } = options;
  const connection = connectionTo(db);
  const waiting: (readonly SqliteValue[])[] = [];
  let closed = false;

  const flush = (call?: CallOptions): void => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchSize);
      connection.transaction(() => {
        for (const values of batch) connection.run(insertUsage, ...values);
      }, call);
      waiting.splice(0, batch.length);
    }
  };

  const stop = clock.every(flushMs, () => {
    try {
      flush();
    } catch (error) {
      options.onError?.(error);
    }
  });

  return {
    record: (entry) => {
      if (closed) throw new Error('The usage log is closed.');
      if (waiting.length >= maxBufferedRecords) throw new Error('The usage log is full.');
      waiting.push(usageValuesOf(entry).map(bindable));
    },
    close: async () => {
      closed = true;
      stop();
      flush();
    },
    // What was recorded here is in the answer, so it is written first.
    usageReport: (query, call) => {
      flush(call);
      return readUsageReport(connection, query, call);
    },
    usageRecords: (filter, page, call) => {
      flush(call);
      return readUsagePage(connection, filter, page, call);
    },
  };
}

/** SQLite has no booleans. */
function bindable(value: SqlValue): SqliteValue {
  if (typeof value !== 'boolean') return value;
  return value ? 1n : 0n;
}
