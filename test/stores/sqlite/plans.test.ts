// suite: slow host
/** Every statement of the hot path finds its rows by an index, without scanning a table. */
import { expect, it, onTestFinished } from 'vitest';
import { catalogStatements } from '../../../src/stores/sql/catalog-table.ts';
import { claimStatements } from '../../../src/stores/sql/idempotency-store.ts';
import { keptStatements } from '../../../src/stores/sql/kept.ts';
import { keyStatements } from '../../../src/stores/sql/key-store.ts';
import { refusalStatements } from '../../../src/stores/sql/refusal-report.ts';
import { responseStatements } from '../../../src/stores/sql/response-index.ts';
import { usageStatements } from '../../../src/stores/sql/usage/statements.ts';
import { functionStatements } from '../../../src/stores/sqlite/functions.ts';
import { sweepStatements } from '../../../src/stores/sqlite/operations.ts';
import { hotStatements } from '../../../src/stores/sqlite/quota-ledger.ts';
import { prepare, sqliteDialect } from '../../../src/stores/sqlite/stores.ts';
import { fileKinds, scratch } from './handles.ts';

const keys = keyStatements(sqliteDialect);
const claims = claimStatements(sqliteDialect);
const usage = usageStatements(sqliteDialect);
const refusals = refusalStatements(sqliteDialect);
const catalog = catalogStatements(sqliteDialect, { atMs: 'c.published_at_ms' });

const statements = [
  ...hotStatements,
  ...sweepStatements,
  ...functionStatements,
  ...[
    ...[keys.byDigest, keys.byId, keys.ofGroup, keys.page, keys.update, keys.remove],
    ...[claims.finish, claims.abandon, catalog.version, catalog.newest],
    ...[usage.report([{ column: 'key' }]).sql, usage.page.oldest, usage.page.newest],
    ...[usage.firstBytes, usage.lastCalls, usage.remove],
    ...[refusals.report(['key']), refusals.remove],
    ...Object.values(keptStatements(sqliteDialect)),
    ...Object.values(responseStatements(sqliteDialect)),
  ].map((text) => prepare(text).sql),
];

it.each(fileKinds)('each statement uses an index over $name', (kind) => {
  const { db, cleanup } = scratch(kind);
  onTestFinished(cleanup);
  const scans = (sql: string): readonly string[] => {
    const values = Array.from(sql.matchAll(/\?/g), () => 1n);
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
    expect(Array.isArray(plan)).toBe(true);
    return (Array.isArray(plan) ? plan : [])
      .map((step: unknown) => String(Reflect.get(Object(step), 'detail')))
      .filter((detail) => /\bSCAN (?:tollgate_|[cu]\b)/.test(detail) || /TEMP B-TREE/.test(detail));
  };

  // A report sorts its few sums, and the newest version is the last row of the table.
  const expected = [/USE TEMP B-TREE FOR GROUP BY/, /^SCAN c$/];
  const found = statements
    .flatMap((sql) => scans(sql).map((detail) => ({ sql, detail })))
    .filter(({ detail }) => !expected.some((known) => known.test(detail)));

  expect(statements.length).toBeGreaterThan(30);
  expect(found).toEqual([]);
});

it('the calls of one request id are found by it, not by their times', () => {
  const [kind] = fileKinds;
  if (kind === undefined) throw new Error('there is always libsql');
  const { db, cleanup } = scratch(kind);
  onTestFinished(cleanup);

  const { sql, values } = prepare(usage.pageOfRequest.oldest);
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values.map(() => 1n));

  expect(JSON.stringify(plan)).toMatch(/SEARCH u USING INDEX \w+ \(request_id=\?\)/);
});

it('a scan would be noticed', () => {
  const [kind] = fileKinds;
  if (kind === undefined) throw new Error('there is always libsql');
  const { db, cleanup } = scratch(kind);
  onTestFinished(cleanup);

  const plan = db
    .prepare('EXPLAIN QUERY PLAN SELECT id FROM tollgate_key WHERE record = ?')
    .all('x');

  expect(JSON.stringify(plan)).toContain('SCAN tollgate_key');
});
