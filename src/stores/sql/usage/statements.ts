/** The statements on the table of usage. */
import { matches, type SqlDialect, type SqlInsert, whole } from '../engine.ts';
import { countColumns } from './counts.ts';
import { bucketIn } from './first-bytes.ts';
import { type CheckedGrouping, type ColumnGrouping, selectedNames } from './report.ts';
import { usageColumns } from './row.ts';

// Sums are read as text: those of a year may exceed 2^53.
const sums = [
  'count(*) AS calls',
  ...countColumns.map(([, name]) => `CAST(coalesce(sum(${name}), 0) AS text) AS ${name}`),
  'sum(CASE WHEN output_tokens > 0 THEN duration_ms ELSE 0 END) AS output_ms',
  'CAST(sum(charge_nanos) AS text) AS charge_nanos',
  'CAST(sum(CASE WHEN booked THEN 0 ELSE charge_nanos END) AS text) AS unbooked_nanos',
  'CAST(coalesce(sum(cost_nanos), 0) AS text) AS cost_nanos',
  'CAST(coalesce(sum(charge_nanos - cost_nanos), 0) AS text) AS margin_nanos',
].join(', ');

/** Drivers convert these types differently, but all of them return text unchanged. */
const readAsText: readonly string[] = ['bigint', 'json'];

/** A call is one row: the highest revision of its record. */
export const usageInsertion: SqlInsert = {
  table: 'usage',
  columns: usageColumns,
  conflict: `(request_id, reservation_id) DO UPDATE
SET outcome = excluded.outcome, reason = excluded.reason, basis = excluded.basis,
  charge_nanos = excluded.charge_nanos, booked = excluded.booked, revision = excluded.revision
WHERE excluded.revision > known.revision`,
};

/** The number of parameters of a filter. */
const filterValueCount = 9;

export function usageStatements(dialect: SqlDialect) {
  const { table, items } = dialect;
  const usage = table('usage');
  return {
    ...pages(dialect),
    report: (groupings: readonly CheckedGrouping[]) => reportOf(dialect, groupings, sums),
    latencies: (groupings: readonly CheckedGrouping[]) =>
      reportOf(dialect, groupings, 'count(*) AS calls', [
        `${bucketIn('first_byte_ms')} AS first_byte_bucket`,
        `${bucketIn('duration_ms')} AS duration_bucket`,
      ]),

    // A line that holds nothing only counts calls and is never charged.
    charges: `
SELECT quota_partition, l.value ->> 'subject' AS subject, l.value ->> 'period' AS period,
  CAST(sum(CASE WHEN booked THEN charge_nanos ELSE 0 END) AS text) AS booked_nanos,
  CAST(sum(CASE WHEN booked THEN 0 ELSE charge_nanos END) AS text) AS unbooked_nanos
FROM ${usage} AS u, ${items('u.lines')} AS l
WHERE l.value ->> 'heldNanos' <> '0'
  AND ${matches('quota_partition', '$1')}
  AND ${matches("l.value ->> 'subject'", '$2')}
  AND ${matches("l.value ->> 'period'", '$3')}
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,

    firstBytes: `
SELECT ${bucketIn('first_byte_ms')} AS bucket, count(*) AS calls${filtered(dialect)}
  AND first_byte_ms IS NOT NULL GROUP BY 1`,

    // One index lookup for each key.
    lastCalls: `
SELECT r.value ->> 'id' AS id, (
  SELECT CAST(max(started_at_ms) AS text) FROM ${usage} WHERE key_id = r.value ->> 'id'
) AS started_at_ms
FROM ${items('CAST($1 AS text)')} AS r`,

    // Without the record of a call in doubt, nobody could end its hold.
    remove: `
DELETE FROM ${usage} WHERE seq IN (
  SELECT seq FROM ${usage}
  WHERE started_at_ms < ${whole('$1')} AND NOT (outcome = 'unknown' AND NOT booked)
  ORDER BY started_at_ms, seq LIMIT ${whole('$2')}
)`,
  };
}

function filtered({ table, member }: SqlDialect, time = 'started_at_ms'): string {
  return `
FROM ${table('usage')} AS u
WHERE ${time} >= ${whole('$1')} AND ${time} < ${whole('$2')}
  AND ${matches('key_id', '$3')}
  AND ${matches('key_group', '$4')}
  AND ${matches('model_id', '$5')}
  AND ${matches('channel_id', '$6')}
  AND ${matches('outcome', '$7')}
  AND (CAST($8 AS text) IS NULL OR ${member('u.metadata', '$8')} = $9)`;
}

/**
 * Its texts are few, since names in the metadata are parameters.
 *
 * @param parts what each row of names is divided into, as columns
 */
function reportOf(
  dialect: SqlDialect,
  groupings: readonly CheckedGrouping[],
  selected: string,
  parts: readonly string[] = [],
): { readonly sql: string; readonly metadataNames: readonly string[] } {
  const { utcDay, utcHour, member } = dialect;
  const columns: Readonly<Record<ColumnGrouping, string>> = {
    key: 'key_id',
    group: 'key_group',
    model: 'model_id',
    channel: "coalesce(channel_id, '')",
    hour: utcHour('started_at_ms'),
    day: utcDay('started_at_ms'),
    month: `substr(${utcDay('started_at_ms')}, 1, 7)`,
    outcome: 'outcome',
  };
  const { clause, metadataNames } = selectedNames(
    groupings,
    columns,
    (index) => `coalesce(${member('metadata', `$${filterValueCount + index}`)}, '')`,
  );
  const positions = [...groupings, ...parts].map((_, index) => index + 1).join(', ');
  const order = ` GROUP BY ${positions} ORDER BY ${positions}`;
  const columnsOf = [clause, ...parts, selected].join(', ');
  return { sql: `SELECT ${columnsOf}${filtered(dialect)}${order}`, metadataNames };
}

/** Pages of all calls, and of those of one request id, in both orders. */
function pages(dialect: SqlDialect) {
  const columns = usageColumns.map(({ name, type }) =>
    readAsText.includes(type) ? `CAST(u.${name} AS text) AS ${name}` : `u.${name}`,
  );
  const page = (from: string, [time, seq]: readonly [string, string], next: number) => {
    const select = `SELECT CAST(u.seq AS text) AS seq, ${columns.join(', ')}${from}`;
    const cursor = `(${whole(`$${next}`)}, ${whole(`$${next + 1}`)})`;
    const limit = `LIMIT ${whole(`$${next + 2}`)}`;
    return {
      oldest: `${select} AND (${time}, ${seq}) > ${cursor} ORDER BY ${time}, ${seq} ${limit}`,
      newest: `${select} AND (${time}, ${seq}) < ${cursor}
ORDER BY ${time} DESC, ${seq} DESC ${limit}`,
    };
  };
  const next = filterValueCount + 1;
  return {
    page: page(filtered(dialect), ['u.started_at_ms', 'u.seq'], next),
    // The unary plus makes SQLite search by the request id, and not by the time.
    pageOfRequest: page(
      `${filtered(dialect, '+u.started_at_ms')} AND request_id = $${next}`,
      ['+u.started_at_ms', '+u.seq'],
      next + 1,
    ),
  };
}
