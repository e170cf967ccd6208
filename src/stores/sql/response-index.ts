/** An index of responses in a table, for any number of processes. It holds ids, no content. */
import { type Clock, systemClock } from '../../clock.ts';
import type { Promised } from '../../ports/call-options.ts';
import type { IndexEntry, ResponseIndex } from '../../ports/replies/response-index.ts';
import { integerAt, integerOrNoneAt, literalAt, textAt } from './columns.ts';
import type { SqlDialect, SqlEngine, SqlInsert, SqlRow } from './engine.ts';
import { idList, idsIn } from './kept.ts';

/** A {@link ResponseIndex} whose methods always return promises. */
export interface SqlResponseIndex extends Promised<Required<ResponseIndex>> {
  readonly durability: 'shared';
}

const insertion: SqlInsert = {
  table: 'responses',
  columns: [
    { name: 'id', type: 'text' },
    { name: 'owner', type: 'text' },
    { name: 'account', type: 'text' },
    { name: 'model_id', type: 'text' },
    { name: 'kind', type: 'text' },
    { name: 'max_tokens', type: 'bigint' },
    { name: 'expires_ms', type: 'bigint' },
  ],
  conflict: `(owner, id) DO UPDATE
SET account = excluded.account, model_id = excluded.model_id, kind = excluded.kind,
  max_tokens = excluded.max_tokens, expires_ms = excluded.expires_ms`,
  mayBeLost: true,
};

/** The statements, by what they do. */
export function responseStatements(dialect: SqlDialect) {
  const responses = dialect.table('responses');
  const ids = idsIn(dialect, '$2');
  return {
    find: `
SELECT id, owner, account, model_id, kind, max_tokens, expires_ms FROM ${responses}
WHERE owner = $1 AND id IN (${ids}) AND expires_ms > ${dialect.now}`,
    forget: `DELETE FROM ${responses} WHERE owner = $1 AND id IN (${ids})`,
    forgetOwner: `
DELETE FROM ${responses} WHERE owner = $1 AND id IN (
  SELECT id FROM ${responses} WHERE owner = $1 LIMIT 1000
)`,
    sweep: `
DELETE FROM ${responses} WHERE (owner, id) IN (
  SELECT owner, id FROM ${responses} WHERE expires_ms <= ${dialect.now}
  ORDER BY expires_ms LIMIT 10000 ${dialect.unlocked}
)`,
  };
}

/** How often a process deletes expired entries. */
const sweepMs = 60_000;

/** An index over migrated tables. */
export function sqlResponseIndex(
  engine: SqlEngine,
  clock: Pick<Clock, 'monotonicMs'> = systemClock(),
): SqlResponseIndex {
  const sql = responseStatements(engine.dialect);
  let sweepAtMs = Number.NEGATIVE_INFINITY;
  return {
    durability: 'shared',
    remember: async (entries, options) => {
      if (entries.length === 0) return;
      await engine.insert(insertion, rowsOf(entries), options);
      const nowMs = clock.monotonicMs();
      if (nowMs < sweepAtMs) return;
      sweepAtMs = nowMs + sweepMs;
      // No call waits for this, and the next one tries again.
      engine.change(sql.sweep, [], engine.background).catch(() => {});
    },
    find: async (owner, ids, options) => {
      if (ids.length === 0) return [];
      const rows = await engine.read(sql.find, [owner, idList(ids)], options);
      const found = new Map(rows.map((row) => [textAt(row, 'id'), entryFrom(row)]));
      return ids.map((id) => found.get(id));
    },
    forget: async (owner, ids, options) => {
      await engine.change(sql.forget, [owner, idList(ids)], options);
    },
    forgetOwner: (owner, options) => engine.change(sql.forgetOwner, [owner], options),
  };
}

/** The last entry of each id, sorted, so that processes lock the rows in the same order. */
function rowsOf(entries: readonly IndexEntry[]): readonly SqlRow[] {
  const byName = new Map(
    entries.map((entry) => [
      `${entry.owner}\n${entry.id}`,
      {
        id: entry.id,
        owner: entry.owner,
        account: entry.account,
        model_id: entry.modelId,
        kind: entry.kind,
        max_tokens: entry.maxTokens === undefined ? null : BigInt(entry.maxTokens),
        expires_ms: BigInt(Math.ceil(entry.expiresAtMs)),
      },
    ]),
  );
  return [...byName].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

function entryFrom(row: unknown): IndexEntry {
  const maxTokens = integerOrNoneAt(row, 'max_tokens');
  return {
    id: textAt(row, 'id'),
    owner: textAt(row, 'owner'),
    account: textAt(row, 'account'),
    modelId: textAt(row, 'model_id'),
    kind: literalAt(row, 'kind', ['response', 'item', 'sealed']),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    expiresAtMs: integerAt(row, 'expires_ms'),
  };
}
