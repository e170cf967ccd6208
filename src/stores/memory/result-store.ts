/**
 * Keeps replies in this process's memory, bounded by bytes and age. The oldest are forgotten first:
 * those of an owner that exceeds its share, otherwise those of all owners.
 */
import type { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import type { ResultStore, StoredResult } from '../../ports/replies/result-store.ts';
import { aClock, checkMakerOptions, positive, strict } from '../../ports/set-up.ts';
import { OwnedEntries } from './owned-entries.ts';

/** How many bytes are kept, and for how long. */
export interface MemoryResultStoreOptions {
  /** What tells the time. Default: the machine's; a test passes a fake one. */
  readonly clock?: Clock;
  /**
   * For all replies together; a quarter of it for those of one owner, so that a larger reply is not
   * kept. Default: 64 MiB.
   */
  readonly maxBytes?: number;
  /** How long a reply is kept, within `maxBytes`. Default: 30 min. */
  readonly maxAgeMs?: number;
}

const optionsSchema = strict('must be an object', {
  clock: aClock.optional(),
  maxBytes: positive.optional(),
  maxAgeMs: positive.optional(),
} satisfies Record<keyof MemoryResultStoreOptions, z.ZodType>);

/** Estimated memory of a reply besides its body: headers, names, and the entry itself. */
const entryBytes = 1024;

/**
 * A result store in memory; its methods return directly, never a promise.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryResultStore(options: MemoryResultStoreOptions = {}): ResultStore {
  checkMakerOptions('memoryResultStore', optionsSchema, options);
  const { clock = systemClock(), maxBytes = 64 * 1024 * 1024, maxAgeMs = 30 * 60 * 1000 } = options;
  const table = new OwnedEntries<StoredResult>(maxBytes);
  return {
    put: (name, { headers, body }, { owner = '' } = {}) => {
      const nowMs = clock.monotonicMs();
      table.remove(name);
      const bytes = body.byteLength + entryBytes;
      if (!table.fits(bytes)) return;
      // A copy: the given body may be a view of a larger buffer, or be overwritten later.
      const value = { headers: { ...headers }, body: new Uint8Array(body) };
      table.add({ name, owner, value, bytes, forgetAtMs: nowMs + maxAgeMs });
      table.makeRoom(owner, nowMs);
    },
    get: (name) => table.get(name, clock.monotonicMs())?.value,
    forgetOwner: (owner) => table.forgetSome(owner),
  };
}
