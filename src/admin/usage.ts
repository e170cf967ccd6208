/**
 * Spending for operators: reports on the usage log, its comparison with the quota store, and CSV
 * exports.
 */
import type { MaybePromise } from '../ports/call-options.ts';
import type { Reconciliation } from '../stores/sql/reconcile.ts';
import {
  checkFilter,
  checkReport,
  type UsageChargesFilter,
  type UsageRecordFilter,
  type UsageRecordPage,
  type UsageReportQuery,
  type UsageReportRow,
} from '../stores/sql/usage-report.ts';
import { notSupported, queriedLog } from './admin-error.ts';
import { books } from './books.ts';
import { type CallSummary, callSummary } from './call-summary.ts';
import { csvLine } from './csv.ts';
import type { AdminDeps, Page } from './deps.ts';
import { type Step, type WalkDeps, type WalkOptions, walkLog } from './log-walk.ts';
import { ownTurns } from './loop-turns.ts';
import { type PageQuery, pageOf } from './page.ts';
import { reportRows } from './report-rows.ts';

/** The groupings, filters, order and page of a report. */
export type UsageListQuery = UsageReportQuery &
  PageQuery & {
    /** Default: `charge`, the most expensive first. */
    readonly sort?: 'charge' | 'name';
  };

type Costs = Pick<UsageReportRow, 'costNanos' | 'marginNanos'>;

/** The same, but its cost and margin are undefined if no channel of its calls states its cost. */
export type WithKnownCost<Row extends Costs> = Omit<Row, keyof Costs> & {
  readonly [Name in keyof Costs]: Costs[Name] | undefined;
};

/** A row of a report. */
export type UsageListRow = WithKnownCost<UsageReportRow>;

/** A page of a report, and the sum of all its rows. */
export interface UsageReportPage extends Page<UsageListRow> {
  readonly total: { readonly calls: number } & Pick<
    UsageListRow,
    'chargeNanos' | 'unbookedNanos' | 'costNanos' | 'marginNanos'
  >;
}

/** How far an export has come. */
export interface CsvProgress {
  /** Rows written so far. */
  readonly rows: number;
}

/** Options of an export. */
export interface CsvOptions extends WalkOptions {
  /** Called after each page. */
  readonly onProgress?: (progress: CsvProgress) => void;
}

/**
 * Reports of a usage log. The methods throw an `AdminError`: `not_supported`,
 * `invalid_request`.
 */
export interface AdminUsageReports {
  /** Rejects with the reason of the signal when it is aborted; so do the exports. */
  report(query: UsageListQuery, options?: WalkOptions): Promise<UsageReportPage>;
  /** Where the usage log and the quota store differ; see `reconcile`. */
  books(filter: UsageChargesFilter, options?: WalkOptions): Promise<readonly Reconciliation[]>;
  /** The rows of a report as CSV, in pieces of up to 50 lines. */
  reportCsv(query: UsageReportQuery, options?: CsvOptions): AsyncIterable<string>;
  /** Single calls as CSV, read from the log page by page. */
  callsCsv(filter: UsageRecordFilter, options?: CsvOptions): AsyncIterable<string>;
}

/**
 * The reports of an admin library. All of them together read the log at most once per turn of the
 * event loop.
 */
export function adminUsage(adminDeps: AdminDeps): AdminUsageReports {
  const deps = { ...adminDeps, inOwnTurn: ownTurns() };
  return {
    report: async ({ sort = 'charge', ...query }, options) => {
      const rows = await reportOf(deps, query, options);
      const sorted = sort === 'name' ? rows : rows.toSorted(byCharge);
      const { data, next } = pageOf(sorted, query);
      return { data: data.map(withKnownCost), next, total: withKnownCost(totalOf(rows)) };
    },
    books: async (filter, options) => {
      const { usage } = deps;
      if (usage.usageCharges === undefined) throw cannotReport();
      return books(deps, usage.usageCharges.bind(usage), filter, options);
    },
    reportCsv: (query, options) => reportCsv(deps, query, options),
    callsCsv: (filter, options) => callsCsv(deps, filter, options),
  };
}

async function reportOf(
  deps: WalkDeps,
  query: UsageReportQuery,
  options?: WalkOptions,
): Promise<readonly UsageReportRow[]> {
  if (deps.usage.usageReport === undefined) throw cannotReport();
  checkReport(query);
  return reportRows(deps, query, options);
}

function byCharge(one: UsageReportRow, other: UsageReportRow): number {
  if (one.chargeNanos === other.chargeNanos) return 0;
  return one.chargeNanos > other.chargeNanos ? -1 : 1;
}

/** Stores sum up the costs that are known; both sums are 0 only if none is. */
export function withKnownCost<Row extends Costs>(row: Row): WithKnownCost<Row> {
  const isKnown = row.costNanos !== 0n || row.marginNanos !== 0n;
  return isKnown ? row : { ...row, costNanos: undefined, marginNanos: undefined };
}

function totalOf(rows: readonly UsageReportRow[]) {
  const sum = (name: 'chargeNanos' | 'unbookedNanos' | 'costNanos' | 'marginNanos'): bigint =>
    rows.reduce((total, row) => total + row[name], 0n);
  return {
    calls: rows.reduce((total, { calls }) => total + calls, 0),
    chargeNanos: sum('chargeNanos'),
    unbookedNanos: sum('unbookedNanos'),
    costNanos: sum('costNanos'),
    marginNanos: sum('marginNanos'),
  };
}

const reportColumns = [
  'calls',
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'reasoningTokens',
  'images',
  'chargeNanos',
  'unbookedNanos',
  'costNanos',
  'marginNanos',
] as const;
/** Rows per page: so few that a log in this process answers within milliseconds. */
const csvPage = 50;

async function* reportCsv(
  deps: WalkDeps,
  query: UsageReportQuery,
  { onProgress, ...options }: CsvOptions = {},
): AsyncGenerator<string> {
  const rows = await reportOf(deps, query, options);
  const names = Array.isArray(query.by) ? query.by : [query.by];
  yield csvLine([...names, ...reportColumns]);
  for (let start = 0; start < rows.length; start += csvPage) {
    const page = rows.slice(start, start + csvPage);
    yield await deps.inOwnTurn(() =>
      page
        .map(withKnownCost)
        .map((row) => csvLine([...row.names, ...reportColumns.map((name) => row[name])]))
        .join(''),
    );
    onProgress?.({ rows: start + page.length });
  }
}

const callColumns = [
  'startedAtMs',
  'requestId',
  'reservationId',
  'keyId',
  'group',
  'protocol',
  'modelId',
  'channelId',
  'status',
  'outcome',
  'reason',
  'durationMs',
  'firstByteMs',
  'inputTokens',
  'outputTokens',
  'heldNanos',
  'chargeNanos',
  'costNanos',
  'booked',
] as const satisfies readonly (keyof CallSummary)[];

/** The first line of the CSV of single calls. */
export function callHeading(): string {
  return csvLine(callColumns);
}

/** The line of a call in that CSV. */
export function callLine(call: CallSummary): string {
  return csvLine(callColumns.map((name) => call[name]));
}

async function* callsCsv(
  deps: WalkDeps,
  filter: UsageRecordFilter,
  { onProgress, ...options }: CsvOptions = {},
): AsyncGenerator<string> {
  const { usage } = deps;
  if (usage.usageRecords === undefined) throw cannotReport();
  checkFilter(filter);
  yield callHeading();
  let rows = 0;
  const read = ({ after, ...span }: Step): MaybePromise<UsageRecordPage> => {
    const page = after === undefined ? { limit: csvPage } : { limit: csvPage, after };
    return usage.usageRecords?.({ ...filter, ...span }, page) ?? { records: [], next: undefined };
  };
  for await (const { records } of walkLog(deps, filter, read, options)) {
    rows += records.length;
    if (records.length > 0) yield records.map((record) => callLine(callSummary(record))).join('');
    onProgress?.({ rows });
  }
}

function cannotReport(): Error {
  return notSupported('The usage sink can’t make reports.', queriedLog);
}
