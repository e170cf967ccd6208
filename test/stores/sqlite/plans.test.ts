// suite: slow host
/** Every statement of the hot path finds its rows by an index, without scanning a table. */
import { expect, it, onTestFinished } from 'vitest';
import { catalogStatements } from '../../../src/stores/sqlite/catalog.ts';
import { claimStatements } from '../../../src/stores/sqlite/idempotency-store.ts';
import { keyStatements } from '../../../src/stores/sqlite/key-store.ts';
import { hotStatements } from '../../../src/stores/sqlite/quota-ledger.ts';
import { sweepStatements } from '../../../src/stores/sqlite/quota-store.ts';
import { refusalStatements } from '../../../src/stores/sqlite/refusal-queries.ts';
import { selectRequest, usageStatements } from '../../../src/stores/sqlite/usage-queries.ts';
import { fileKinds, scratch } from './handles.ts';

const statements = [
  ...hotStatements,
  ...sweepStatements,
  ...keyStatements,
  ...claimStatements,
  ...usageStatements,
  ...refusalStatements,
  ...catalogStatements,
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
      .filter((detail) => /\bSCAN tollgate_/.test(detail) || /TEMP B-TREE/.test(detail));
  };

  // A report sorts its few sums, and the newest version is the last row of the table.
  const expected = [/USE TEMP B-TREE FOR GROUP BY/, /^SCAN tollgate_catalog$/];
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

  const values = Array.from(selectRequest.matchAll(/\?/g), () => 1n);
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${selectRequest}`).all(...values);

  expect(JSON.stringify(plan)).toMatch(/SEARCH tollgate_usage USING INDEX \w+ \(request_id=\?\)/);
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
