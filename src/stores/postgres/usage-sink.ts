/** The usage log in a table of PostgreSQL: written in batches, and asked for bills. */
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
  isRefused,
  readUsageCharges,
  readUsagePage,
  readUsageReport,
  type Taken,
  take,
  writeUsage,
} from './usage-statements.ts';

/** Where the table is, and how much may wait to be written. */
export interface PostgresUsageSinkOptions extends PostgresLocation {
  /** How long a record may wait for others to be written with it; 200 ms where left out. */
  readonly flushMs?: number;
  /** How many records may wait while nothing can be written; 10,000 where left out. */
  readonly maxBufferedRecords?: number;
  /**
   * Called with each write that failed; its records are kept and written with the next. What it
   * throws is swallowed.
   */
  readonly onError?: (error: unknown) => void;
  /**
   * Called with each record that will never be written: the database refuses it for what is in it,
   * or the sink is closed and the database down, or silent for 8 s; a write in flight may still
   * land then. What it throws is swallowed. Where left out, `close()` rejects.
   */
  readonly onLost?: (record: UsageRecord, error: unknown) => void;
  readonly clock?: Clock;
}

/** A sink that can be asked. */
export interface PostgresUsageSink extends UsageSink, UsageQueries {
  /** Resolves when it is written where the call is in doubt; returns at once for any other. */
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

/** The most that one statement writes. */
const batchSize = 500;

/** How often a write is tried while the sink closes. */
const lastTries = 3;

/** How long a close may take in all: a gateway waits 10 s for it, and then its process may end. */
const closeMs = 8_000;

/**
 * A usage sink over a migrated database, one write in flight. Each call is one row: a batch that is
 * written again counts once, and a later revision takes the place of an earlier one.
 *
 * A full buffer refuses the new record, by an error for whoever recorded it: what was taken is
 * written, or told as lost.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function postgresUsageSink(options: PostgresUsageSinkOptions): PostgresUsageSink {
  checkMakerOptions('postgresUsageSink', optionsSchema, options, locationRemedies);
  const { flushMs = 200, maxBufferedRecords = 10_000, clock = systemClock() } = options;
  const place = statements(options);
  const waiting: Taken[] = [];
  const untold: unknown[] = [];
  const givingUp = new AbortController();
  let closed = false;
  let writing: Promise<void> | undefined;

  const lose = (record: UsageRecord, error: unknown): void => {
    if (options.onLost === undefined) untold.push(error);
    else swallowErrors(() => options.onLost?.(record, error));
  };

  /** Writes the first so many; one that is refused for what it holds must not block others. */
  const writeFirst = async (count: number): Promise<void> => {
    const batch = waiting.slice(0, count);
    try {
      await writeUsage(place, batch, givingUp.signal);
    } catch (error) {
      if (!isRefused(error)) throw error;
      if (batch.length > 1) return writeFirst(Math.ceil(batch.length / 2));
      for (const { record } of waiting.splice(0, batch.length)) lose(record, error);
      return;
    }
    waiting.splice(0, batch.length);
  };

  const writeAll = async (): Promise<void> => {
    try {
      while (waiting.length > 0) await writeFirst(batchSize);
    } finally {
      // At once: what is recorded from here on starts a write of its own.
      writing = undefined;
    }
  };

  const flush = async (): Promise<void> => {
    if (waiting.length > 0) writing ??= writeAll();
    return writing;
  };

  const stop = clock.every(flushMs, () => {
    if (writing !== undefined) return;
    flush().catch((error: unknown) => swallowErrors(() => options.onError?.(error)));
  });

  const writeLast = async (): Promise<void> => {
    for (let tries = 1; waiting.length > 0; tries += 1) {
      try {
        await flush();
      } catch (error) {
        if (tries < lastTries && !givingUp.signal.aborted) continue;
        for (const { record } of waiting.splice(0)) lose(record, error);
      }
    }
  };

  return {
    record: (entry) => {
      if (closed) throw new Error('The usage log is closed.');
      if (waiting.length >= maxBufferedRecords) throw new Error('The usage log is full.');
      waiting.push(take(entry));
      return isInDoubt(entry) ? flush() : undefined;
    },
    close: async () => {
      closed = true;
      stop();
      const stopTimer = clock.every(closeMs, () => givingUp.abort());
      await writeLast();
      stopTimer();
      const [error] = untold.splice(0);
      if (error !== undefined) throw error;
    },
    // What was recorded here is in the answer, so it is written first.
    usageReport: async (query, patience) => {
      await flush();
      return readUsageReport(place, query, patience);
    },
    usageCharges: async (filter, patience) => {
      await flush();
      return readUsageCharges(place, filter, patience);
    },
    usageRecords: async (filter, page, patience) => {
      await flush();
      return readUsagePage(place, filter, page, patience);
    },
  };
}
