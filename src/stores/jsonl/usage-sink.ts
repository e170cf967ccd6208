/** Usage records as lines of JSON at the end of a file: the log that every tool can read. */
import { appendFile } from 'node:fs/promises';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { systemClock } from '../../clock.ts';
import { swallowErrors } from '../../events.ts';
import { aClock, aFunction, checkMakerOptions, positive, text, wait } from '../../ports/set-up.ts';
import { isInDoubt, type UsageRecord, type UsageSink } from '../../ports/usage-sink.ts';
import { priceToJson } from '../../prices/codec.ts';

/** Where the file is, and how much may wait to be written. */
export interface JsonlUsageSinkOptions {
  /** The file; made, for its owner only, where there is none. May be moved away at any time. */
  readonly path: string;
  /** How long a record may wait for others to be written with it; 200 ms where left out. */
  readonly flushMs?: number;
  /** How many records may wait while the file can't be written; 10,000 where left out. */
  readonly maxBufferedRecords?: number;
  /** Called with each write that failed; its records are kept and written with the next. */
  readonly onError?: (error: unknown) => void;
  readonly clock?: Clock;
}

const optionsSchema = z.strictObject(
  {
    path: text('must be the path of a file'),
    flushMs: wait.optional(),
    maxBufferedRecords: positive.optional(),
    onError: aFunction.optional(),
    clock: aClock.optional(),
  } satisfies Record<keyof JsonlUsageSinkOptions, z.ZodType>,
  'must be an object',
);

/**
 * A usage sink that appends to a file, one write in flight, amounts as decimal strings.
 *
 * Each record is written at least once: after a write that failed half-way its lines come again,
 * from a new line on, so a reader skips what is no JSON, counts a `reservationId` once, and takes
 * its highest `revision`. A full buffer refuses the new record, by an error for whoever recorded
 * it: what was taken is never dropped.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function jsonlUsageSink(options: JsonlUsageSinkOptions): UsageSink {
  checkMakerOptions('jsonlUsageSink', optionsSchema, options, {
    path: 'Give it the file to append to',
  });
  const { path, flushMs = 200, maxBufferedRecords = 10_000, clock = systemClock() } = options;
  let waiting: string[] = [];
  let broken = false;
  let closed = false;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    const count = waiting.length;
    const text = (broken ? '\n' : '') + waiting.join('');
    // Set before the write: one that fails may have left half a line.
    broken = true;
    await appendFile(path, text, { mode: 0o600 });
    broken = false;
    waiting = waiting.slice(count);
  };

  const flush = (): Promise<void> => {
    if (waiting.length === 0) return Promise.resolve();
    writing ??= write().finally(() => {
      writing = undefined;
    });
    return writing;
  };

  /** A write in flight has begun without what was taken since. */
  const flushed = async (): Promise<void> => {
    await writing?.catch(() => {});
    await flush();
  };

  const stop = clock.every(flushMs, () => {
    if (writing !== undefined) return;
    flush().catch((error: unknown) => swallowErrors(() => options.onError?.(error)));
  });

  return {
    record: (entry) => {
      if (closed) throw new Error('The usage log is closed.');
      if (waiting.length >= maxBufferedRecords) throw new Error('The usage log is full.');
      waiting.push(lineOf(entry));
      return isInDoubt(entry) ? flushed() : undefined;
    },
    close: async () => {
      closed = true;
      stop();
      // The write in flight has its own listener; what it leaves is written, or fails, here.
      await writing?.catch(() => {});
      await flush();
    },
  };
}

/** JSON escapes control characters, so a line is a record whatever a label holds. */
function lineOf(entry: UsageRecord): string {
  const text = JSON.stringify(
    { ...entry, price: priceToJson(entry.price) },
    (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value),
  );
  return `${text}\n`;
}
