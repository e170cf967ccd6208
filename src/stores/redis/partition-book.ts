/**
 * Which partitions there are, for a sweep of all of them. They lie on any node of a cluster, so the
 * list is a key of its own, written before the first hold of a partition and not with it.
 */
import { defaultPartition } from '../../ports/quota-input.ts';
import type { RunScript } from './client.ts';
import { partitionsScript } from './quota-scripts.ts';
import { textsOf } from './reply.ts';

/** The partitions that were ever reserved in, by any process. */
export interface PartitionBook {
  /** Writes a partition down, once a process; the default one is always known. */
  enter(partition: string, signal: AbortSignal): Promise<void>;
  list(signal: AbortSignal): Promise<readonly string[]>;
}

/** How many partitions a process remembers to have written down; beyond it writes some again. */
const mostRemembered = 10_000;

/** The book that is kept under a key. */
export function partitionBook(run: RunScript, key: string): PartitionBook {
  const entered = new Set<string>();

  return {
    enter: async (partition, signal) => {
      if (partition === defaultPartition || entered.has(partition)) return;
      await run({ script: partitionsScript, keys: [key], words: [partition] }, signal);
      if (entered.size >= mostRemembered) entered.clear();
      entered.add(partition);
    },
    list: async (signal) => {
      const known = textsOf(
        await run({ script: partitionsScript, keys: [key], words: [] }, signal),
      );
      // A failover may have lost what this process wrote.
      return [...new Set([defaultPartition, ...entered, ...known])];
    },
  };
}
