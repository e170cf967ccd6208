/** Keeps replies in this process's memory, bounded by bytes and age; evicts the oldest first. */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { ResultStore, StoredResult } from '../../ports/result-store.ts';
import { aClock, checkMakerOptions, positive } from '../../ports/set-up.ts';

/** How many bytes are kept, and for how long. */
export interface MemoryResultStoreOptions {
  readonly clock?: Clock;
  /** For all bodies together; a larger body is not kept. Default: 64 MiB. */
  readonly maxBytes?: number;
  /** How long a reply is kept, within `maxBytes`. Default: 30 min. */
  readonly maxAgeMs?: number;
}

const optionsSchema = z.strictObject(
  {
    clock: aClock.optional(),
    maxBytes: positive.optional(),
    maxAgeMs: positive.optional(),
  } satisfies Record<keyof MemoryResultStoreOptions, z.ZodType>,
  'must be an object',
);

/** Estimated memory of a reply besides its body: headers, names, and the entry itself. */
const entryBytes = 1024;

interface Kept {
  readonly result: StoredResult;
  readonly forgetAtMs: number;
}

/**
 * A result store in memory; its methods return directly, never a promise.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryResultStore(options: MemoryResultStoreOptions = {}): ResultStore {
  checkMakerOptions('memoryResultStore', optionsSchema, options);
  const { clock = systemClock(), maxBytes = 64 * 1024 * 1024, maxAgeMs = 30 * 60 * 1000 } = options;
  // In order of age, since `put` always appends.
  const byName = new Map<string, Kept>();
  let keptBytes = 0;

  const forget = (name: string): void => {
    const kept = byName.get(name);
    if (kept === undefined) return;
    byName.delete(name);
    keptBytes -= sizeOf(kept.result);
  };

  const forgetOld = (nowMs: number): void => {
    for (const [name, { forgetAtMs }] of byName) {
      if (forgetAtMs > nowMs) return;
      forget(name);
    }
  };

  const makeSpace = (bytes: number): void => {
    for (const name of byName.keys()) {
      if (keptBytes + bytes <= maxBytes) return;
      forget(name);
    }
  };

  return {
    put: (name, { headers, body }) => {
      const nowMs = clock.monotonicMs();
      // A copy: the given body may be a view of a larger buffer, or be overwritten later.
      const result = { headers: { ...headers }, body: new Uint8Array(body) };
      const bytes = sizeOf(result);
      forget(name);
      forgetOld(nowMs);
      if (bytes > maxBytes) return;
      makeSpace(bytes);
      byName.set(name, { result, forgetAtMs: nowMs + maxAgeMs });
      keptBytes += bytes;
    },
    get: (name) => {
      forgetOld(clock.monotonicMs());
      return byName.get(name)?.result;
    },
  };
}

function sizeOf({ body }: StoredResult): number {
  return body.byteLength + entryBytes;
}
