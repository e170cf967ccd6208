/**
 * The list of all partitions, for a sweep. Partitions are spread over the nodes of a cluster, so
 * the list is a separate key, written before the first hold in a partition, not atomically with it.
 */
import { defaultPartition } from '../../ports/limits/quota-input.ts';
import type { RunScript } from './client.ts';
import { partitionsScript } from './quota-scripts.ts';
import { textsOf } from './reply.ts';

/** The partitions in which any process has ever reserved. */
export interface PartitionList {
  /** Adds a partition, once per process. The default one is always in the list. */
  add(partition: string, signal: AbortSignal): Promise<void>;
  list(signal: AbortSignal): Promise<readonly string[]>;
}

/** How many added partitions a process remembers; above this it may add some again. */
const maxRemembered = 10_000;

export function partitionList(run: RunScript, key: string): PartitionList {
  const added = new Set<string>();

  return {
    add: async (partition, signal) => {
      if (partition === defaultPartition || added.has(partition)) return;
      await run({ script: partitionsScript, keys: [key], args: [partition] }, signal);
      if (added.size >= maxRemembered) added.clear();
      added.add(partition);
    },
    list: async (signal) => {
      const known = textsOf(await run({ script: partitionsScript, keys: [key], args: [] }, signal));
      // A failover may have lost the partitions that this process added.
      return [...new Set([defaultPartition, ...added, ...known])];
    },
  };
}
