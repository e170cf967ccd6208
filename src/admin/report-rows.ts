/** The rows of a report on the usage log, summed up slice by slice. */
import type { MaybePromise } from '../ports/call-options.ts';
import type { UsageReportQuery, UsageReportRow } from '../stores/sql/usage-report.ts';
import { type Span, type WalkDeps, type WalkOptions, walkLog } from './log-walk.ts';

/**
 * The rows of a report, sorted by names. The same rows as from one query over the whole span,
 * except for calls that are written meanwhile.
 *
 * @throws RangeError where the query is not valid; StoreUnavailable, StoreCorrupt
 */
export async function reportRows(
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
  return {
    names: one.names,
    calls: one.calls + other.calls,
    inputTokens: one.inputTokens + other.inputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    cacheWrite5mTokens: one.cacheWrite5mTokens + other.cacheWrite5mTokens,
    cacheWrite1hTokens: one.cacheWrite1hTokens + other.cacheWrite1hTokens,
    audioInputTokens: one.audioInputTokens + other.audioInputTokens,
    imageInputTokens: one.imageInputTokens + other.imageInputTokens,
    videoInputTokens: one.videoInputTokens + other.videoInputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    audioOutputTokens: one.audioOutputTokens + other.audioOutputTokens,
    imageOutputTokens: one.imageOutputTokens + other.imageOutputTokens,
    images: one.images + other.images,
    chargeNanos: one.chargeNanos + other.chargeNanos,
    unbookedNanos: one.unbookedNanos + other.unbookedNanos,
    costNanos: one.costNanos + other.costNanos,
    marginNanos: one.marginNanos + other.marginNanos,
  };
}

/** Orders by each name in turn, by code points as the databases do. */
function byNames({ names: one }: UsageReportRow, { names: other }: UsageReportRow): number {
  for (const [index, name] of one.entries()) {
    const order = Buffer.compare(Buffer.from(name), Buffer.from(other[index] ?? ''));
    if (order !== 0) return order;
  }
  return 0;
}
