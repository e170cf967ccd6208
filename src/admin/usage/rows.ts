/** The rows of a report on a usage log of any length, and their sums. */

import { noCounts, usageCounts } from '../../stores/sql/usage/counts.ts';
import { sumOfLatencies, type UsageLatencyRow } from '../../stores/sql/usage/first-bytes.ts';
import {
  checkReport,
  type UsageReportQuery,
  type UsageReportRow,
} from '../../stores/sql/usage/report.ts';
import { notSupported, queriedLog } from '../admin-error.ts';
import { type Span, type WalkDeps, type WalkOptions, walkLog } from './walk-log.ts';

type Costs = Pick<UsageReportRow, 'costNanos' | 'marginNanos'>;

/** The same, but its cost and margin are undefined if no channel of its calls states its cost. */
export type WithKnownCost<Row extends Costs> = Omit<Row, keyof Costs> & {
  readonly [Name in keyof Costs]: Costs[Name] | undefined;
};

/** Stores sum up the costs that are known; both sums are 0 only if none is. */
export function withKnownCost<Row extends Costs>(row: Row): WithKnownCost<Row> {
  const isKnown = row.costNanos !== 0n || row.marginNanos !== 0n;
  return isKnown ? row : { ...row, costNanos: undefined, marginNanos: undefined };
}

/** The amounts of a row. */
export const amounts = ['chargeNanos', 'unbookedNanos', 'costNanos', 'marginNanos'] as const;
const noRow: UsageReportRow = {
  ...{ names: [], calls: 0, outputMs: 0, ...noCounts },
  ...{ chargeNanos: 0n, unbookedNanos: 0n, costNanos: 0n, marginNanos: 0n },
};

export function totalOf(rows: readonly UsageReportRow[]): Omit<UsageReportRow, 'names'> {
  const { names: _, ...total } = rows.reduce(sumOf, noRow);
  return total;
}

export function cannotReport(): Error {
  return notSupported('The usage sink can’t make reports.', queriedLog);
}

/**
 * The rows of a report, sorted by names. The same rows as from one query over the whole span,
 * except for calls that are written meanwhile.
 *
 * @throws RangeError where the query is not valid; StoreUnavailable, StoreCorrupt
 */
export async function reportOf(
  deps: WalkDeps,
  query: UsageReportQuery,
  options?: WalkOptions,
): Promise<readonly UsageReportRow[]> {
  const { usage } = deps;
  if (usage.usageReport === undefined) throw cannotReport();
  checkReport(query);
  const sums = new Map<string, UsageReportRow>();
  const read = async (span: Span) => ({
    rows: (await usage.usageReport?.({ ...query, ...span })) ?? [],
    next: undefined,
  });
  let slices = 0;
  for await (const { rows } of walkLog(deps, query, read, options)) {
    slices += 1;
    for (const row of rows) {
      const name = JSON.stringify(row.names);
      const sum = sums.get(name);
      sums.set(name, sum === undefined ? row : sumOf(sum, row));
    }
  }
  const rows = [...sums.values()];
  return slices === 1 ? rows : rows.toSorted(byNames);
}

function sumOf(one: UsageReportRow, other: UsageReportRow): UsageReportRow {
  const sum: { -readonly [Name in keyof UsageReportRow]: UsageReportRow[Name] } = { ...one };
  for (const name of ['calls', 'outputMs', ...usageCounts] as const) sum[name] += other[name];
  for (const name of amounts) sum[name] += other[name];
  return sum;
}

/** Orders by each name in turn, by code points as the databases do. */
function byNames({ names: one }: UsageReportRow, { names: other }: UsageReportRow): number {
  for (const [index, name] of one.entries()) {
    const order = Buffer.compare(Buffer.from(name), Buffer.from(other[index] ?? ''));
    if (order !== 0) return order;
  }
  return 0;
}

/** As `reportOf`, of how long the calls took. */
export async function latenciesOf(
  deps: WalkDeps,
  query: UsageReportQuery,
  options?: WalkOptions,
): Promise<readonly UsageLatencyRow[]> {
  const { usage } = deps;
  if (usage.usageLatencies === undefined) throw cannotReport();
  checkReport(query);
  const read = async (span: Span) => ({
    rows: (await usage.usageLatencies?.({ ...query, ...span })) ?? [],
    next: undefined,
  });
  let sums: readonly UsageLatencyRow[] = [];
  for await (const { rows } of walkLog(deps, query, read, options)) {
    sums = sumOfLatencies([...sums, ...rows]);
  }
  return sums;
}
