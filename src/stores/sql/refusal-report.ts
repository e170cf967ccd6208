/**
 * The log of refused requests: its table, and reports on how many there were, by key, model, reason
 * and the like.
 */
import type { ErrorCode } from '../../errors.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { CallOptions, MaybePromise, Promised } from '../../ports/call-options.ts';
import type { ProtocolName } from '../../ports/models/catalog.ts';
import type { RecordedRefusals, RefusalLog } from '../../ports/refusal-log.ts';
import { integerAt, textAt } from './columns.ts';
import {
  matches,
  type SqlColumn,
  type SqlDialect,
  type SqlEngine,
  type SqlInsert,
  type SqlRow,
  whole,
} from './engine.ts';
import { columnOf } from './usage/counts.ts';

/** Selects refusals; all of them by default. Times are those of the minute of a refusal. */
export interface RefusalFilter {
  /** Unix milliseconds, inclusive. */
  readonly fromMs?: number;
  /** Unix milliseconds, exclusive. */
  readonly toMs?: number;
  /** Only those of this key. */
  readonly keyId?: string;
  /** Only those of keys of this group. */
  readonly group?: string;
  /** Only those of this model, by its id in the catalog. */
  readonly modelId?: string;
  /** Only those of this API. */
  readonly protocol?: ProtocolName;
  /** Only those with this error, as in docs/errors.md. */
  readonly code?: ErrorCode;
  /** Only those with this reason. */
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

/** The members that a report groups by; the day is computed. */
export const groupedMembers: Readonly<
  Record<
    Exclude<RefusalGrouping, 'day'>,
    Exclude<keyof RecordedRefusals, 'atMs' | 'refusals' | 'id'>
  >
> = {
  key: 'keyId',
  group: 'group',
  model: 'modelId',
  protocol: 'protocol',
  code: 'code',
  reason: 'reason',
  detail: 'detail',
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

function refuse(sentence: string): never {
  throw new RangeError(`Refusal query refused: ${sentence}.`);
}

const columns: readonly (SqlColumn & { readonly member: keyof RecordedRefusals })[] = [
  { name: 'id', type: 'text', member: 'id' },
  { name: 'refused_at_ms', type: 'bigint', member: 'atMs' },
  { name: 'key_id', type: 'text', member: 'keyId' },
  { name: 'key_group', type: 'text', member: 'group' },
  { name: 'model_id', type: 'text', member: 'modelId' },
  { name: 'protocol', type: 'text', member: 'protocol' },
  { name: 'code', type: 'text', member: 'code' },
  { name: 'reason', type: 'text', member: 'reason' },
  { name: 'detail', type: 'text', member: 'detail' },
  { name: 'refusals', type: 'bigint', member: 'refusals' },
];

const insertion: SqlInsert = { table: 'refusals', columns, conflict: '(id) DO NOTHING' };

export function refusalStatements({ table, utcDay }: SqlDialect) {
  const filters = filterMembers.map(
    (member, index) => `\n  AND ${matches(columnOf(member), `$${index + 3}`)}`,
  );
  const filterClause = `
FROM ${table('refusals')}
WHERE refused_at_ms >= ${whole('$1')} AND refused_at_ms < ${whole('$2')}${filters.join('')}`;
  const nameOf = (grouping: RefusalGrouping): string =>
    grouping === 'day'
      ? utcDay('refused_at_ms')
      : `coalesce(${columnOf(groupedMembers[grouping])}, '')`;
  return {
    // Sums are read as text: they may exceed 2^53, and drivers differ.
    report: (groupings: readonly RefusalGrouping[]): string => {
      const names = groupings.map((name, index) => `${nameOf(name)} AS name_${index + 1}`);
      const positions = groupings.map((_, index) => index + 1).join(', ');
      return `SELECT ${names.join(', ')}, CAST(sum(refusals) AS TEXT) AS refusals${filterClause}
GROUP BY ${positions} ORDER BY ${positions}`;
    },
    remove: `
DELETE FROM ${table('refusals')} WHERE id IN (
  SELECT id FROM ${table('refusals')}
  WHERE refused_at_ms < ${whole('$1')}
  ORDER BY refused_at_ms, id LIMIT ${whole('$2')}
)`,
  };
}

/** Counts of refusals in a table. */
export interface SqlRefusals extends Promised<RefusalLog & RefusalQueries> {}

/** The counts, and the deletion of those from before a time, which returns how many. */
export function sqlRefusals(engine: SqlEngine): {
  readonly log: SqlRefusals;
  readonly deleteBefore: (ms: number, limit: number, options?: CallOptions) => Promise<number>;
} {
  const sql = refusalStatements(engine.dialect);
  return {
    log: {
      recordRefusals: async (counts, options) => {
        // Sorted, so that processes lock the rows in the same order.
        const sorted = counts.toSorted((one, other) => (one.id < other.id ? -1 : 1));
        await engine.insert(insertion, sorted.map(rowOf), options);
      },
      refusalReport: async (query, options) => {
        const groupings = checkRefusalReport(query);
        const values = [BigInt(query.fromMs), BigInt(query.toMs), ...filterNames(query)];
        const names = ['name_1', 'name_2'].slice(0, groupings.length);
        return (await engine.read(sql.report(groupings), values, options)).map((row) => ({
          names: names.map((name) => textAt(row, name)),
          refusals: integerAt(row, 'refusals'),
        }));
      },
    },
    deleteBefore: (ms, limit, options) =>
      engine.change(sql.remove, [BigInt(ms), BigInt(limit)], options),
  };
}

function rowOf(count: RecordedRefusals): SqlRow {
  return Object.fromEntries(
    columns.map(({ name, member }) => {
      const value = count[member];
      return [name, typeof value === 'number' ? BigInt(value) : value];
    }),
  );
}
