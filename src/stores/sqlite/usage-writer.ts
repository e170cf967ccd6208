/** Buffers usage records and writes them in batches, each in one transaction. */
import { setTimeout as pause } from 'node:timers/promises';
import { swallowErrors } from '../../events.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import { isInDoubt, type UsageRecord } from '../../ports/usage-sink.ts';
import type { BufferOptions } from '../sql/buffer-options.ts';
import type { SqlValue } from '../sql/columns.ts';
import { usageColumns, usageValuesOf } from '../sql/usage-row.ts';
import { failureOf, isRefused } from './failure.ts';
import type { Connection, SqliteValue } from './handle.ts';

/** Writes the records of one sink. */
export interface UsageWriter {
  /** A record of a call in doubt is on disk when this returns. */
  record(entry: UsageRecord): void;
  /** Writes what is buffered. */
  flush(callOptions?: CallOptions): void;
  /** Writes or reports every record; rejects with the first loss if there is no `onLost`. */
  close(): Promise<void>;
}

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

interface WriterState {
  readonly connection: Connection;
  readonly options: BufferOptions;
  readonly buffered: BufferedRecord[];
  /** The error of the first lost record if there is no `onLost`. */
  unreported: unknown;
  closed: boolean;
}

/** Starts the writer; its timer keeps no process alive. */
export function usageWriter(connection: Connection, options: BufferOptions): UsageWriter {
  const { flushMs, maxBufferedRecords, clock, onError } = options;
  const buffered: BufferedRecord[] = [];
  const state: WriterState = {
    connection,
    options,
    buffered,
    unreported: undefined,
    closed: false,
  };
  const stop = clock.every(flushMs, () => {
    try {
      flush(state);
    } catch (error) {
      swallowErrors(() => onError?.(error));
    }
  });
  return {
    record: (entry) => {
      if (state.closed) throw new Error('The usage log is closed.');
      if (buffered.length >= maxBufferedRecords) throw new Error('The usage log is full.');
      buffered.push({ record: entry, values: usageValuesOf(entry).map(bindable) });
      if (isInDoubt(entry)) flush(state);
    },
    flush: (callOptions) => flush(state, callOptions),
    close: async () => {
      state.closed = true;
      stop();
      await writeRemaining(state);
      if (state.unreported !== undefined) throw state.unreported;
    },
  };
}

function flush(state: WriterState, callOptions?: CallOptions): void {
  const { connection, buffered } = state;
  while (buffered.length > 0) {
    const batch = buffered.slice(0, batchSize);
    const refused = connection.transaction(() => write(connection, batch), callOptions);
    buffered.splice(0, batch.length);
    for (const { record, error } of refused) reportLost(state, record, error);
  }
}

async function writeRemaining(state: WriterState): Promise<void> {
  const { buffered, options } = state;
  const untilMs = options.clock.monotonicMs() + closeMs;
  while (buffered.length > 0) {
    try {
      flush(state, lockTurn);
    } catch (error) {
      if (options.clock.monotonicMs() < untilMs) await pause(lockTurn.pauseMs);
      else for (const { record } of buffered.splice(0)) reportLost(state, record, error);
    }
  }
}

function reportLost(state: WriterState, record: UsageRecord, error: unknown): void {
  const { onLost } = state.options;
  if (onLost === undefined) state.unreported ??= error;
  else swallowErrors(() => onLost(record, error));
}

/** A record that waits to be written. */
interface BufferedRecord {
  readonly record: UsageRecord;
  readonly values: readonly SqliteValue[];
}

/** A record that SQLite refused. Its transaction continues without it. */
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
