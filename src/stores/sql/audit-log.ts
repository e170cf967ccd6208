/** The audit trail in a table. */
import { isJsonObject, type JsonValue } from '../../json.ts';
import type { AuditLog, AuditRecord } from '../../ports/audit-log.ts';
import type { Promised } from '../../ports/call-options.ts';
import { checkAuditQuery } from './audit-query.ts';
import { corrupt, integerAt, jsonAt, literalAt, textAt, textOrNoneAt } from './columns.ts';
import { matches, type SqlDialect, type SqlEngine, type SqlInsert, whole } from './engine.ts';

const outcomes = ['done', 'failed', 'refused'] as const;

const insertion: SqlInsert = {
  table: 'audit',
  columns: [
    { name: 'at_ms', type: 'bigint' },
    { name: 'actor', type: 'text' },
    { name: 'action', type: 'text' },
    { name: 'target', type: 'text' },
    { name: 'change', type: 'json' },
    { name: 'outcome', type: 'text' },
    { name: 'code', type: 'text' },
  ],
  conflict: 'DO NOTHING',
};

export function auditStatements({ table, unlocked }: SqlDialect) {
  const audit = table('audit');
  const action = 'CAST($2 AS text)';
  const isOfKind = `substr(a.action, 1, length(${action}) + 1) = ${action} || '.'`;
  return {
    page: `
SELECT CAST(a.seq AS text) AS seq, a.at_ms, a.actor, a.action, a.target, a.change, a.outcome, a.code
FROM ${audit} AS a
WHERE ${matches('a.actor', '$1')}
  AND (${action} IS NULL OR a.action = ${action} OR ${isOfKind})
  AND ${matches('a.target', '$3')} AND ${matches('a.outcome', '$4')}
  AND a.at_ms >= ${whole('$5')} AND a.at_ms < ${whole('$6')} AND a.seq < ${whole('$7')}
ORDER BY a.seq DESC LIMIT ${whole('$8')}`,
    remove: `
DELETE FROM ${audit} WHERE seq IN (
  SELECT seq FROM ${audit} WHERE at_ms < ${whole('$1')}
  ORDER BY at_ms, seq LIMIT ${whole('$2')} ${unlocked}
)`,
  };
}

const maxSeq = 2n ** 63n - 1n;

/** A log in a migrated database. */
export function sqlAuditLog(engine: SqlEngine): Promised<AuditLog> {
  const { background } = engine;
  const sql = auditStatements(engine.dialect);
  return {
    record: async ({ atMs, actor, action, target, change, outcome, code }) => {
      const texts = { actor, action, target, outcome, code, change: JSON.stringify(change) };
      await engine.insert(insertion, [{ at_ms: BigInt(atMs), ...texts }], background);
    },
    page: async (query) => {
      const { limit, before = maxSeq } = checkAuditQuery(query);
      const { actor = null, action = null, target = null, outcome = null } = query;
      const { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = query;
      const values = [actor, action, target, outcome, BigInt(fromMs), BigInt(toMs), before];
      const rows = await engine.read(sql.page, [...values, BigInt(limit + 1)], background);
      const shown = rows.slice(0, limit);
      return {
        records: shown.map(recordFrom),
        next: rows.length > limit ? textAt(shown.at(-1), 'seq') : undefined,
      };
    },
    deleteBefore: (beforeMs, limit) =>
      engine.change(sql.remove, [BigInt(beforeMs), BigInt(limit)], background),
  };
}

function recordFrom(row: unknown): AuditRecord {
  return {
    atMs: integerAt(row, 'at_ms'),
    actor: textAt(row, 'actor'),
    action: textAt(row, 'action'),
    target: textOrNoneAt(row, 'target'),
    change: changeFrom(jsonAt(row, 'change')),
    outcome: literalAt(row, 'outcome', outcomes),
    code: textOrNoneAt(row, 'code'),
  };
}

function changeFrom(value: JsonValue | undefined): AuditRecord['change'] {
  if (!isJsonObject(value)) return corrupt('change');
  const change: Record<string, string | number | boolean | null> = {};
  for (const [name, item] of Object.entries(value)) {
    change[name] = typeof item === 'object' && item !== null ? JSON.stringify(item) : item;
  }
  return change;
}
