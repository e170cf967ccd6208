/** Reports on refused requests in a log: how many, by key, model, reason and the like. */
import type { ErrorCode } from '../../errors.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { CallOptions, MaybePromise } from '../../ports/call-options.ts';
import type { ProtocolName } from '../../ports/catalog.ts';
import { integerAt, textAt } from './columns.ts';

/** Selects refusals; all of them by default. Times are those of the minute of a refusal. */
export interface RefusalFilter {
  /** Unix milliseconds, inclusive. */
  readonly fromMs?: number;
  /** Unix milliseconds, exclusive. */
  readonly toMs?: number;
  readonly keyId?: string;
  readonly group?: string;
  readonly modelId?: string;
  readonly protocol?: ProtocolName;
  readonly code?: ErrorCode;
  readonly reason?: FailureReason;
}

/** What a report on refusals can be grouped by, in the order of the documentation. */
export const refusalGroupings = [
  'key',
  'group',
  'model',
  'protocol',
  'code',
  'reason',
  'detail',
  'day',
] as const;

/**
 * What a report on refusals can be grouped by. `detail` is the member or the path that is
 * wrong, or the limit that was reached; `day` a UTC day.
 */
export type RefusalGrouping = (typeof refusalGroupings)[number];

/** A report over a period of time. */
export interface RefusalReportQuery extends RefusalFilter {
  /** One grouping, or two different ones: `['code', 'reason']`. */
  readonly by: RefusalGrouping | readonly [RefusalGrouping, RefusalGrouping];
  readonly fromMs: number;
  readonly toMs: number;
}

/** The sum of the counts that share their names. */
export interface RefusalReportRow {
  /**
   * A name for each grouping of the query, in its order; a day as `2026-11-21`. It is `''` for
   * requests without a known key, a known model, a reason or a detail, and `(other)` for those
   * that were counted together because there were too many.
   */
  readonly names: readonly string[];
  /** The number of refused requests. */
  readonly refusals: number;
}

/** The queries of a log of refusals. */
export interface RefusalQueries {
  /**
   * Sums by names, sorted by names.
   *
   * @throws RangeError where the query is not valid; StoreUnavailable, StoreCorrupt
   */
  refusalReport(
    query: RefusalReportQuery,
    options?: CallOptions,
  ): MaybePromise<readonly RefusalReportRow[]>;
}

/**
 * The columns of the names of a report, except the day, which each database computes differently.
 */
export const refusalNames: Readonly<Record<Exclude<RefusalGrouping, 'day'>, string>> = {
  key: "coalesce(key_id, '')",
  group: "coalesce(key_group, '')",
  model: "coalesce(model_id, '')",
  protocol: "coalesce(protocol, '')",
  code: 'code',
  reason: "coalesce(reason, '')",
  detail: "coalesce(detail, '')",
};

/** The members that a filter selects by. */
const filterMembers = ['keyId', 'group', 'modelId', 'protocol', 'code', 'reason'] as const;

/** The names that a filter selects by, always in the same order; null where it selects all. */
export function filterNames(
  filter: {
    readonly [Member in (typeof filterMembers)[number]]?: string | undefined;
  },
): readonly (string | null)[] {
  return filterMembers.map((member) => filter[member] ?? null);
}

/**
 * Returns the groupings of a report.
 *
 * @throws RangeError where the query is not valid
 */
export function checkRefusalReport(query: RefusalReportQuery): readonly RefusalGrouping[] {
  const { by, fromMs, toMs } = query;
  const groupings: readonly unknown[] = Array.isArray(by) ? by : [by];
  if (groupings.length < 1 || groupings.length > 2) refuse('by must be one grouping or two');
  if (new Set(groupings).size < groupings.length) refuse('the groupings of by must differ');
  for (const time of [fromMs, toMs]) {
    if (!Number.isSafeInteger(time)) refuse('fromMs and toMs must be Unix milliseconds');
  }
  for (const member of filterMembers) {
    const name: unknown = query[member];
    if (name !== undefined && typeof name !== 'string') refuse(`${member} must be text`);
  }
  return groupings.map(groupingOf);
}

function groupingOf(value: unknown): RefusalGrouping {
  const grouping = refusalGroupings.find((known) => known === value);
  return grouping ?? refuse(`by must be ${refusalGroupings.join(', ')}`);
}

/** A row of a report with this many groupings, from a database row. */
export function refusalRowFrom(row: unknown, groupings: number): RefusalReportRow {
  const names = ['name_1', 'name_2'].slice(0, groupings);
  return { names: names.map((name) => textAt(row, name)), refusals: integerAt(row, 'refusals') };
}

function refuse(sentence: string): never {
  throw new RangeError(`Refusal query refused: ${sentence}.`);
}

/** The statement of a report. Sums are read as text: they may exceed 2^53, and drivers differ. */
export function refusalReportSql(
  groupings: readonly RefusalGrouping[],
  columns: Readonly<Record<RefusalGrouping, string>>,
  filterClause: string,
): string {
  const names = groupings.map((name, index) => `${columns[name]} AS name_${index + 1}`);
  const positions = groupings.map((_, index) => index + 1).join(', ');
  const selected = ['SELECT ', names.join(', '), ', CAST(sum(refusals) AS TEXT) AS refusals'];
  const order = [' GROUP BY ', positions, ' ORDER BY ', positions];
  return [...selected, filterClause, ...order].join('');
}
