/**
 * The latest usage records in this process's memory, for tests and for a look at what is going on.
 */
import { z } from 'zod';
import { checkMakerOptions, positive } from '../../ports/set-up.ts';
import type { UsageRecord, UsageSink } from '../../ports/usage-sink.ts';

/** How many records are kept. */
export interface MemoryUsageSinkOptions {
  /**
   * How many records are kept, the latest ones; 1,000 where left out, which cost each call 3 µs: a
   * young collection copies what it finds alive. 100 cost nothing that could be measured.
   */
  readonly limit?: number;
}

const optionsSchema = z.strictObject(
  { limit: positive.optional() } satisfies Record<keyof MemoryUsageSinkOptions, z.ZodType>,
  'must be an object',
);

/** A sink whose records can be read back. */
export interface MemoryUsageSink extends UsageSink {
  record(entry: UsageRecord): void;
  /** What is kept, oldest first; a copy. */
  readonly records: readonly UsageRecord[];
  /** The latest record of a request, by the `x-request-id` of its answer. */
  find(requestId: string): UsageRecord | undefined;
}

/**
 * A usage sink in memory; what it keeps can still be read when it is closed.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function memoryUsageSink(options: MemoryUsageSinkOptions = {}): MemoryUsageSink {
  checkMakerOptions('memoryUsageSink', optionsSchema, options);
  const { limit = 1_000 } = options;
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
