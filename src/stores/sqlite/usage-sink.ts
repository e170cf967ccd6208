/** The usage log in a SQLite table: written in batches, and queried for bills. */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import type { RecordedRefusals, RefusalLog } from '../../ports/refusal-log.ts';
import { aClock, aFunction, checkMakerOptions, positive, wait } from '../../ports/set-up.ts';
import type { UsageRecord, UsageSink } from '../../ports/usage-sink.ts';
import type {
  RefusalQueries,
  RefusalReportQuery,
  RefusalReportRow,
} from '../sql/refusal-report.ts';
import {
  checkDeletion,
  type UsageCharges,
  type UsageChargesFilter,
  type UsageDeletionBatch,
  type UsageFilter,
  type UsagePage,
  type UsageQueries,
  type UsageRecordFilter,
  type UsageRecordPage,
  type UsageReportQuery,
  type UsageReportRow,
  type UsageRetention,
} from '../sql/usage-report.ts';
import { type Connection, connectionTo, type SqliteHandle } from './handle.ts';
import { aHandle, handleRemedy } from './handle-check.ts';
import { deleteRefusalsBefore, readRefusalReport, writeRefusals } from './refusal-queries.ts';
import {
  deleteUsageBefore,
  readFirstBytes,
  readLastCalls,
  readUsageCharges,
  readUsagePage,
  readUsageReport,
} from './usage-queries.ts';
import { usageWriter } from './usage-writer.ts';

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
export interface SqliteUsageSink
  extends UsageSink,
    UsageQueries,
    UsageRetention,
    RefusalLog,
    RefusalQueries {
  record(entry: UsageRecord): void;
  usageReport(query: UsageReportQuery, options?: CallOptions): readonly UsageReportRow[];
  usageCharges(filter?: UsageChargesFilter, options?: CallOptions): readonly UsageCharges[];
  usageRecords(filter: UsageRecordFilter, page?: UsagePage, options?: CallOptions): UsageRecordPage;
  usageFirstBytes(filter: UsageFilter, options?: CallOptions): readonly number[];
  usageLastCalls(keyIds: readonly string[], options?: CallOptions): readonly (number | undefined)[];
  deleteBefore(beforeMs: number, batch?: UsageDeletionBatch, options?: CallOptions): number;
  recordRefusals(counts: readonly RecordedRefusals[], options?: CallOptions): void;
  refusalReport(query: RefusalReportQuery, options?: CallOptions): readonly RefusalReportRow[];
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
  const { onError, onLost } = options;
  const connection = connectionTo(client);
  const writer = usageWriter(connection, { flushMs, maxBufferedRecords, clock, onError, onLost });
  return {
    record: writer.record,
    close: writer.close,
    // Buffered records are written first, so that the result includes them.
    usageReport: (query, callOptions) => {
      writer.flush(callOptions);
      return readUsageReport(connection, query, callOptions);
    },
    usageCharges: (filter, callOptions) => {
      writer.flush(callOptions);
      return readUsageCharges(connection, filter, callOptions);
    },
    usageRecords: (filter, page, callOptions) => {
      writer.flush(callOptions);
      return readUsagePage(connection, filter, page, callOptions);
    },
    usageFirstBytes: (filter, callOptions) => {
      writer.flush(callOptions);
      return readFirstBytes(connection, filter, callOptions);
    },
    usageLastCalls: (keyIds, callOptions) => {
      writer.flush(callOptions);
      return readLastCalls(connection, keyIds, callOptions);
    },
    ...refusalsAndRetention(connection),
  };
}

/** The methods of the sink that don't use its buffer. */
function refusalsAndRetention(
  connection: Connection,
): Pick<SqliteUsageSink, 'deleteBefore' | 'recordRefusals' | 'refusalReport'> {
  return {
    deleteBefore: (beforeMs, batch, callOptions) => {
      const limit = checkDeletion(beforeMs, batch);
      const calls = deleteUsageBefore(connection, beforeMs, limit, callOptions);
      const rest = limit - calls;
      if (rest === 0) return calls;
      return calls + deleteRefusalsBefore(connection, beforeMs, rest, callOptions);
    },
    recordRefusals: (counts, callOptions) => writeRefusals(connection, counts, callOptions),
    refusalReport: (query, callOptions) => readRefusalReport(connection, query, callOptions),
  };
}
