/** SQLite as the stores of `sql/` use it. */
import { type Clock, systemClock } from '../../clock.ts';
import { isError } from '../../errors.ts';
import type { CallOptions } from '../../ports/call-options.ts';
import type { SqlValue } from '../sql/columns.ts';
import type { SqlDialect, SqlEngine, SqlFunctions, SqlInsert, SqlTable } from '../sql/engine.ts';
import { performerOf, type SqliteClient } from './database.ts';
import { isRefused } from './failure.ts';
import type { SqliteValue } from './handle.ts';
import type { InputOf, PerformOptions } from './operations.ts';

const tables: Readonly<Record<SqlTable, string>> = {
  keys: 'tollgate_key',
  owners: 'tollgate_owner',
  claims: 'tollgate_claim',
  catalogs: 'tollgate_catalog',
  audit: 'tollgate_audit',
  usage: 'tollgate_usage',
  refusals: 'tollgate_refusal',
  kept: 'tollgate_kept',
  responses: 'tollgate_response',
  replicas: 'tollgate_replica',
  switches: 'tollgate_switch',
};

/** The dialect, exported so that a test can check the query plans of the statements. */
export const sqliteDialect: SqlDialect = {
  table: (name) => tables[name],
  claims: { ended: 'ended_at_ms', forget: 'forget_at_ms' },
  now: '$now',
  // There is one writer.
  unlocked: '',
  whileOwned: (owner, write) =>
    write(`EXISTS (SELECT 1 FROM ${tables.owners} WHERE id = ${owner})`),
  json: (value) => value,
  utcDay: (ms) => `date(${ms} / 1000, 'unixepoch')`,
  utcHour: (ms) => `strftime('%Y-%m-%dT%H:00Z', ${ms} / 1000, 'unixepoch')`,
  contains: (text, value) => `instr(${text}, ${value}) > 0`,
  // Not ->>, which reads some names as paths.
  member: (object, ...names) =>
    names.reduce(
      (holder, name) => `(SELECT value FROM json_each(${holder}) WHERE key = ${name})`,
      object,
    ),
  items: (array) => `json_each(${array})`,
};

/**
 * An engine over migrated tables.
 *
 * @param clock of the leases
 * @param readsLong whether its queries are reports
 */
export function sqliteEngine(
  client: SqliteClient,
  clock: Clock = systemClock(),
  readsLong: Pick<PerformOptions, 'mayTakeLong'> = {},
): SqlEngine {
  const { perform } = performerOf(client);
  const at = (options?: CallOptions) => ({ ...options, nowMs: clock.now() });
  const prepared = new Map<string, Prepared>();
  const bound = (text: string, values: readonly SqlValue[]) => {
    let statement = prepared.get(text);
    if (statement === undefined) {
      statement = prepare(text);
      prepared.set(text, statement);
    }
    const { sql } = statement;
    const nowMs = clock.now();
    const inOrder = statement.values.map((value) =>
      value === 'now' ? BigInt(nowMs) : bindable(values[value]),
    );
    return { sql, values: inOrder };
  };
  return {
    dialect: sqliteDialect,
    background: {},
    // The holder of the lock may be in this process.
    closing: { maxTries: Number.POSITIVE_INFINITY, pauseMs: 100 },
    isRefused: (error) => isError(error) && isRefused(error.cause),
    read: async (text, values, options) =>
      perform('query', bound(text, values), { ...at(options), ...readsLong }),
    insert: async (into, given, options) => {
      if (given.length === 0) return;
      const rows = given.map((row) => into.columns.map(({ name }) => bindable(row[name])));
      const mayBeLost = into.mayBeLost === true;
      await perform('insert', { sql: insertOf(into), rows, mayBeLost }, at(options));
    },
    change: async (text, values, options) =>
      perform('change', bound(`${text} RETURNING 1`, values), at(options)),
    call: async <Name extends keyof SqlFunctions>(
      name: Name,
      input: InputOf<Name>,
      options?: CallOptions,
      bytes?: Uint8Array,
    ) => perform(name, input, { ...at(options), bytes }),
  };
}

function insertOf({ table, columns, conflict }: SqlInsert): string {
  const names = columns.map(({ name }) => name).join(', ');
  const values = columns.map(() => '?').join(', ');
  return `
INSERT INTO ${tables[table]} AS known (${names}) VALUES (${values}) ON CONFLICT ${conflict}`;
}

/** A statement with `?` in place of `$1`, because drivers differ in their named values. */
export interface Prepared {
  readonly sql: string;
  /** Which value each `?` has. */
  readonly values: readonly (number | 'now')[];
}

/** Translates the placeholders of a statement. */
export function prepare(text: string): Prepared {
  const values: (number | 'now')[] = [];
  const sql = text.replaceAll(/\$(now\b|\d+)/g, (_, name: string) => {
    values.push(name === 'now' ? name : Number(name) - 1);
    return '?';
  });
  return { sql, values };
}

/** SQLite has no booleans. */
function bindable(value: SqlValue | undefined): SqliteValue {
  if (typeof value !== 'boolean') return value ?? null;
  return value ? 1n : 0n;
}
