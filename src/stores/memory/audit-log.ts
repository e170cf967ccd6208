/** Keeps the latest audit records in this process's memory. */
import type { AuditLog, AuditPage, AuditQuery, AuditRecord } from '../../ports/audit-log.ts';
import { checkAuditQuery, isOfAction } from '../sql/audit-query.ts';

/** A log whose methods return directly, never a promise. */
export interface MemoryAuditLog extends AuditLog {
  record(entry: AuditRecord): void;
  page(query: AuditQuery): AuditPage;
  deleteBefore(beforeMs: number, limit: number): number;
}

/**
 * Creates an empty log.
 *
 * @param size how many records are kept. Default: 1,000
 */
export function memoryAuditLog(size = 1_000): MemoryAuditLog {
  let kept: readonly { readonly seq: bigint; readonly record: AuditRecord }[] = [];
  let last = 0n;
  return {
    isInMemory: true,
    record: (record) => {
      last += 1n;
      kept = [...kept, { seq: last, record }].slice(-size);
    },
    page: (query) => {
      const { limit, before } = checkAuditQuery(query);
      const found = kept
        .filter(({ seq, record }) => (before === undefined || seq < before) && fits(record, query))
        .toReversed();
      const shown = found.slice(0, limit);
      return {
        records: shown.map(({ record }) => record),
        next: found.length > limit ? String(shown.at(-1)?.seq) : undefined,
      };
    },
    deleteBefore: (beforeMs, limit) => {
      const old = kept.filter(({ record }) => record.atMs < beforeMs).slice(0, limit);
      kept = kept.filter((one) => !old.includes(one));
      return old.length;
    },
  };
}

function fits(record: AuditRecord, { actor, action, target, outcome, ...time }: AuditQuery) {
  const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = time;
  return (
    record.atMs >= fromMs &&
    record.atMs < toMs &&
    (actor === undefined || record.actor === actor) &&
    (action === undefined || isOfAction(record.action, action)) &&
    (target === undefined || record.target === target) &&
    (outcome === undefined || record.outcome === outcome)
  );
}
