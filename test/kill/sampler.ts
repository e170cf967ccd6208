/** Reads balances every few milliseconds, because they must be correct at any time. */

import { defaultPartition } from '../../src/ports/limits/quota-input.ts';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import { poolSubject } from './recording-store.ts';

/** The results of the reads. */
export interface Samples {
  total(): number;
  /** Reads with a result that a correct store never returns. */
  readonly faults: readonly string[];
  /** The maximum by which each subject exceeded its limit. */
  readonly overdrafts: ReadonlyMap<string, bigint>;
  stop(): Promise<void>;
}

const everyMs = 4;

/** Reads the pool and the current caller; retries while the store is down. */
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
