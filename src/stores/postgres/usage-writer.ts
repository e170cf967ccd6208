/** Buffers usage records and writes them in batches, with one write in flight. */
import { swallowErrors } from '../../events.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import { isInDoubt, type UsageRecord } from '../../ports/usage-sink.ts';
import type { BufferOptions } from '../sql/buffer-options.ts';
import type { Statements } from './client.ts';
import { type BufferedRecord, isRefused, prepare, writeUsage } from './usage-statements.ts';

/** Writes the records of one sink. */
export interface UsageWriter {
  /** For a call in doubt, resolves when the record is written; otherwise returns immediately. */
  record(entry: UsageRecord): MaybePromise<void>;
  /** Writes what is buffered. */
  flush(): Promise<void>;
  /** Writes or reports every record; rejects with the first loss if there is no `onLost`. */
  close(): Promise<void>;
}

/** How many records one statement writes at most. */
const batchSize = 500;

/** How often a failing write is tried while the sink closes. */
const maxCloseTries = 3;

/** Deadline of `close`, below the 10 s after which a gateway's process may end. */
const closeMs = 8_000;

interface WriterState {
  readonly db: Statements;
  readonly options: BufferOptions;
  readonly buffered: BufferedRecord[];
  /** The errors of lost records if there is no `onLost`. */
  readonly unreported: unknown[];
  readonly closeDeadline: AbortController;
  closed: boolean;
  writing: Promise<void> | undefined;
}

/** Starts the writer; its timer keeps no process alive. */
export function usageWriter(db: Statements, options: BufferOptions): UsageWriter {
  const { flushMs, maxBufferedRecords, clock, onError } = options;
  const state: WriterState = {
    db,
    options,
    buffered: [],
    unreported: [],
    closeDeadline: new AbortController(),
    closed: false,
    writing: undefined,
  };
  const stop = clock.every(flushMs, () => {
    if (state.writing !== undefined) return;
    flush(state).catch((error: unknown) => swallowErrors(() => onError?.(error)));
  });
  return {
    record: (entry) => {
      const { closed, buffered } = state;
      if (closed) throw new Error('The usage log is closed.');
      if (buffered.length >= maxBufferedRecords) throw new Error('The usage log is full.');
      buffered.push(prepare(entry));
      return isInDoubt(entry) ? flush(state) : undefined;
    },
    flush: () => flush(state),
    close: async () => {
      state.closed = true;
      stop();
      await writeRemaining(state);
    },
  };
}

async function flush(state: WriterState): Promise<void> {
  if (state.buffered.length > 0) state.writing ??= writeAll(state);
  return state.writing;
}

async function writeAll(state: WriterState): Promise<void> {
  try {
    while (state.buffered.length > 0) await writeFirst(state, batchSize);
  } finally {
    // Cleared synchronously, so that a record added from here on starts a new write.
    state.writing = undefined;
  }
}

/** Writes the first records. A batch is halved until it holds only the refused record. */
async function writeFirst(state: WriterState, count: number): Promise<void> {
  const { db, buffered, closeDeadline } = state;
  const batch = buffered.slice(0, count);
  try {
    await writeUsage(db, batch, closeDeadline.signal);
  } catch (error) {
    if (!isRefused(error)) throw error;
    if (batch.length > 1) return writeFirst(state, Math.ceil(batch.length / 2));
    for (const { record } of buffered.splice(0, batch.length)) reportLost(state, record, error);
    return;
  }
  buffered.splice(0, batch.length);
}

/** Writes what is left before the deadline, and reports the rest as lost. */
async function writeRemaining(state: WriterState): Promise<void> {
  const { options, buffered, unreported, closeDeadline } = state;
  const stopTimer = options.clock.every(closeMs, () => closeDeadline.abort());
  for (let tries = 1; buffered.length > 0; tries += 1) {
    try {
      await flush(state);
    } catch (error) {
      if (tries < maxCloseTries && !closeDeadline.signal.aborted) continue;
      for (const { record } of buffered.splice(0)) reportLost(state, record, error);
    }
  }
  stopTimer();
  const [error] = unreported.splice(0);
  if (error !== undefined) throw error;
}

function reportLost(
  { options, unreported }: WriterState,
  record: UsageRecord,
  error: unknown,
): void {
  const { onLost } = options;
  if (onLost === undefined) unreported.push(error);
  else swallowErrors(() => onLost(record, error));
}
