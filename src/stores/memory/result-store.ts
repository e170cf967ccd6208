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
  readonly owner: string | undefined;
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
  const table: ResultTable = { byName: new Map(), keptBytes: 0 };
  return {
    put: (name, { headers, body }, options) => {
      const nowMs = clock.monotonicMs();
      // A copy: the given body may be a view of a larger buffer, or be overwritten later.
      const result = { headers: { ...headers }, body: new Uint8Array(body) };
      const bytes = sizeOf(result);
      forget(table, name);
      forgetOld(table, nowMs);
      if (bytes > maxBytes) return;
      makeSpace(table, maxBytes - bytes);
      const owner = options?.owner;
      table.byName.set(name, { result, owner, forgetAtMs: nowMs + maxAgeMs });
      table.keptBytes += bytes;
    },
    get: (name) => {
      forgetOld(table, clock.monotonicMs());
      return table.byName.get(name)?.result;
    },
    forgetOwner: (owner) => {
      const own = [...table.byName].filter(([, kept]) => kept.owner === owner);
      for (const [name] of own) forget(table, name);
      return own.length;
    },
  };
}

interface ResultTable {
  readonly byName: Map<string, Kept>;
  keptBytes: number;
}

function forget(table: ResultTable, name: string): void {
  const kept = table.byName.get(name);
  if (kept === undefined) return;
  table.byName.delete(name);
  table.keptBytes -= sizeOf(kept.result);
}

function forgetOld(table: ResultTable, nowMs: number): void {
  for (const [name, { forgetAtMs }] of table.byName) {
    if (forgetAtMs > nowMs) return;
    forget(table, name);
  }
}

/** Forgets the oldest results until at most `maxBytes` are kept. */
function makeSpace(table: ResultTable, maxBytes: number): void {
  for (const name of table.byName.keys()) {
    if (table.keptBytes <= maxBytes) return;
    forget(table, name);
  }
}

function sizeOf({ body }: StoredResult): number {
  return body.byteLength + entryBytes;
}
