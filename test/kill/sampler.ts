/** Looks at the books every few milliseconds, as anybody may at any time. */

import { defaultPartition } from '../../src/ports/quota-input.ts';
import type { QuotaStore } from '../../src/ports/quota-store.ts';
import { poolSubject } from './noting-store.ts';

/** What was seen. */
export interface Samples {
  total(): number;
  /** Reads that found something no sound store shows. */
  readonly faults: readonly string[];
  /** The most by which each subject was seen beyond its limit. */
  readonly overdrafts: ReadonlyMap<string, bigint>;
  stop(): Promise<void>;
}

const everyMs = 4;

/** Reads the pool and the caller whose turn it is; a store that is down is asked again. */
export function startSampler(store: QuotaStore, caller: () => string): Samples {
  const faults: string[] = [];
  const overdrafts = new Map<string, bigint>();
  let total = 0;
  let isOver = false;

  const sample = async (subject: string): Promise<void> => {
    try {
      const row = await store.read(subject, '', defaultPartition, { timeoutMs: 300 });
      total += 1;
      if (row === undefined) return;
      if (row.used < 0n || row.held < 0n || row.inFlight < 0) {
        faults.push(`${subject} is below zero: used ${row.used}, held ${row.held}`);
      }
      const over = row.used + row.held - row.limit;
      if (over > (overdrafts.get(subject) ?? 0n)) overdrafts.set(subject, over);
    } catch (error) {
      const isDown = error instanceof Error && error.name === 'StoreUnavailable';
      if (!isDown) faults.push(`a read of ${subject} failed: ${String(error)}`);
    }
  };
  const loop = async (): Promise<void> => {
    while (!isOver) {
      await sample(poolSubject);
      await sample(caller());
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  };
  const done = loop();

  return {
    total: () => total,
    faults,
    overdrafts,
    stop: async () => {
      isOver = true;
      await done;
    },
  };
}
