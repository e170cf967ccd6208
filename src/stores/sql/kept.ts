/** What is kept for some time within a number of bytes: the statements for its table. */
import type { CallOptions } from '../../ports/call-options.ts';
import { corrupt, valueAt } from './columns.ts';
import type { KeepInput, SqlDialect, SqlEngine } from './engine.ts';

/** How many bytes the stores keep by default. */
export const defaultKeptBytes: number = 64 * 1024 * 1024;

/** How many entries of an owner are forgotten at once. */
const maxForgotten = 1_000;

export function keptStatements(dialect: SqlDialect) {
  const { table, now } = dialect;
  const kept = table('kept');
  const ids = (list: string): string => idsIn(dialect, list);
  return {
    result: `SELECT content FROM ${kept} WHERE kind = 'result' AND id = $1 AND ends_ms > ${now}`,
    items: `
SELECT id, content FROM ${kept}
WHERE kind = 'item' AND owner = $1 AND id IN (${ids('$2')}) AND ends_ms > ${now}`,
    forgetItems: `
DELETE FROM ${kept} WHERE kind = 'item' AND owner = $1 AND id IN (${ids('$2')})`,
    forgetOwner: `
DELETE FROM ${kept} WHERE kind = $1 AND owner = $2 AND id IN (
  SELECT id FROM ${kept} WHERE kind = $1 AND owner = $2 ORDER BY used LIMIT ${maxForgotten}
)`,
  };
}

/** The ids in a list of {@link idList}. */
export function idsIn({ items }: SqlDialect, list: string): string {
  return `SELECT i.value ->> 'id' FROM ${items(`CAST(${list} AS text)`)} AS i`;
}

/** A list of ids as a value. */
export function idList(ids: readonly string[]): string {
  return JSON.stringify(ids.map((id) => ({ id })));
}

/** An entry to keep. */
export interface KeptEntry {
  readonly id: string;
  readonly content: Uint8Array;
  /** What it counts for the bounds. */
  readonly size: number;
}

export async function keep(
  engine: SqlEngine,
  { ttlMs, ...input }: Omit<KeepInput, 'entries'>,
  kept: readonly KeptEntry[],
  options: CallOptions | undefined,
): Promise<void> {
  const entries = kept.map(({ id, size, content }) => ({ id, size, length: content.byteLength }));
  const bytes = Buffer.concat(kept.map(({ content }) => content));
  await engine.call('keep', { ...input, ttlMs: Math.ceil(ttlMs), entries }, options, bytes);
}

/**
 * The bytes of a row, which libsql returns as an ArrayBuffer.
 *
 * @throws StoreCorrupt where the column has none
 */
export function contentOf(row: unknown): Uint8Array {
  const value = valueAt(row, 'content');
  const isBytes = value instanceof ArrayBuffer || value instanceof Uint8Array;
  return isBytes ? new Uint8Array(value) : corrupt('content');
}
