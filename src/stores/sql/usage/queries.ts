/** Queries on a table of usage. */
import { jsonWithBigints } from '../../../json.ts';
import type { CallOptions, Promised } from '../../../ports/call-options.ts';
import { bigintAt, integerOrNoneAt, type SqlValue, textAt } from '../columns.ts';
import type { SqlEngine } from '../engine.ts';
import { firstBytesFrom, latenciesFrom } from './first-bytes.ts';
import {
  checkChargesFilter,
  checkDeletion,
  checkFilter,
  checkKeyIds,
  checkPage,
  checkReport,
  pageOf,
  pageStart,
  reportRowFrom,
  type UsageCharges,
  type UsageFilter,
  type UsagePage,
  type UsageQueries,
  type UsageRecordFilter,
  type UsageRecordPage,
  type UsageReportQuery,
  type UsageRetention,
} from './report.ts';
import { usageRecordFrom } from './row.ts';
import { usageStatements } from './statements.ts';

/** Queries of a log in tables. */
export interface SqlUsageQueries extends Promised<UsageQueries & UsageRetention> {}

/**
 * The queries of a log.
 *
 * @param flush writes buffered records first, so that results include them
 * @param deleteRefusals deletes counts of refusals from before a time, and returns how many
 */
export function sqlUsageQueries(
  engine: SqlEngine,
  flush: () => Promise<void>,
  deleteRefusals: (ms: number, limit: number, options?: CallOptions) => Promise<number>,
): SqlUsageQueries {
  const sql = usageStatements(engine.dialect);
  const read: SqlEngine['read'] = async (...args) => {
    await flush();
    return engine.read(...args);
  };
  const reported = (
    { sql: statement, metadataNames }: ReturnType<typeof sql.report>,
    query: UsageReportQuery,
    options: CallOptions | undefined,
  ) => read(statement, [...filterValues(query, query.fromMs), ...metadataNames], options);
  return {
    usageReport: async (query, options) => {
      const groupings = checkReport(query);
      const rows = await reported(sql.report(groupings), query, options);
      return rows.map((row) => reportRowFrom(row, groupings.length));
    },
    usageLatencies: async (query, options) => {
      const groupings = checkReport(query);
      return latenciesFrom(
        await reported(sql.latencies(groupings), query, options),
        groupings.length,
      );
    },
    usageCharges: async (filter, options) => {
      checkChargesFilter(filter ?? {});
      const { partition = null, subject = null, period = null } = filter ?? {};
      return (await read(sql.charges, [partition, subject, period], options)).map(chargesFrom);
    },
    usageRecords: (filter, page, options) => pageFrom({ read, sql }, filter, page, options),
    usageFirstBytes: async (filter, options) => {
      checkFilter(filter);
      const values = filterValues(filter, filter.fromMs ?? 0);
      return firstBytesFrom(await read(sql.firstBytes, values, options));
    },
    usageLastCalls: async (keyIds, options) => {
      checkKeyIds(keyIds);
      const ids = jsonWithBigints(keyIds.map((id) => ({ id })));
      const rows = await read(sql.lastCalls, [ids], options);
      const times = new Map(
        rows.map((row) => [textAt(row, 'id'), integerOrNoneAt(row, 'started_at_ms')]),
      );
      return keyIds.map((id) => times.get(id));
    },
    deleteBefore: async (beforeMs, batch, options) => {
      const limit = checkDeletion(beforeMs, batch);
      const calls = await engine.change(sql.remove, [BigInt(beforeMs), BigInt(limit)], options);
      return calls === limit
        ? calls
        : calls + (await deleteRefusals(beforeMs, limit - calls, options));
    },
  };
}

async function pageFrom(
  { read, sql }: Pick<SqlEngine, 'read'> & { readonly sql: ReturnType<typeof usageStatements> },
  filter: UsageRecordFilter,
  page: UsagePage | undefined,
  options: CallOptions | undefined,
): Promise<UsageRecordPage> {
  checkFilter(filter);
  const checked = checkPage(page);
  const { limit, newestFirst } = checked;
  const { cursor, fromMs, toMs } = pageStart(filter, checked);
  const { requestId } = filter;
  const { oldest, newest } = requestId === undefined ? sql.page : sql.pageOfRequest;
  const values = [
    ...filterValues({ ...filter, toMs }, fromMs),
    ...(requestId === undefined ? [] : [requestId]),
    ...[BigInt(cursor.startedAtMs), cursor.seq, BigInt(limit + 1)],
  ];
  const rows = await read(newestFirst ? newest : oldest, values, options);
  const found = rows.map((row) => ({ seq: bigintAt(row, 'seq'), record: usageRecordFrom(row) }));
  return pageOf(found, limit);
}

/** The values of the filter of the statements. */
function filterValues(filter: UsageFilter, fromMs: number): readonly SqlValue[] {
  const { toMs = Number.MAX_SAFE_INTEGER, keyId, group, modelId, channelId, outcome } = filter;
  const { name, value } = filter.metadata ?? {};
  const texts = [keyId, group, modelId, channelId, outcome, name, value];
  const names = texts.map((text) => text ?? null);
  return [BigInt(fromMs), BigInt(toMs), ...names];
}

function chargesFrom(row: unknown): UsageCharges {
  return {
    partition: textAt(row, 'quota_partition'),
    subject: textAt(row, 'subject'),
    period: textAt(row, 'period'),
    bookedNanos: bigintAt(row, 'booked_nanos'),
    unbookedNanos: bigintAt(row, 'unbooked_nanos'),
  };
}
