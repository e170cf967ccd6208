/** The settings of a buffer of usage records, with the defaults applied. */
import type { Clock } from '../../clock.ts';
import type { UsageRecord } from '../../ports/usage-sink.ts';

/** How long and how many records may wait, and the callbacks for failures. */
export interface BufferOptions {
  readonly flushMs: number;
  readonly maxBufferedRecords: number;
  readonly clock: Clock;
  readonly onError: ((error: unknown) => void) | undefined;
  readonly onLost: ((record: UsageRecord, error: unknown) => void) | undefined;
}
