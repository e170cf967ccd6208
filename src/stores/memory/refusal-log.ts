/** Keeps the latest counts of refusals in this process's memory, and answers reports on them. */
import type { RecordedRefusals, RefusalLog } from '../../ports/refusal-log.ts';
import {
  checkRefusalReport,
  filterNames,
  groupedMembers,
  type RefusalGrouping,
  type RefusalQueries,
  type RefusalReportQuery,
  type RefusalReportRow,
} from '../sql/refusal-report.ts';

/** A log of refusals whose methods return directly, never a promise. */
export interface MemoryRefusalLog extends RefusalLog, RefusalQueries {
  recordRefusals(counts: readonly RecordedRefusals[]): void;
  refusalReport(query: RefusalReportQuery): readonly RefusalReportRow[];
  /** A copy of the kept counts, oldest first. */
  readonly refusals: readonly RecordedRefusals[];
}

export function memoryRefusalLog(limit: number): MemoryRefusalLog {
  // In the order in which they were added.
  const kept = new Map<string, RecordedRefusals>();
  return {
    recordRefusals: (counts) => {
      for (const count of counts) {
        if (kept.has(count.id)) continue;
        kept.set(count.id, count);
        const [oldest] = kept.keys();
        if (kept.size > limit && oldest !== undefined) kept.delete(oldest);
      }
    },
    refusalReport: (query) => reportOf([...kept.values()], query),
    get refusals(): readonly RecordedRefusals[] {
      return [...kept.values()];
    },
  };
}

function reportOf(
  counts: readonly RecordedRefusals[],
  query: RefusalReportQuery,
): readonly RefusalReportRow[] {
  const groupings = checkRefusalReport(query);
  const rows = new Map<string, { readonly names: readonly string[]; refusals: number }>();
  for (const count of counts) {
    if (!matches(count, query)) continue;
    const names = groupings.map((grouping) => nameOf(count, grouping));
    const key = JSON.stringify(names);
    const row = rows.get(key) ?? { names, refusals: 0 };
    row.refusals += count.refusals;
    rows.set(key, row);
  }
  return [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

function matches(count: RecordedRefusals, query: RefusalReportQuery): boolean {
  const names = filterNames(count);
  const selects = (wanted: string | null, index: number): boolean =>
    wanted === null || wanted === names[index];
  const isInTime = count.atMs >= query.fromMs && count.atMs < query.toMs;
  return isInTime && filterNames(query).every(selects);
}

function nameOf(count: RecordedRefusals, grouping: RefusalGrouping): string {
  if (grouping === 'day') return new Date(count.atMs).toISOString().slice(0, 10);
  return count[groupedMembers[grouping]] ?? '';
}
