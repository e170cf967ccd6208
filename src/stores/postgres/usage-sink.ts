/** The usage log in a PostgreSQL table: written in batches, and queried for bills. */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import { swallowErrors } from '../../events.ts';
import type { CallOptions, MaybePromise } from '../../ports/call-options.ts';
import { aClock, aFunction, checkMakerOptions, positive, wait } from '../../ports/set-up.ts';
import { isInDoubt, type UsageRecord, type UsageSink } from '../../ports/usage-sink.ts';
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
import { locationMembers, locationRemedies, type PostgresLocation, statements } from './client.ts';
import {
  type BufferedRecord,
  isRefused,
  prepare,
  readUsageCharges,
  readUsagePage,
  readUsageReport,
  writeUsage,
} from './usage-statements.ts';

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
export interface PostgresUsageSink extends UsageSink, UsageQueries {
  /** For a call in doubt, resolves when the record is written; otherwise returns immediately. */
  record(entry: UsageRecord): MaybePromise<void>;
  usageReport(query: UsageReportQuery, options?: CallOptions): Promise<readonly UsageReportRow[]>;
  usageCharges(
    filter?: UsageChargesFilter,
    options?: CallOptions,
  ): Promise<readonly UsageCharges[]>;
  usageRecords(
    filter: UsageFilter,
    page?: UsagePage,
    options?: CallOptions,
  ): Promise<UsageRecordPage>;
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

/** How many records one statement writes at most. */
const batchSize = 500;

/** How often a failing write is tried while the sink closes. */
const maxCloseTries = 3;

/** Deadline of `close`, below the 10 s after which a gateway's process may end. */
const closeMs = 8_000;

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
  const buffered: BufferedRecord[] = [];
  const unreported: unknown[] = [];
  const closeDeadline = new AbortController();
  let closed = false;
  let writing: Promise<void> | undefined;

  const reportLost = (record: UsageRecord, error: unknown): void => {
    if (options.onLost === undefined) unreported.push(error);
    else swallowErrors(() => options.onLost?.(record, error));
  };

  /** Writes the first records. A batch is halved until it holds only the refused record. */
  const writeFirst = async (count: number): Promise<void> => {
    const batch = buffered.slice(0, count);
    try {
      await writeUsage(db, batch, closeDeadline.signal);
    } catch (error) {
      if (!isRefused(error)) throw error;
      if (batch.length > 1) return writeFirst(Math.ceil(batch.length / 2));
      for (const { record } of buffered.splice(0, batch.length)) reportLost(record, error);
      return;
    }
    buffered.splice(0, batch.length);
  };

  const writeAll = async (): Promise<void> => {
    try {
      while (buffered.length > 0) await writeFirst(batchSize);
    } finally {
      // Cleared synchronously, so that a record added from here on starts a new write.
      writing = undefined;
    }
  };

  const flush = async (): Promise<void> => {
    if (buffered.length > 0) writing ??= writeAll();
    return writing;
  };

  const stop = clock.every(flushMs, () => {
    if (writing !== undefined) return;
    flush().catch((error: unknown) => swallowErrors(() => options.onError?.(error)));
  });

  const writeRemaining = async (): Promise<void> => {
    for (let tries = 1; buffered.length > 0; tries += 1) {
      try {
        await flush();
      } catch (error) {
        if (tries < maxCloseTries && !closeDeadline.signal.aborted) continue;
        for (const { record } of buffered.splice(0)) reportLost(record, error);
      }
    }
  };

  return {
    record: (entry) => {
      if (closed) throw new Error('The usage log is closed.');
      if (buffered.length >= maxBufferedRecords) throw new Error('The usage log is full.');
      buffered.push(prepare(entry));
      return isInDoubt(entry) ? flush() : undefined;
    },
    close: async () => {
      closed = true;
      stop();
      const stopTimer = clock.every(closeMs, () => closeDeadline.abort());
      await writeRemaining();
      stopTimer();
      const [error] = unreported.splice(0);
      if (error !== undefined) throw error;
    },
    // Buffered records are written first, so that the result includes them.
    usageReport: async (query, callOptions) => {
      await flush();
      return readUsageReport(db, query, callOptions);
    },
    usageCharges: async (filter, callOptions) => {
      await flush();
      return readUsageCharges(db, filter, callOptions);
    },
    usageRecords: async (filter, page, callOptions) => {
      await flush();
      return readUsagePage(db, filter, page, callOptions);
    },
  };
}
