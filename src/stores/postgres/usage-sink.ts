/** The usage log in a PostgreSQL table: written in batches, and queried for bills. */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { CallOptions, MaybePromise } from '../../ports/call-options.ts';
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
import { type PostgresLocation, type Statements, statements } from './client.ts';
import { locationMembers, locationRemedies } from './location.ts';
import { deleteRefusalsBefore, readRefusalReport, writeRefusals } from './refusal-statements.ts';
import {
  deleteUsageBefore,
  readFirstBytes,
  readLastCalls,
  readUsageCharges,
  readUsagePage,
  readUsageReport,
} from './usage-statements.ts';
import { usageWriter } from './usage-writer.ts';

/** Where the table is, and how many records may wait to be written. */
export interface PostgresUsageSinkOptions extends PostgresLocation {
  /** How long a record may wait to be written together with others. Default: 200 ms. */
  readonly flushMs?: number;
  /** How many records may wait while the database can't be written. Default: 10,000. */
  readonly maxBufferedRecords?: number;
  /**
   * Called for each failed write. Its records are kept and written with the next. Errors that the
   * callback throws are ignored.
   */
  readonly onError?: (error: unknown) => void;
  /**
   * Called for each record that is given up: the database refused its content, or was down or
   * silent for 8 s while the sink was closing, in which case a write in flight may still succeed.
   * Errors that the callback throws are ignored. Without it, `close()` rejects.
   */
  readonly onLost?: (record: UsageRecord, error: unknown) => void;
  readonly clock?: Clock;
}

/** A sink whose log can be queried. */
export interface PostgresUsageSink
  extends UsageSink,
    UsageQueries,
    UsageRetention,
    RefusalLog,
    RefusalQueries {
  /** For a call in doubt, resolves when the record is written; otherwise returns immediately. */
  record(entry: UsageRecord): MaybePromise<void>;
  usageReport(query: UsageReportQuery, options?: CallOptions): Promise<readonly UsageReportRow[]>;
  usageCharges(
    filter?: UsageChargesFilter,
    options?: CallOptions,
  ): Promise<readonly UsageCharges[]>;
  usageRecords(
    filter: UsageRecordFilter,
    page?: UsagePage,
    options?: CallOptions,
  ): Promise<UsageRecordPage>;
  usageFirstBytes(filter: UsageFilter, options?: CallOptions): Promise<readonly number[]>;
  usageLastCalls(
    keyIds: readonly string[],
    options?: CallOptions,
  ): Promise<readonly (number | undefined)[]>;
  deleteBefore(
    beforeMs: number,
    batch?: UsageDeletionBatch,
    options?: CallOptions,
  ): Promise<number>;
  recordRefusals(counts: readonly RecordedRefusals[], options?: CallOptions): Promise<void>;
  refusalReport(
    query: RefusalReportQuery,
    options?: CallOptions,
  ): Promise<readonly RefusalReportRow[]>;
}

const optionsSchema = z.strictObject(
  {
    ...locationMembers,
    flushMs: wait.optional(),
    maxBufferedRecords: positive.optional(),
    onError: aFunction.optional(),
    onLost: aFunction.optional(),
    clock: aClock.optional(),
  } satisfies Record<keyof PostgresUsageSinkOptions, z.ZodType>,
  'must be an object',
);

/**
 * A usage sink over a migrated database, with one write in flight. Each call is one row: a batch
 * that is written again counts once, and a later revision replaces an earlier one.
 *
 * When the buffer is full, `record` throws; accepted records are written or reported as lost.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function postgresUsageSink(options: PostgresUsageSinkOptions): PostgresUsageSink {
  checkMakerOptions('postgresUsageSink', optionsSchema, options, locationRemedies);
  const { flushMs = 200, maxBufferedRecords = 10_000, clock = systemClock() } = options;
  const db = statements(options);
  const { onError, onLost } = options;
  const writer = usageWriter(db, { flushMs, maxBufferedRecords, clock, onError, onLost });
  return {
    record: writer.record,
    close: writer.close,
    // Buffered records are written first, so that the result includes them.
    usageReport: async (query, callOptions) => {
      await writer.flush();
      return readUsageReport(db, query, callOptions);
    },
    usageCharges: async (filter, callOptions) => {
      await writer.flush();
      return readUsageCharges(db, filter, callOptions);
    },
    usageRecords: async (filter, page, callOptions) => {
      await writer.flush();
      return readUsagePage(db, filter, page, callOptions);
    },
    usageFirstBytes: async (filter, callOptions) => {
      await writer.flush();
      return readFirstBytes(db, filter, callOptions);
    },
    usageLastCalls: async (keyIds, callOptions) => {
      await writer.flush();
      return readLastCalls(db, keyIds, callOptions);
    },
    ...refusalsAndRetention(db),
  };
}

/** The methods of the sink that don't use its buffer. */
function refusalsAndRetention(
  db: Statements,
): Pick<PostgresUsageSink, 'deleteBefore' | 'recordRefusals' | 'refusalReport'> {
  return {
    deleteBefore: async (beforeMs, batch, callOptions) => {
      const limit = checkDeletion(beforeMs, batch);
      const calls = await deleteUsageBefore(db, beforeMs, limit, callOptions);
      const rest = limit - calls;
      if (rest === 0) return calls;
      return calls + (await deleteRefusalsBefore(db, beforeMs, rest, callOptions));
    },
    recordRefusals: (counts, callOptions) => writeRefusals(db, counts, callOptions),
    refusalReport: (query, callOptions) => readRefusalReport(db, query, callOptions),
  };
}
