/**
 * Spending for operators: reports on the usage log, its comparison with the quota store, and CSV
 * exports.
 */
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
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
  type UsageRecordFilter,
  type UsageRecordPage,
  type UsageReportQuery,
  type UsageReportRow,
} from '../stores/sql/usage-report.ts';
import { notSupported, queriedLog } from './admin-error.ts';
import { type CallSummary, callSummary } from './call-summary.ts';
import { csvLine } from './csv.ts';
import {
  type AdminDeps,
  type AdminUsage,
  given,
  type Page,
  type PageQuery,
  pageOf,
} from './deps.ts';

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
  /** All rows of a report at once, sorted by names. */
  rows(query: UsageReportQuery, options?: WalkOptions): Promise<readonly UsageReportRow[]>;
  /** Where the usage log and the quota store differ; see `reconcile`. */
  books(filter: UsageChargesFilter, options?: WalkOptions): Promise<readonly Reconciliation[]>;
  /** The rows of a report as CSV, in pieces of up to 50 lines. */
  reportCsv(query: UsageReportQuery, options?: CsvOptions): AsyncIterable<string>;
  /** Single calls as CSV, read from the log page by page. */
  callsCsv(filter: UsageRecordFilter, options?: CsvOptions): AsyncIterable<string>;
}

/** All reports together read the log at most once per turn of the event loop. */
export function adminUsage({ stores, clock }: AdminDeps): AdminUsageReports {
  const deps = { ...stores, clock, inOwnTurn: ownTurns() };
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

function cannotReport(): Error {
  return notSupported('The usage sink can’t make reports.', queriedLog);
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

/**
 * The rows of a report, sorted by names. The same rows as from one query over the whole span,
 * except for calls that are written meanwhile.
 *
 * @throws RangeError where the query is not valid; StoreUnavailable, StoreCorrupt
 */
async function reportOf(
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

interface WalkDeps {
  readonly usage: AdminUsage;
  readonly clock: Clock;
  readonly inOwnTurn: ReturnType<typeof ownTurns>;
}

/** The start times of the calls, as in `UsageFilter`; `toMs` is exclusive. */
interface Span {
  readonly fromMs?: number;
  readonly toMs?: number;
}

/** A step of a walk: a slice, or the next page of it. */
interface Step extends Span {
  readonly after?: string;
}

/** Stops a walk whose result is no longer needed. */
export interface WalkOptions {
  readonly signal?: AbortSignal;
}

const firstSliceMs = 60_000;
const quickMs = 4;
const slowMs = 2 * quickMs;

/**
 * Reads a long span of the log in small steps. A log in this process (SQLite, memory) blocks the
 * event loop while it searches, even if it finds few rows, so the span is cut into slices. A
 * database server is queried for the whole span.
 *
 * Yields what `read` returns for each step, oldest first, with one read per turn of the event loop.
 * A slice is read until there is no `next`. After a quick read the next slice is twice as long,
 * after a slow one half as long.
 *
 * @throws the reason of the signal when it has stopped the walk
 */
async function* walkLog<T extends { readonly next?: string | undefined }>(
  { usage, clock, inOwnTurn }: WalkDeps,
  span: Span,
  read: (step: Step) => MaybePromise<T>,
  { signal }: WalkOptions = {},
): AsyncGenerator<T> {
  let lengthMs = firstSliceMs;
  const timed = (step: Step) => async (): Promise<T> => {
    const startedMs = clock.monotonicMs();
    const result = await read(step);
    const tookMs = clock.monotonicMs() - startedMs;
    if (tookMs < quickMs) lengthMs *= 2;
    if (tookMs > slowMs) lengthMs = Math.max(1, Math.floor(lengthMs / 2));
    return result;
  };
  const ends = await inOwnTurn(() => spanInThisProcess(usage, span));
  let slice: Span | undefined = ends === undefined ? span : sliceOf(ends, ends.fromMs, lengthMs);
  while (slice !== undefined) {
    let after: string | undefined;
    do {
      signal?.throwIfAborted();
      const step: Step = after === undefined ? slice : { ...slice, after };
      const result: T = await inOwnTurn(timed(step));
      yield result;
      after = result.next;
    } while (after !== undefined);
    slice = ends === undefined ? undefined : sliceOf(ends, slice.toMs ?? ends.toMs, lengthMs);
  }
}

type Ends = Required<Span>;

function sliceOf({ toMs }: Ends, fromMs: number, lengthMs: number): Ends | undefined {
  return fromMs < toMs ? { fromMs, toMs: Math.min(fromMs + lengthMs, toMs) } : undefined;
}

/** From the first to the last call of the span, if the log is in this process. */
async function spanInThisProcess(
  { isInProcess, usageRecords }: AdminUsage,
  { fromMs, toMs }: Span,
): Promise<Ends | undefined> {
  if (isInProcess !== true || usageRecords === undefined) return undefined;
  const span = given({ fromMs, toMs });
  const [first] = (await usageRecords(span, { limit: 1 })).records;
  const [last] = (await usageRecords(span, { limit: 1, newestFirst: true })).records;
  if (first === undefined || last === undefined) return undefined;
  return { fromMs: first.startedAtMs, toMs: last.startedAtMs + 1 };
}

/**
 * At most one read per turn, however many exports run at once. SQLite and memory block the process
 * while they answer, so that a step has to be small, and calls run before the next one.
 */
function ownTurns() {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(read: () => MaybePromise<T>): Promise<T> => {
    const turn = last.then(() => setImmediate());
    // The next read waits for this turn, not for this read: a database server runs them
    // concurrently.
    last = turn;
    return turn.then(read);
  };
}
