// suite: slow host
/** What the stores' failures say to those who use commands: they can't call a function. */
import { expect, it } from 'vitest';
import { reasonOf, withCommand } from '../../src/command/output.ts';
import { postgresQuotaStore } from '../../src/stores/postgres/quota-store.ts';
import { failureOf } from '../../src/stores/sqlite/failure.ts';
import { commandFolder, sqliteConfig } from './called.ts';

it('a command over a database without tables names the command that creates them', async () => {
  const { call, write } = commandFolder();
  write({ ...sqliteConfig(), stores: { sqlite: { path: './tollgate.db', migrate: false } } });

  expect(await call('keys', 'list')).toEqual({
    ...{ code: 3, out: '', err: 'tollgate: The tables are missing: run npx tollgate migrate.\n' },
  });
});

it.each(['42P01', '3F000'])('PostgreSQL without tables (%s) names it too', async (code) => {
  const error = Object.assign(new Error('relation "secret" does not exist'), { code });
  const client = { query: () => Promise.reject(error) };
  const store = postgresQuotaStore({ client });
  const failure: unknown = await Promise.resolve(store.read('ada', '', 'default')).catch(
    (thrown: unknown) => thrown,
  );

  expect(reasonOf(failure)).toMatch(/^The tables are missing .*Run npx tollgate migrate/);
});

it.each([
  ['SQLITE_FULL', 13, 'SQLite failed with SQLITE_FULL: the disk is full.'],
  ['SQLITE_READONLY', 8, "SQLite failed with SQLITE_READONLY: the file can't be written."],
  ['SQLITE_IOERR', 10, 'SQLite failed with SQLITE_IOERR'],
])('%s has its name, and its meaning if it is known', (name, rawCode, sentence) => {
  const error = Object.assign(new Error(`${name}: /secret/path`), { rawCode });

  expect(reasonOf(failureOf(error, 'unknown'))).toBe(sentence);
});

it.each([
  ['The tables are missing. Run migratePostgres(client) before the gateway starts.', '. Run npx'],
  ['the tables are missing: run migrateSqlite(db)', ': run npx'],
])('%j has the command in place of the function', (problem, start) => {
  expect(withCommand(problem)).toContain(`missing${start} tollgate migrate`);
});

it('shows no message of a driver', () => {
  expect(reasonOf(new TypeError('password "x" is wrong'))).toBe('TypeError');
});
