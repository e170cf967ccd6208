/** The usage log in a table: buffered, written in batches with one write in flight, and queried. */
import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../clock.ts';
import { swallowErrors } from '../../../events/thrown.ts';
import { jsonWithBigints } from '../../../json.ts';
import type { CallOptions, MaybePromise, Promised } from '../../../ports/call-options.ts';
import { isInDoubt, type UsageRecord, type UsageSink } from '../../../ports/usage-sink.ts';
import { bigintAt, integerOrNoneAt, type SqlValue, textAt } from '../columns.ts';
import type { SqlEngine, SqlRow } from '../engine.ts';
import { type SqlRefusals, sqlRefusals } from '../refusal-report.ts';
import { firstBytesFrom, latenciesFrom } from './first-bytes.ts';
import {
  checkChargesFilter,
  checkDeletion,
  checkFilter,
  checkKeyIds,
  checkPage,
  checkReport,
  pageOf,
  pageStart,
  reportRowFrom,
  type UsageCharges,
  type UsageFilter,
  type UsagePage,
  type UsageQueries,
  type UsageRecordFilter,
  type UsageRecordPage,
  type UsageReportQuery,
  type UsageRetention,
} from './report.ts';
import { usageRecordFrom, usageRowOf } from './row.ts';
import { usageInsertion, usageStatements } from './statements.ts';

/** How many records may wait to be written, and what is called when they can't be. */
export interface SqlUsageSinkOptions {
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
   * Called for each record that is given up: the database refused its content, or was down, locked
   * or silent for 8 s while the sink was closing, in which case a write in flight may still
   * succeed. Errors that the callback throws are ignored. Without it, `close()` rejects.
   */
  readonly onLost?: (record: UsageRecord, error: unknown) => void;
  /** What tells the time. Default: the machine's; a test passes a fake one. */
  readonly clock?: Clock;
}

/** A sink whose log can be queried. */
export interface SqlUsageSink extends UsageSink, SqlUsageQueries, SqlRefusals {
  /** For a call in doubt, resolves when the record is written; otherwise returns immediately. */
  record(entry: UsageRecord): MaybePromise<void>;
}

/** A sink over migrated tables. */
export function sqlUsageSink(engine: SqlEngine, options: SqlUsageSinkOptions): SqlUsageSink {
  const writer = new UsageWriter(engine, options);
  const refusals = sqlRefusals(engine);
  return {
    record: (entry) => writer.record(entry),
    close: () => writer.close(),
    ...sqlUsageQueries(engine, () => writer.flush(), refusals.deleteBefore),
    ...refusals.log,
  };
}

/** How many records one statement writes at most, since others wait for it meanwhile. */
const batchSize = 500;

/** Deadline of `close`, below the 10 s after which a gateway's process may end. */
const closeMs = 8_000;

/** A record that waits to be written. */
interface BufferedRecord {
  readonly record: UsageRecord;
  /** Identifies the call. */
  readonly call: string;
  readonly row: SqlRow;
}

/** Its timer keeps no process alive. */
class UsageWriter {
  readonly #engine: SqlEngine;
  readonly #options: SqlUsageSinkOptions;
  readonly #clock: Clock;
  readonly #stopTimer: () => void;
  readonly #buffered: BufferedRecord[] = [];
  readonly #closeDeadline = new AbortController();
  /** The errors of lost records if there is no `onLost`. */
  readonly #unreported: unknown[] = [];
  #closed = false;
  #writing: Promise<void> | undefined;

  constructor(engine: SqlEngine, options: SqlUsageSinkOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#clock = options.clock ?? systemClock();
    this.#stopTimer = this.#clock.every(options.flushMs ?? 200, () => {
      if (this.#writing !== undefined) return;
      this.flush().catch((error: unknown) => swallowErrors(() => options.onError?.(error)));
    });
  }

  record(entry: UsageRecord): MaybePromise<void> {
    const { maxBufferedRecords = 10_000 } = this.#options;
    if (this.#closed) throw new Error('The usage log is closed.');
    if (this.#buffered.length >= maxBufferedRecords) throw new Error('The usage log is full.');
    this.#buffered.push(buffered(entry));
    return isInDoubt(entry) ? this.flush() : undefined;
  }

  async flush(): Promise<void> {
    if (this.#buffered.length > 0) this.#writing ??= this.#writeAll();
    return this.#writing;
  }

  /** Writes what is left before the deadline, and reports the rest as lost. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stopTimer();
    const { maxTries, pauseMs } = this.#engine.closing;
    const { signal } = this.#closeDeadline;
    const stopDeadline = this.#clock.every(closeMs, () => this.#closeDeadline.abort());
    for (let tries = 1; this.#buffered.length > 0; tries += 1) {
      try {
        await this.flush();
      } catch (error) {
        if (tries < maxTries && !signal.aborted) await pause(pauseMs);
        else for (const { record } of this.#buffered.splice(0)) this.#reportLost(record, error);
      }
    }
    stopDeadline();
    const [error] = this.#unreported.splice(0);
    if (error !== undefined) throw error;
  }

  async #writeAll(): Promise<void> {
    try {
      while (this.#buffered.length > 0) await this.#writeFirst(batchSize);
    } finally {
      // Cleared synchronously, so that a record added from here on starts a new write.
      this.#writing = undefined;
    }
  }

  /** Writes the first records. A batch is halved until it holds only the refused record. */
  async #writeFirst(count: number): Promise<void> {
    const batch = this.#buffered.slice(0, count);
    const options = { ...this.#engine.background, signal: this.#closeDeadline.signal };
    try {
      await this.#engine.insert(usageInsertion, latestOfEachCall(batch), options);
      this.#buffered.splice(0, batch.length);
    } catch (error) {
      if (!this.#engine.isRefused(error)) throw error;
      if (batch.length > 1) return this.#writeFirst(Math.ceil(batch.length / 2));
      for (const { record } of this.#buffered.splice(0, 1)) this.#reportLost(record, error);
    }
  }

  #reportLost(record: UsageRecord, error: unknown): void {
    const { onLost } = this.#options;
    if (onLost === undefined) this.#unreported.push(error);
    else swallowErrors(() => onLost(record, error));
  }
}

/** @throws RangeError where it is not a valid record */
function buffered(record: UsageRecord): BufferedRecord {
  const call = jsonWithBigints([record.requestId, record.reservationId]);
  return { record, call, row: usageRowOf(record) };
}

/** The rows with the highest revision of each call, since a statement can't change a row twice. */
function latestOfEachCall(batch: readonly BufferedRecord[]): readonly SqlRow[] {
  const byCall = new Map<string, BufferedRecord>();
  for (const entry of batch) {
    const known = byCall.get(entry.call)?.record.revision ?? 0;
    if (entry.record.revision > known) byCall.set(entry.call, entry);
  }
  return [...byCall.values()].map(({ row }) => row);
}

/** Queries of a log in tables. */
interface SqlUsageQueries extends Promised<UsageQueries & UsageRetention> {}

/**
 * The queries of a log.
 *
 * @param flush writes buffered records first, so that results include them
 * @param deleteRefusals deletes counts of refusals from before a time, and returns how many
 */
function sqlUsageQueries(
  engine: SqlEngine,
  flush: () => Promise<void>,
  deleteRefusals: (ms: number, limit: number, options?: CallOptions) => Promise<number>,
): SqlUsageQueries {
  const sql = usageStatements(engine.dialect);
  const read: SqlEngine['read'] = async (...args) => {
    await flush();
    return engine.read(...args);
  };
  const reported = (
    { sql: statement, metadataNames }: ReturnType<typeof sql.report>,
    query: UsageReportQuery,
    options: CallOptions | undefined,
  ) => read(statement, [...filterValues(query, query.fromMs), ...metadataNames], options);
  return {
    usageReport: async (query, options) => {
      const groupings = checkReport(query);
      const rows = await reported(sql.report(groupings), query, options);
      return rows.map((row) => reportRowFrom(row, groupings.length));
    },
    usageLatencies: async (query, options) => {
      const groupings = checkReport(query);
      return latenciesFrom(
        await reported(sql.latencies(groupings), query, options),
        groupings.length,
      );
    },
    usageCharges: async (filter, options) => {
      checkChargesFilter(filter ?? {});
      const { partition = null, subject = null, period = null } = filter ?? {};
      return (await read(sql.charges, [partition, subject, period], options)).map(chargesFrom);
    },
    usageRecords: (filter, page, options) => pageFrom({ read, sql }, filter, page, options),
    usageFirstBytes: async (filter, options) => {
      checkFilter(filter);
      const values = filterValues(filter, filter.fromMs ?? 0);
      return firstBytesFrom(await read(sql.firstBytes, values, options));
    },
    usageLastCalls: async (keyIds, options) => {
      checkKeyIds(keyIds);
      const ids = jsonWithBigints(keyIds.map((id) => ({ id })));
      const rows = await read(sql.lastCalls, [ids], options);
      const times = new Map(
        rows.map((row) => [textAt(row, 'id'), integerOrNoneAt(row, 'started_at_ms')]),
      );
      return keyIds.map((id) => times.get(id));
    },
    deleteBefore: async (beforeMs, batch, options) => {
      const limit = checkDeletion(beforeMs, batch);
      const calls = await engine.change(sql.remove, [BigInt(beforeMs), BigInt(limit)], options);
      return calls === limit
        ? calls
        : calls + (await deleteRefusals(beforeMs, limit - calls, options));
    },
  };
}

async function pageFrom(
  { read, sql }: Pick<SqlEngine, 'read'> & { readonly sql: ReturnType<typeof usageStatements> },
  filter: UsageRecordFilter,
  page: UsagePage | undefined,
  options: CallOptions | undefined,
): Promise<UsageRecordPage> {
  checkFilter(filter);
  const checked = checkPage(page);
  const { limit, newestFirst } = checked;
  const { cursor, fromMs, toMs } = pageStart(filter, checked);
  const { requestId } = filter;
  const { oldest, newest } = requestId === undefined ? sql.page : sql.pageOfRequest;
  const values = [
    ...filterValues({ ...filter, toMs }, fromMs),
    ...(requestId === undefined ? [] : [requestId]),
    ...[BigInt(cursor.startedAtMs), cursor.seq, BigInt(limit + 1)],
  ];
  const rows = await read(newestFirst ? newest : oldest, values, options);
  const found = rows.map((row) => ({ seq: bigintAt(row, 'seq'), record: usageRecordFrom(row) }));
  return pageOf(found, limit);
}

/** The values of the filter of the statements. */
function filterValues(filter: UsageFilter, fromMs: number): readonly SqlValue[] {
  const { toMs = Number.MAX_SAFE_INTEGER, keyId, group, modelId, channelId, outcome } = filter;
  const { name, value } = filter.metadata ?? {};
  const texts = [keyId, group, modelId, channelId, outcome, name, value];
  const names = texts.map((text) => text ?? null);
  return [BigInt(fromMs), BigInt(toMs), ...names];
}

function chargesFrom(row: unknown): UsageCharges {
  return {
    partition: textAt(row, 'quota_partition'),
    subject: textAt(row, 'subject'),
    period: textAt(row, 'period'),
    bookedNanos: bigintAt(row, 'booked_nanos'),
    unbookedNanos: bigintAt(row, 'unbooked_nanos'),
  };
}
