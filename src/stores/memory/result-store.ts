/** Replies in this process's memory, up to a number of bytes and an age; the oldest go first. */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { ResultStore, StoredResult } from '../../ports/result-store.ts';
import { aClock, checkMakerOptions, positive } from '../../ports/set-up.ts';

/** How much is kept, and how long. */
export interface MemoryResultStoreOptions {
  readonly clock?: Clock;
  /** All bodies together; 64 MiB where left out. A larger one is not kept. */
  readonly maxBytes?: number;
  /** How long a reply is kept, if there is room; 30 min where left out. */
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

/** What a reply weighs beside its body: headers, names, and the entry itself. */
const entryBytes = 1024;

interface Kept {
  readonly result: StoredResult;
  readonly forgetAtMs: number;
}

/**
 * A result store in memory; answers at once, never by promise.
 *
 * @throws ConfigurationError that names the option and the cure
 */
export function memoryResultStore(options: MemoryResultStoreOptions = {}): ResultStore {
  checkMakerOptions('memoryResultStore', optionsSchema, options);
  const { clock = systemClock(), maxBytes = 64 * 1024 * 1024, maxAgeMs = 30 * 60 * 1000 } = options;
  // In order of age, for each is put once.
  const byName = new Map<string, Kept>();
  let keptBytes = 0;

  const forget = (name: string): void => {
    const kept = byName.get(name);
    if (kept === undefined) return;
    byName.delete(name);
    keptBytes -= weightOf(kept.result);
  };

  const forgetOld = (nowMs: number): void => {
    for (const [name, { forgetAtMs }] of byName) {
      if (forgetAtMs > nowMs) return;
      forget(name);
    }
  };

  const makeRoom = (bytes: number): void => {
    for (const name of byName.keys()) {
      if (keptBytes + bytes <= maxBytes) return;
      forget(name);
    }
  };

  return {
    put: (name, { headers, body }) => {
      const nowMs = clock.monotonicMs();
      // A copy: what is handed over may be a view of a larger buffer, or be written to again.
      const result = { headers: { ...headers }, body: new Uint8Array(body) };
      const bytes = weightOf(result);
      forget(name);
      forgetOld(nowMs);
      if (bytes > maxBytes) return;
      makeRoom(bytes);
      byName.set(name, { result, forgetAtMs: nowMs + maxAgeMs });
      keptBytes += bytes;
    },
    get: (name) => {
      forgetOld(clock.monotonicMs());
      return byName.get(name)?.result;
    },
  };
}

function weightOf({ body }: StoredResult): number {
  return body.byteLength + entryBytes;
}
