/**
 * A result store in a table, so that a repeated call can be answered by another process.
 *
 * Replies are user data, including images, so this store is used only if a host sets it up.
 */
import type { Promised } from '../../ports/call-options.ts';
import type { ResultStore } from '../../ports/replies/result-store.ts';
import { ownerShare } from '../memory/owned-entries.ts';
import { corrupt } from './columns.ts';
import type { SqlEngine } from './engine.ts';
import { contentOf, defaultKeptBytes, keep, keptStatements } from './kept.ts';
import { resultBytes, resultFromBytes } from './result-bytes.ts';

/** How many bytes are kept, and for how long. */
export interface SqlResultStoreOptions {
  /**
   * For all replies together, with 1 KiB of overhead for each; a quarter of it for those of one
   * owner, so that a larger reply is not kept. Default: 64 MiB.
   */
  readonly maxBytes?: number;
  /** How long a reply is kept, within `maxBytes`. Default: 30 min. */
  readonly maxAgeMs?: number;
}

/** A {@link ResultStore} whose methods always return promises. */
export interface SqlResultStore extends Promised<Required<ResultStore>> {}

/** What a reply takes besides its body: its headers, and the row. */
const entryBytes = 1024;

/** A store over migrated tables. The oldest replies are forgotten first. */
export function sqlResultStore(
  engine: SqlEngine,
  { maxBytes = defaultKeptBytes, maxAgeMs: ttlMs = 1_800_000 }: SqlResultStoreOptions,
): SqlResultStore {
  const sql = keptStatements(engine.dialect);
  const maxOwnerBytes = Math.floor(maxBytes * ownerShare);
  return {
    put: async (name, result, { owner = '', ...options } = {}) => {
      const size = result.body.byteLength + entryBytes;
      if (size > maxOwnerBytes) return;
      const bounds = { kind: 'result', owner, ttlMs, maxBytes, maxOwnerBytes } as const;
      await keep(engine, bounds, [{ id: name, content: resultBytes(result), size }], options);
    },
    get: async (name, options) => {
      const [row] = await engine.read(sql.result, [name], options);
      if (row === undefined) return undefined;
      return resultFromBytes(contentOf(row)) ?? corrupt('content');
    },
    forgetOwner: (owner, options) => engine.change(sql.forgetOwner, ['result', owner], options),
  };
}
