/**
 * Spending for operators: reports on the usage log, its comparison with the quota store, and CSV
 * exports.
 */
import type { MaybePromise } from '../../ports/call-options.ts';
import type { QuotaStore } from '../../ports/limits/quota-store.ts';
import { formatMoney } from '../../prices/amount.ts';
import { memoryUsageQueries } from '../../stores/memory/usage-queries.ts';
import { type Reconciliation, reconcile } from '../../stores/sql/reconcile.ts';
import {
  checkChargesFilter,
  checkFilter,
  type UsageCharges,
  type UsageChargesFilter,
  type UsageRecordFilter,
  type UsageRecordPage,
  type UsageReportQuery,
  type UsageReportRow,
} from '../../stores/sql/usage/report.ts';
import { type CallSummary, callSummary } from '../calls/summary.ts';
import { csvLine } from '../csv.ts';
import {
  type AdminDeps,
  type AdminUsage,
  given,
  type Page,
  type PageQuery,
  pageOf,
} from '../deps.ts';
import {
  amounts,
  cannotReport,
  reportOf,
  totalOf,
  type WithKnownCost,
  withKnownCost,
} from './rows.ts';
import {
  latencySeriesOf,
  seriesOf,
  type UsageLatency,
  type UsageSeries,
  type UsageSeriesQuery,
  type UsageTimesQuery,
} from './series.ts';
import { ownTurns, type Step, type WalkDeps, type WalkOptions, walkLog } from './walk-log.ts';

/** The groupings, filters, order and page of a report. */
export type UsageListQuery = UsageReportQuery &
  PageQuery & {
    /**
     * The most expensive first, by name, or the latest first, and the most expensive first within
     * it. Default: `time` if the first grouping is one of time, otherwise `charge`.
     */
    readonly sort?: 'charge' | 'name' | 'time';
  };

/** A row of a report. */
export type UsageListRow = WithKnownCost<UsageReportRow>;

/** A page of a report, and the sum of all its rows. */
export interface UsageReportPage extends Page<UsageListRow> {
  /** The sums of all rows, also of those on other pages. */
  readonly total: Omit<UsageListRow, 'names'>;
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
  /** Usage over time, divided by its largest names, for a chart. */
  series(query: UsageSeriesQuery, options?: WalkOptions): Promise<UsageSeries>;
  /** How long calls took over time. */
  latencies(
    query: UsageTimesQuery,
    options?: WalkOptions,
  ): Promise<{
    /** A row for each step that has calls. */
    readonly data: readonly UsageLatency[];
  }>;
  /** All rows of a report at once, sorted by names. */
  rows(query: UsageReportQuery, options?: WalkOptions): Promise<readonly UsageReportRow[]>;
  /** Where the usage log and the quota store differ; see `reconcile`. */
  books(filter: UsageChargesFilter, options?: WalkOptions): Promise<readonly Reconciliation[]>;
  /**
   * The rows of a report as CSV, sorted by names, in pieces of up to 50 lines. Amounts are in nanos
   * and, as `charge`, `unbooked`, `cost` and `margin`, in the currency unit.
   */
  reportCsv(query: UsageReportQuery, options?: CsvOptions): AsyncIterable<string>;
  /** Single calls as CSV, read from the log page by page. */
  callsCsv(filter: UsageRecordFilter, options?: CsvOptions): AsyncIterable<string>;
}

/** All reports together read the log at most once per turn of the event loop. */
export function adminUsage({ stores, clock, currency }: AdminDeps): AdminUsageReports {
  const deps = { ...stores, clock, currency, inOwnTurn: ownTurns() };
  return {
    report: async (query, options) => {
      const rows = await reportOf(deps, query, options);
      const { data, next } = pageOf(sortedRows(rows, query), query);
      return { data: data.map(withKnownCost), next, total: withKnownCost(totalOf(rows)) };
    },
    series: (query, options) => seriesOf(deps, query, options),
    latencies: async (query, options) => ({ data: await latencySeriesOf(deps, query, options) }),
    rows: (query, options) => reportOf(deps, query, options),
    books: async (filter, options) => {
      const { usage, quota, inOwnTurn } = deps;
      if (usage.usageCharges === undefined) throw cannotReport();
      // A log in this process is summed up by page: its own query would block the event loop.
      const usageCharges = usage.isInProcess
        ? () => charges(deps, filter, options)
        : usage.usageCharges.bind(usage);
      const read: QuotaStore['read'] = (...of) => inOwnTurn(() => quota.read(...of));
      return reconcile({ quota: { read }, usage: { usageCharges } }, filter);
    },
    reportCsv: (query, options) => reportCsv(deps, query, options),
    callsCsv: (filter, options) => callsCsv(deps, filter, options),
  };
}

const times: readonly unknown[] = ['hour', 'day', 'month'];

function sortedRows(
  rows: readonly UsageReportRow[],
  { by, sort }: Pick<UsageListQuery, 'by' | 'sort'>,
): readonly UsageReportRow[] {
  const [first] = typeof by === 'string' ? [by] : by;
  const order = sort ?? (times.includes(first) ? 'time' : 'charge');
  if (order === 'name') return rows;
  return rows.toSorted(({ names: [one = ''], ...row }, { names: [other = ''], ...next }) => {
    if (order === 'time' && one !== other) return one < other ? 1 : -1;
    return Number(next.chargeNanos - row.chargeNanos);
  });
}

const reportColumns = [
  'calls',
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'reasoningTokens',
  'images',
  ...amounts,
] as const;
/** Rows per page: so few that a log in this process answers within milliseconds. */
const csvPage = 50;

async function* reportCsv(
  deps: WalkDeps & Pick<AdminDeps, 'currency'>,
  query: UsageReportQuery,
  { onProgress, ...options }: CsvOptions = {},
): AsyncGenerator<string> {
  const rows = await reportOf(deps, query, options);
  const names = Array.isArray(query.by) ? query.by : [query.by];
  const currency = deps.currency === undefined ? [] : [deps.currency];
  const inUnits = amounts.map((name) => name.replace('Nanos', ''));
  yield csvLine([...names, ...reportColumns, ...inUnits, ...currency.map(() => 'currency')]);
  for (let start = 0; start < rows.length; start += csvPage) {
    const page = rows.slice(start, start + csvPage);
    yield await deps.inOwnTurn(() =>
      page
        .map(withKnownCost)
        .map((row) =>
          csvLine([
            ...row.names,
            ...reportColumns.map((name) => row[name]),
            ...amounts.map((name) => unitsOf(row[name])),
            ...currency,
          ]),
        )
        .join(''),
    );
    onProgress?.({ rows: start + page.length });
  }
}

function unitsOf(nanos: bigint | undefined): string | undefined {
  return nanos === undefined ? undefined : formatMoney(nanos);
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

export function callHeading(): string {
  return csvLine(callColumns);
}

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
  for await (const { records } of walkLog(deps, filter, pagesOf(usage, filter), options)) {
    rows += records.length;
    if (records.length > 0) yield records.map((record) => callLine(callSummary(record))).join('');
    onProgress?.({ rows });
  }
}

function pagesOf(usage: AdminUsage, filter: UsageRecordFilter) {
  return ({ after, ...span }: Step): MaybePromise<UsageRecordPage> => {
    const page = { limit: csvPage, ...given({ after }) };
    return usage.usageRecords?.({ ...filter, ...span }, page) ?? { records: [], next: undefined };
  };
}

async function charges(
  deps: WalkDeps,
  filter: UsageChargesFilter,
  options?: WalkOptions,
): Promise<readonly UsageCharges[]> {
  checkChargesFilter(filter);
  const sums = new Map<string, UsageCharges>();
  for await (const { records } of walkLog(deps, {}, pagesOf(deps.usage, {}), options)) {
    const ofPage = memoryUsageQueries(() => ({ records, firstSeq: 0 })).usageCharges(filter);
    for (const charge of ofPage) addTo(sums, charge);
  }
  return [...sums].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, sum]) => sum);
}

function addTo(sums: Map<string, UsageCharges>, charge: UsageCharges): void {
  const { partition, subject, period, bookedNanos, unbookedNanos } = charge;
  const name = JSON.stringify([partition, subject, period]);
  const sum = sums.get(name);
  sums.set(name, {
    ...{ partition, subject, period },
    bookedNanos: bookedNanos + (sum?.bookedNanos ?? 0n),
    unbookedNanos: unbookedNanos + (sum?.unbookedNanos ?? 0n),
  });
}
