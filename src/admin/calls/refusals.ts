/** Recorded refusals for operators: how many there were, by key, model, reason and the like. */
import { isErrorCode } from '../../errors.ts';
import type { RefusalReportQuery, RefusalReportRow } from '../../stores/sql/refusal-report.ts';
import { notSupported, queriedLog } from '../admin-error.ts';
import { csvLine } from '../csv.ts';
import { type AdminDeps, type Page, type PageQuery, pageOf } from '../deps.ts';
import { liveMinutes } from '../now/live.ts';
import { refusalsIn } from '../now/now.ts';
import type { CsvOptions } from '../usage/usage.ts';
import { detailOf, kindsOfKey, type RefusalCount, refusalCounts } from './refusal-counts.ts';
import { explainedRefusal } from './summary.ts';

/** The groupings, filters, order and page of a report. */
export type RefusalListQuery = RefusalReportQuery &
  PageQuery & {
    /** Default: `refusals`, the most frequent first. */
    readonly sort?: 'refusals' | 'name';
  };

/** A page of a report, and the sum of all its rows. */
export interface RefusalReportPage extends Page<RefusalReportRow> {
  /** The sums of all rows, also of those on other pages. */
  readonly total: {
    /** How many requests were refused. */
    readonly refusals: number;
  };
}

/** Selects refusals, of one key or of all. */
export interface RefusalReasonsQuery {
  /** Unix ms, to the minute. */
  readonly fromMs: number;
  /** Unix ms, to the minute, exclusive. Default: now. */
  readonly toMs?: number;
  /** Only those of this key. */
  readonly keyId?: string;
  /** Only those with this error, as in docs/errors.md. */
  readonly code?: string;
  /** Only the log counts by model and group. */
  readonly modelId?: string;
  /** Only those of keys of this group. */
  readonly group?: string;
}

/** How often requests were refused for one reason, and since when they are counted. */
export interface RefusalReason extends RefusalCount {
  /**
   * `log`: recorded by all processes. `process`: of this one, which the log does not have, or not
   * yet: of a key as far as it is remembered, of all keys in the last hour. Only times until now
   * have those.
   */
  readonly source: 'log' | 'process';
  /** When counting began, in Unix ms. */
  readonly sinceMs: number;
  /** The last time in this process; undefined if it is not remembered. */
  readonly lastMs: number | undefined;
}

/**
 * Reports on the refusals of all processes whose gateway has `recordRefusals`. `report` and `csv`
 * throw an `AdminError`: `not_supported`, `invalid_request`.
 */
export interface AdminRefusals {
  /**
   * Why requests were refused lately, most frequent first: by the log, and where it has nothing of
   * a code and reason, by this process.
   */
  reasons(query: RefusalReasonsQuery): Promise<readonly RefusalReason[]>;
  /** The counts of the log by one or two groupings, in pages. */
  report(query: RefusalListQuery): Promise<RefusalReportPage>;
  /** The rows of a report as CSV, in pieces of up to 100 lines. */
  csv(query: RefusalReportQuery, options?: CsvOptions): AsyncIterable<string>;
}

export function adminRefusals(deps: AdminDeps): AdminRefusals {
  return {
    report: async ({ sort = 'refusals', ...query }) => {
      const rows = await reportOf(deps, query);
      const sorted =
        sort === 'name' ? rows : rows.toSorted((one, other) => other.refusals - one.refusals);
      const refusals = rows.reduce((sum, row) => sum + row.refusals, 0);
      return { ...pageOf(sorted, query), total: { refusals } };
    },
    csv: (query, options) => reportCsv(deps, query, options),
    reasons: (query) => reasonsOf(deps, query),
  };
}

const minuteMs = 60_000;

async function reasonsOf(
  deps: AdminDeps,
  { fromMs, toMs, code, ...names }: RefusalReasonsQuery,
): Promise<readonly RefusalReason[]> {
  const nowMs = deps.clock.now();
  const sinceMs = Math.max(0, Math.floor(fromMs / minuteMs) * minuteMs);
  // The clock of a client that means now may be a little late.
  const isUntilNow = toMs === undefined || toMs > nowMs - minuteMs;
  const span = { fromMs: sinceMs, toMs: isUntilNow ? nowMs + 1 : toMs };
  // The log has no other codes.
  const known = code === undefined ? {} : isErrorCode(code) ? { code } : undefined;
  const logged = known && (await refusalsIn(deps.stores.usage, { ...span, ...names, ...known }));
  const lately = isUntilNow ? seenReasons(deps, { ...names, sinceMs }) : [];
  const seen = new Map(lately.map((reason) => [nameOf(reason), reason]));
  const { refusals } = deps.live.state;
  const recorded = refusalCounts(logged ?? [], refusals, names.keyId).map(
    (count): RefusalReason => {
      const lastMs = seen.get(nameOf(count))?.lastMs;
      seen.delete(nameOf(count));
      return { ...count, source: 'log', sinceMs, lastMs };
    },
  );
  const rest = [...seen.values()].filter((reason) => code === undefined || reason.code === code);
  return [...recorded, ...rest].sort((one, other) => other.count - one.count);
}

function nameOf({ code, reason }: RefusalCount): string {
  return `${code} ${reason}`;
}

interface SeenQuery extends Pick<RefusalReasonsQuery, 'keyId' | 'modelId' | 'group'> {
  readonly sinceMs: number;
}

function seenReasons(
  { live, clock }: AdminDeps,
  { keyId, modelId, group, sinceMs: fromMs }: SeenQuery,
): readonly RefusalReason[] {
  if (modelId !== undefined || group !== undefined) return [];
  if (keyId === undefined) {
    const minute = Math.floor(clock.now() / minuteMs);
    const minutes = Math.min(liveMinutes, Math.max(1, minute - fromMs / minuteMs + 1));
    const sinceMs = (minute - minutes + 1) * minuteMs;
    const more = { source: 'process', sinceMs, lastMs: undefined } as const;
    return live.refusals(minutes).map((count) => ({ ...count, ...more }));
  }
  return kindsOfKey(live.state.refusals, keyId).flatMap((kind) => {
    const last = kind.latest.at(-1);
    if (last === undefined || last.atMs < fromMs) return [];
    const { code, reason, atMs: lastMs } = last;
    const { sinceMs, count } = kind;
    const counted = { count, detail: detailOf(kind), source: 'process', sinceMs, lastMs } as const;
    return { ...explainedRefusal(last), code, reason, ...counted };
  });
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
  { stores: { usage } }: AdminDeps,
  query: RefusalReportQuery,
): Promise<readonly RefusalReportRow[]> {
  if (usage.refusalReport !== undefined) return usage.refusalReport(query);
  throw notSupported('The usage sink keeps no refusals.', `${queriedLog} Set recordRefusals too.`);
}
