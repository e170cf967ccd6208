/** PostgreSQL as the stores of `sql/` use it. */
import { jsonWithBigints } from '../../json.ts';
import { isStoreUnavailable } from '../../ports/call-options.ts';
import type { SqlValue } from '../sql/columns.ts';
import type { SqlDialect, SqlEngine, SqlInsert } from '../sql/engine.ts';
import { codeOf, type PostgresLocation, statements } from './client.ts';
import { resultOf } from './quota-replies.ts';

const dialect: SqlDialect = {
  table: (name) => `"tollgate".${name}`,
  claims: { ended: 'ended_ms', forget: 'forget_ms' },
  now: '"tollgate".now_ms()',
  unlocked: 'FOR UPDATE SKIP LOCKED',
  // A new version, because the statement that removes the owner does not see the row yet.
  whileOwned: (owner, write) => `
WITH owned AS (
  UPDATE "tollgate".owners SET version = version + 1 WHERE id = ${owner} RETURNING id
)${write('EXISTS (SELECT 1 FROM owned)')}`,
  json: (value) => `CAST(CAST(${value} AS text) AS json)`,
  utcDay: (ms) => `to_char(to_timestamp(${ms} / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
  utcHour: (ms) =>
    `to_char(to_timestamp(${ms} / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":00Z"')`,
  contains: (text, value) => `position(${value} in ${text}) > 0`,
  member: (object, ...names) =>
    `${object} #>> ARRAY[${names.map((name) => `CAST(${name} AS text)`).join(', ')}]`,
  items: (array) => `json_array_elements(CAST(${array} AS json))`,
};

export function postgresEngine(location: PostgresLocation): SqlEngine {
  const { rows } = statements(location);
  return {
    dialect,
    // A write that hangs must not block all later ones.
    background: { timeoutMs: 10_000 },
    closing: { maxTries: 3, pauseMs: 0 },
    isRefused: (error) => isStoreUnavailable(error) && /^2[23]/.test(codeOf(error.cause)),
    read: (text, values, options) => rows(text, values.map(bound), options),
    insert: async (into, given, options) => {
      await rows(insertOf(into), [jsonWithBigints(given)], options);
    },
    change: async (text, values, options) =>
      (await rows(`${text} RETURNING 1`, values.map(bound), options)).length,
    call: async (name, input, options, bytes) => {
      const [more, values] = bytes === undefined ? ['', []] : [', $2::bytea', [Buffer.from(bytes)]];
      const text = `SELECT "tollgate".${name}($1::text::jsonb${more})::text AS result`;
      return resultOf(await rows(text, [jsonWithBigints(input), ...values], options));
    },
  };
}

/** One parameter for any number of rows. Members that are JSON are passed as text, unparsed. */
function insertOf({ table, columns, conflict, mayBeLost }: SqlInsert): string {
  const names = columns.map(({ name }) => name).join(', ');
  const given = columns.map(({ name, type }) => `${name} ${type === 'json' ? 'text' : type}`);
  // A row that is read for all the others, so that the commit does not wait for the disk.
  const unsynced = ", (SELECT set_config('synchronous_commit', 'off', true)) AS unsynced";
  const read = columns.map(({ name, type }) => (type === 'json' ? `CAST(${name} AS json)` : name));
  return `
INSERT INTO ${dialect.table(table)} AS known (${names})
SELECT ${read.join(', ')} FROM ROWS FROM (
  json_to_recordset($1::text::json) AS (${given.join(', ')})
) WITH ORDINALITY AS given (${names}, position)${mayBeLost ? unsynced : ''}
ORDER BY position
ON CONFLICT ${conflict}`;
}

/** Not every client can send a bigint. */
function bound(value: SqlValue): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
