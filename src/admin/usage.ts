/**
 * Spending for operators: reports on the usage log, its comparison with the quota store, and CSV
 * exports.
 */
import type { MaybePromise } from '../ports/call-options.ts';
import type { QuotaStore } from '../ports/quota-store.ts';
import { memoryUsageQueries } from '../stores/memory/usage-queries.ts';
import { type Reconciliation, reconcile } from '../stores/sql/reconcile.ts';
import { usageCounts } from '../stores/sql/usage-counts.ts';
import {
  checkChargesFilter,
  checkFilter,
  checkReport,
  type UsageCharges,
  type UsageChargesFilter,
  type UsageQueries,
  type UsageRecordFilter,
  type UsageRecordPage,
  type UsageReportQuery,
  type UsageReportRow,
} from '../stores/sql/usage-report.ts';
import { notSupported, queriedLog } from './admin-error.ts';
import { type CallSummary, callSummary } from './call-summary.ts';
import { csvLine } from './csv.ts';
import type { AdminDeps, Page } from './deps.ts';
import {
  ownTurns,
  type Span,
  type Step,
  type WalkDeps,
  type WalkOptions,
  walkLog,
} from './log-walk.ts';
import { type PageQuery, pageOf } from './page.ts';

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

/** All reports together read the log at most once per turn of the event loop. */
export function adminUsage(adminDeps: AdminDeps): AdminUsageReports {
  const deps = { ...adminDeps, inOwnTurn: ownTurns() };
  return {
    report: async ({ sort = 'charge', ...query }, options) => {
      const rows = await reportOf(deps, query, options);
      const sorted =
        sort === 'name'
          ? rows
          : rows.toSorted((one, other) => Number(other.chargeNanos - one.chargeNanos));
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

/** Stores sum up the costs that are known; both sums are 0 only if none is. */
export function withKnownCost<Row extends Costs>(row: Row): WithKnownCost<Row> {
  const isKnown = row.costNanos !== 0n || row.marginNanos !== 0n;
  return isKnown ? row : { ...row, costNanos: undefined, marginNanos: undefined };
}

const amounts = ['chargeNanos', 'unbookedNanos', 'costNanos', 'marginNanos'] as const;

function totalOf(rows: readonly UsageReportRow[]) {
  const total = { calls: 0, chargeNanos: 0n, unbookedNanos: 0n, costNanos: 0n, marginNanos: 0n };
  for (const row of rows) {
    total.calls += row.calls;
    for (const name of amounts) total[name] += row[name];
  }
  return total;
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

/** A log in this process is summed up by page: its own query would block the event loop. */
async function books(
  deps: WalkDeps & { readonly quota: QuotaStore },
  usageCharges: UsageQueries['usageCharges'],
  filter: UsageChargesFilter,
  options?: WalkOptions,
): Promise<readonly Reconciliation[]> {
  const { usage, quota, inOwnTurn } = deps;
  return reconcile(
    {
      quota: { read: (...of) => inOwnTurn(() => quota.read(...of)) },
      usage: {
        usageCharges: usage.isInProcess ? () => charges(deps, filter, options) : usageCharges,
      },
    },
    filter,
  );
}

const pageRows = 50;

async function charges(
  deps: WalkDeps,
  filter: UsageChargesFilter,
  options?: WalkOptions,
): Promise<readonly UsageCharges[]> {
  checkChargesFilter(filter);
  const sums = new Map<string, UsageCharges>();
  const read = ({ after, ...span }: Step) =>
    deps.usage.usageRecords?.(span, {
      limit: pageRows,
      ...(after === undefined ? {} : { after }),
    }) ?? { records: [], next: undefined };
  for await (const { records } of walkLog(deps, {}, read, options)) {
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

/**
 * The rows of a report, sorted by names. The same rows as from one query over the whole span,
 * except for calls that are written meanwhile.
 *
 * @throws RangeError where the query is not valid; StoreUnavailable, StoreCorrupt
 */
async function reportRows(
  deps: WalkDeps,
  query: UsageReportQuery,
  options?: WalkOptions,
): Promise<readonly UsageReportRow[]> {
  const { usage } = deps;
  const sums = new Map<string, UsageReportRow>();
  const read = (span: Span): MaybePromise<Slice> => {
    const rows = usage.usageReport?.({ ...query, ...span }) ?? [];
    return 'then' in rows ? rows.then((found) => ({ rows: found })) : { rows };
  };
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

interface Slice {
  readonly rows: readonly UsageReportRow[];
  readonly next?: undefined;
}

function sumOf(one: UsageReportRow, other: UsageReportRow): UsageReportRow {
  const sum: { -readonly [Name in keyof UsageReportRow]: UsageReportRow[Name] } = { ...one };
  for (const name of ['calls', ...usageCounts] as const) sum[name] += other[name];
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
