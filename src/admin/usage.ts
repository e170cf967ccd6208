/** Spending for operators: reports of the usage log, the log beside the books, and CSV. */
import { type Reconciliation, reconcile } from '../stores/sql/reconcile.ts';
import type {
  UsageChargesFilter,
  UsageRecordFilter,
  UsageReportQuery,
  UsageReportRow,
} from '../stores/sql/usage-report.ts';
import { notSupported } from './admin-error.ts';
import { type CallSummary, callSummary } from './call-summary.ts';
import { csvLine } from './csv.ts';
import type { AdminDeps, Page } from './deps.ts';
import { type PageQuery, pageOf } from './page.ts';

/** What is summed up, and in which order it is listed. */
export type UsageListQuery = UsageReportQuery &
  PageQuery & {
    /** Default: `charge`, the most expensive first. */
    readonly sort?: 'charge' | 'name';
  };

/** A page of a report, and the sum of all its rows. */
export interface UsageReportPage extends Page<UsageReportRow> {
  readonly total: { readonly calls: number } & Pick<
    UsageReportRow,
    'chargeNanos' | 'unbookedNanos' | 'costNanos' | 'marginNanos'
  >;
}

/** How far an export has come. */
export interface CsvProgress {
  /** Rows written so far. */
  readonly rows: number;
}

/** Called after each page of an export. */
export interface CsvOptions {
  readonly onProgress?: (progress: CsvProgress) => void;
}

/**
 * Reports of a usage log. The methods throw an `AdminError`: `not_supported`,
 * `invalid_request`.
 */
export interface AdminUsageReports {
  report(query: UsageListQuery): Promise<UsageReportPage>;
  /** Where the usage log and the quota store differ; see `reconcile`. */
  books(filter: UsageChargesFilter): Promise<readonly Reconciliation[]>;
  /** The rows of a report as CSV, in pieces of up to 100 lines. */
  reportCsv(query: UsageReportQuery, options?: CsvOptions): AsyncIterable<string>;
  /** Single calls as CSV, read from the log page by page. */
  callsCsv(filter: UsageRecordFilter, options?: CsvOptions): AsyncIterable<string>;
}

/** The reports of an admin library. */
export function adminUsage(deps: AdminDeps): AdminUsageReports {
  return {
    report: async ({ sort = 'charge', ...query }) => {
      const rows = await reportOf(deps, query);
      const sorted = sort === 'name' ? rows : rows.toSorted(byCharge);
      return { ...pageOf(sorted, query), total: totalOf(rows) };
    },
    books: async (filter) => {
      const { quota, usage } = deps;
      const { usageCharges } = usage;
      if (usageCharges === undefined) throw cannotReport();
      return reconcile({ quota, usage: { usageCharges } }, filter);
    },
    reportCsv: (query, options) => reportCsv(deps, query, options),
    callsCsv: (filter, options) => callsCsv(deps, filter, options),
  };
}

async function reportOf(
  { usage }: AdminDeps,
  query: UsageReportQuery,
): Promise<readonly UsageReportRow[]> {
  if (usage.usageReport === undefined) throw cannotReport();
  return usage.usageReport(query);
}

function byCharge(one: UsageReportRow, other: UsageReportRow): number {
  if (one.chargeNanos === other.chargeNanos) return 0;
  return one.chargeNanos > other.chargeNanos ? -1 : 1;
}

function totalOf(rows: readonly UsageReportRow[]): UsageReportPage['total'] {
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
const csvPage = 100;

async function* reportCsv(
  deps: AdminDeps,
  query: UsageReportQuery,
  { onProgress }: CsvOptions = {},
): AsyncGenerator<string> {
  const rows = await reportOf(deps, query);
  const names = Array.isArray(query.by) ? query.by : [query.by];
  yield csvLine([...names, ...reportColumns]);
  for (let start = 0; start < rows.length; start += csvPage) {
    const page = rows.slice(start, start + csvPage);
    yield page
      .map((row) => csvLine([...row.names, ...reportColumns.map((name) => row[name])]))
      .join('');
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

/** The line of a call in it. */
export function callLine(call: CallSummary): string {
  return csvLine(callColumns.map((name) => call[name]));
}

async function* callsCsv(
  { usage }: AdminDeps,
  filter: UsageRecordFilter,
  { onProgress }: CsvOptions = {},
): AsyncGenerator<string> {
  if (usage.usageRecords === undefined) throw cannotReport();
  yield callHeading();
  let after: string | undefined;
  let rows = 0;
  do {
    const page = after === undefined ? { limit: csvPage } : { limit: csvPage, after };
    const { records, next } = await usage.usageRecords(filter, page);
    const calls = records.map(callSummary);
    rows += calls.length;
    if (calls.length > 0) {
      yield calls.map(callLine).join('');
    }
    onProgress?.({ rows });
    after = next;
  } while (after !== undefined);
}

function cannotReport(): Error {
  return notSupported(
    'The usage log can’t be asked for reports.',
    'Use sqliteUsageSink or postgresUsageSink.',
  );
}
