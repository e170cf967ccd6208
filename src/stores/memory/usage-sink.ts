/**
 * The latest usage records in this process's memory, for tests and for a look at what is going on.
 */
import { ConfigurationError } from '../../errors.ts';
import type { UsageRecord, UsageSink } from '../../ports/usage-sink.ts';

/** How many records are kept. */
export interface MemoryUsageSinkOptions {
  /** How many records are kept, the latest ones; 1,000 where left out. */
  readonly limit?: number;
}

/** A sink whose records can be read back. */
export interface MemoryUsageSink extends UsageSink {
  record(entry: UsageRecord): void;
  /** What is kept, oldest first; a copy. */
  readonly records: readonly UsageRecord[];
  /** The latest record of a request, by the `x-request-id` of its answer. */
  find(requestId: string): UsageRecord | undefined;
}

/** A usage sink in memory; what it keeps can still be read when it is closed. */
export function memoryUsageSink(options: MemoryUsageSinkOptions = {}): MemoryUsageSink {
  const { limit = 1_000 } = options;
  if (!Number.isSafeInteger(limit) || limit < 1) {
    throw new ConfigurationError('memoryUsageSink: limit must be a positive integer.');
  }
  const ring: UsageRecord[] = [];
  let oldest = 0;
  const inOrder = (): readonly UsageRecord[] => [...ring.slice(oldest), ...ring.slice(0, oldest)];

  return {
    record: (entry) => {
      if (ring.length < limit) {
        ring.push(entry);
        return;
      }
      ring[oldest] = entry;
      oldest = (oldest + 1) % limit;
    },
    get records(): readonly UsageRecord[] {
      return inOrder();
    },
    find: (requestId) => inOrder().findLast((entry) => entry.requestId === requestId),
    close: async () => {},
  };
}
