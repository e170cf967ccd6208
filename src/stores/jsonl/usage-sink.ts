/** Appends usage records to a file as lines of JSON, which every log tool can read. */

import { appendFile } from 'node:fs/promises';
import type { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { systemClock } from '../../clock.ts';
import { swallowErrors } from '../../events/thrown.ts';
import { jsonWithBigints } from '../../json.ts';
import {
  aClock,
  aFunction,
  checkMakerOptions,
  positive,
  strict,
  text,
  wait,
} from '../../ports/set-up.ts';
import { isInDoubt, type UsageRecord, type UsageSink } from '../../ports/usage-sink.ts';
import { priceToJson } from '../../prices/codec.ts';

/** The file, and how many records may wait to be written. */
export interface JsonlUsageSinkOptions {
  /**
   * Path of the file. Created with mode 0600 where it is missing; may be moved away at any time.
   */
  readonly path: string;
  /** How long a record may wait to be written together with others. Default: 200 ms. */
  readonly flushMs?: number;
  /** How many records may wait while the file can't be written. Default: 10,000. */
  readonly maxBufferedRecords?: number;
  /** Called for each failed write. Its records are kept and written with the next. */
  readonly onError?: (error: unknown) => void;
  /** What tells the time. Default: the machine's; a test passes a fake one. */
  readonly clock?: Clock;
}

const optionsSchema = strict('must be an object', {
  path: text('must be the path of a file'),
  flushMs: wait.optional(),
  maxBufferedRecords: positive.optional(),
  onError: aFunction.optional(),
  clock: aClock.optional(),
} satisfies Record<keyof JsonlUsageSinkOptions, z.ZodType>);

/**
 * A usage sink that appends to a file, with one write in flight. Amounts are decimal strings.
 *
 * Each record is written at least once: after a write that failed half-way its lines are written
 * again, beginning on a new line. A reader therefore skips lines that are not JSON, counts each
 * `reservationId` once, and takes its highest `revision`. When the buffer is full, `record` throws;
 * accepted records are never dropped.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function jsonlUsageSink(options: JsonlUsageSinkOptions): UsageSink {
  checkMakerOptions('jsonlUsageSink', optionsSchema, options, {
    path: 'Give it the file to append to',
  });
  const { path, flushMs = 200, maxBufferedRecords = 10_000, clock = systemClock() } = options;
  const lines = lineWriter(path);
  let closed = false;
  const stop = clock.every(flushMs, () => {
    if (lines.isWriting()) return;
    lines.flush().catch((error: unknown) => swallowErrors(() => options.onError?.(error)));
  });
  return {
    record: (entry) => {
      if (closed) throw new Error('The usage log is closed.');
      if (lines.count() >= maxBufferedRecords) throw new Error('The usage log is full.');
      lines.add(lineOf(entry));
      return isInDoubt(entry) ? lines.flushAll() : undefined;
    },
    close: async () => {
      closed = true;
      stop();
      // An error of the write in flight goes to `onError`; the remaining records are written here.
      await lines.flushAll();
    },
  };
}

/** Appends lines to a file, with one write in flight. */
interface LineWriter {
  add(line: string): void;
  count(): number;
  isWriting(): boolean;
  /** Writes the lines that wait, or joins the write in flight. */
  flush(): Promise<void>;
  /** A write in flight lacks the lines added since it began, so another one follows it. */
  flushAll(): Promise<void>;
}

function lineWriter(path: string): LineWriter {
  let buffered: string[] = [];
  let mayHavePartialLine = false;
  let writing: Promise<void> | undefined;

  const write = async (): Promise<void> => {
    const count = buffered.length;
    const text = (mayHavePartialLine ? '\n' : '') + buffered.join('');
    // Set before the write: a write that fails may leave half a line behind.
    mayHavePartialLine = true;
    await appendFile(path, text, { mode: 0o600 });
    mayHavePartialLine = false;
    buffered = buffered.slice(count);
  };

  const flush = (): Promise<void> => {
    if (buffered.length === 0) return Promise.resolve();
    writing ??= write().finally(() => {
      writing = undefined;
    });
    return writing;
  };

  return {
    add: (line) => {
      buffered.push(line);
    },
    count: () => buffered.length,
    isWriting: () => writing !== undefined,
    flush,
    flushAll: async () => {
      await writing?.catch(() => {});
      await flush();
    },
  };
}

/** JSON escapes control characters, so a record is one line, whatever its metadata contains. */
function lineOf(entry: UsageRecord): string {
  return `${jsonWithBigints({ ...entry, price: priceToJson(entry.price) })}\n`;
}
