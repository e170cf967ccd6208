/**
 * Keeps the latest usage records, and counts of refusals, in this process's memory, for tests and
 * for inspection.
 */
import type { z } from 'zod';
import type { RecordedRefusals, RefusalLog } from '../../ports/refusal-log.ts';
import { checkMakerOptions, positive, strict } from '../../ports/set-up.ts';
import type { UsageRecord, UsageSink } from '../../ports/usage-sink.ts';
import {
  checkRefusalReport,
  filterNames,
  groupedMembers,
  type RefusalGrouping,
  type RefusalQueries,
  type RefusalReportQuery,
  type RefusalReportRow,
} from '../sql/refusal-report.ts';
import { type MemoryUsageQueries, memoryUsageQueries } from './usage-queries.ts';

/** How many records are kept. */
export interface MemoryUsageSinkOptions {
  /**
   * How many of the latest records are kept. Default: 1,000, which costs 3 µs per call, since V8's
   * young-generation collector copies live objects. 100 cost nothing measurable. The same number of
   * refusal counts is kept as well.
   */
  readonly limit?: number;
}

const optionsSchema = strict('must be an object', { limit: positive.optional() } satisfies Record<
  keyof MemoryUsageSinkOptions,
  z.ZodType
>);

/** A sink whose records can be read back, and whose log can be queried like those in a database. */
export interface MemoryUsageSink extends UsageSink, MemoryUsageQueries, MemoryRefusalLog {
  record(entry: UsageRecord): void;
  /** A copy of the kept records, oldest first. */
  readonly records: readonly UsageRecord[];
  /** The latest record of a request, by the `x-request-id` of its response. */
  find(requestId: string): UsageRecord | undefined;
}

/**
 * A usage sink in memory; its records can still be read after it is closed.
 *
 * @throws ConfigurationError that names the option and says how to fix it
 */
export function memoryUsageSink(options: MemoryUsageSinkOptions = {}): MemoryUsageSink {
  checkMakerOptions('memoryUsageSink', optionsSchema, options);
  const { limit = 1_000 } = options;
  const ring: UsageRecord[] = [];
  let oldest = 0;
  let dropped = 0;
  const log = memoryRefusalLog(limit);
  const inOrder = (): readonly UsageRecord[] => [...ring.slice(oldest), ...ring.slice(0, oldest)];

  return {
    record: (entry) => {
      if (ring.length < limit) {
        ring.push(entry);
        return;
      }
      ring[oldest] = entry;
      oldest = (oldest + 1) % limit;
      dropped += 1;
    },
    get records(): readonly UsageRecord[] {
      return inOrder();
    },
    find: (requestId) => inOrder().findLast((entry) => entry.requestId === requestId),
    close: async () => {},
    recordRefusals: log.recordRefusals,
    refusalReport: log.refusalReport,
    get refusals(): readonly RecordedRefusals[] {
      return log.refusals;
    },
    ...memoryUsageQueries(() => ({ records: inOrder(), firstSeq: dropped })),
  };
}

/** A log of refusals whose methods return directly, never a promise. */
interface MemoryRefusalLog extends RefusalLog, RefusalQueries {
  recordRefusals(counts: readonly RecordedRefusals[]): void;
  refusalReport(query: RefusalReportQuery): readonly RefusalReportRow[];
  /** A copy of the kept counts, oldest first. */
  readonly refusals: readonly RecordedRefusals[];
}

function memoryRefusalLog(limit: number): MemoryRefusalLog {
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
