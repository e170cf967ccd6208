/** Recorded refusals for operators: how many there were, by key, model, reason and the like. */
import type { RefusalReportQuery, RefusalReportRow } from '../stores/sql/refusal-report.ts';
import { notSupported } from './admin-error.ts';
import { csvLine } from './csv.ts';
import type { AdminDeps, Page } from './deps.ts';
import { type PageQuery, pageOf } from './page.ts';
import type { CsvOptions } from './usage.ts';

/** The groupings, filters, order and page of a report. */
export type RefusalListQuery = RefusalReportQuery &
  PageQuery & {
    /** Default: `refusals`, the most frequent first. */
    readonly sort?: 'refusals' | 'name';
  };

/** A page of a report, and the sum of all its rows. */
export interface RefusalReportPage extends Page<RefusalReportRow> {
  readonly total: { readonly refusals: number };
}

/**
 * Reports on the refusals of all processes whose gateway has `recordRefusals`. The methods throw an
 * `AdminError`: `not_supported`, `invalid_request`.
 */
export interface AdminRefusals {
  report(query: RefusalListQuery): Promise<RefusalReportPage>;
  /** The rows of a report as CSV, in pieces of up to 100 lines. */
  csv(query: RefusalReportQuery, options?: CsvOptions): AsyncIterable<string>;
}

/** The reports on refusals of an admin library. */
export function adminRefusals(deps: AdminDeps): AdminRefusals {
  return {
    report: async ({ sort = 'refusals', ...query }) => {
      const rows = await reportOf(deps, query);
      const sorted = sort === 'name' ? rows : rows.toSorted(byNumber);
      const refusals = rows.reduce((sum, row) => sum + row.refusals, 0);
      return { ...pageOf(sorted, query), total: { refusals } };
    },
    csv: (query, options) => reportCsv(deps, query, options),
  };
}

function byNumber(one: RefusalReportRow, other: RefusalReportRow): number {
  return other.refusals - one.refusals;
}

const csvPage = 100;

async function* reportCsv(
  deps: AdminDeps,
  query: RefusalReportQuery,
  { onProgress }: CsvOptions = {},
): AsyncGenerator<string> {
  const rows = await reportOf(deps, query);
  const names = Array.isArray(query.by) ? query.by : [query.by];
  yield csvLine([...names, 'refusals']);
  for (let start = 0; start < rows.length; start += csvPage) {
    const page = rows.slice(start, start + csvPage);
    yield page.map((row) => csvLine([...row.names, row.refusals])).join('');
    onProgress?.({ rows: start + page.length });
  }
}

async function reportOf(
  { usage }: AdminDeps,
  query: RefusalReportQuery,
): Promise<readonly RefusalReportRow[]> {
  if (usage.refusalReport !== undefined) return usage.refusalReport(query);
  throw notSupported(
    'The usage sink keeps no refusals.',
    'Use sqliteUsageSink or postgresUsageSink, and give it to createGateway as recordRefusals too.',
  );
}
