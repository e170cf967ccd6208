// suite: slow host
/** Databases that are down: commands work without those that they don't need; `check` continues. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import Libsql from 'libsql';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startStrictUpstream } from '../providers/strict-upstream.ts';
import { commandFolder } from './called.ts';
import { modelAt } from './serve/served.ts';

/** Nothing listens on the port of the service `discard`. */
const postgres = { url: 'postgres://operator:canary@127.0.0.1:9/d' };
const redis = { url: 'redis://operator:canary@127.0.0.1:9' };
const sqlite = { path: './tollgate.db' };
const inSqlite = { keys: 'sqlite', quota: 'sqlite', usage: 'sqlite', idempotency: 'sqlite' };
const models = [modelAt('http://127.0.0.1:9/v1')];

describe('while PostgreSQL and Redis are down', () => {
  it.each([
    ['keys', 'list'],
    ['keys', 'disable', 'ada'],
    ['keys', 'enable', 'ada'],
    ['keys', 'limit', 'ada', '7'],
    ['keys', 'top-up', 'ada', '7'],
    ['keys', 'rotate', 'ada'],
    ['keys', 'issue', '--group', 'staff', '--limit', '5'],
    ['usage'],
    ['usage', 'calls'],
    ['usage', 'delete', '--before', '2020-01-01', '--yes'],
    ['channels'],
  ])('%s %s works over SQLite', async (...args) => {
    const { call, write } = commandFolder();
    await call('keys', 'issue', '--group', 'staff', '--limit', '5', '--id', 'ada');
    write({ catalog: { models }, stores: { sqlite, postgres, redis, ...inSqlite } });
    const { code, err } = await call(...args);

    expect([code, err]).toEqual([0, expect.not.stringContaining('tollgate:')]);
  });

  it.each<readonly [needs: string, catalog: object, args: readonly string[]]>([
    ['redis', { models }, ['keys', 'remove', 'ada', '--yes']],
    ['postgres', { models }, ['migrate']],
    ['postgres', { store: 'postgres' }, ['channels']],
  ])('%s is named by what needs it', async (needs, catalog, args) => {
    const { call, write } = commandFolder();
    write({ catalog, stores: { sqlite, postgres, redis, ...inSqlite } });
    const { code, err } = await call(...args);

    expect(code).toBe(3);
    expect(err).toContain(`stores.${needs}.url can't be opened (ECONNREFUSED)`);
    expect(err).not.toContain('canary');
  });

  it.each<readonly [args: string, code: number, state: RegExp]>([
    ['keys list', 0, /ada +- +staff +enabled +total +5 /],
    ['keys disable ada', 0, /ada +- +staff +disabled +total +5 /],
    ['keys enable ada', 0, /ada +- +staff +enabled +total +5 /],
    ['keys limit ada 7', 0, /ada +- +staff +enabled +total +7 /],
    ['keys issue --group staff --limit 5 --id bob', 0, /bob +- +staff +enabled +total +5 /],
    ['keys top-up ada 7', 3, /ada +- +staff +enabled +total +5 /],
  ])('with the quota in Redis, %s ends with the code %i', async (args, code, state) => {
    const { call, write } = commandFolder();
    await call('keys', 'issue', '--group', 'staff', '--limit', '5', '--id', 'ada');
    write({ catalog: { models }, stores: { sqlite, redis, ...inSqlite, quota: 'redis' } });

    const called = await call(...args.split(' '));

    expect(called.code).toBe(code);
    expect(called.err).toContain("stores.redis.url can't be opened (ECONNREFUSED)");
    expect(called.err.includes('Balances are unknown')).toBe(code === 0);
    expect(called.err.includes('"outcome":"done"')).toBe(code === 0 && args !== 'keys list');
    if (args === 'keys list') expect(called.out).toMatch(/ada +- +staff +enabled +- +- +- +- +-/);
    write({ catalog: { models }, stores: { sqlite, ...inSqlite } });
    expect((await call('keys', 'list')).out).toMatch(state);
  });

  it('check names a SQLite file that another process has locked', async () => {
    const { call, folder } = commandFolder();
    await call('migrate');
    const other = new Libsql(join(folder, 'tollgate.db'));
    onTestFinished(() => void other.close());
    other.exec('BEGIN IMMEDIATE');

    const locked = await call('check');
    other.exec('ROLLBACK');
    const free = await call('check');

    expect(locked.out).toContain("failed   stores.sqlite: can't be written (SQLITE_BUSY)");
    expect(free.out).not.toContain('failed   stores.sqlite');
  });

  it('check tries everything else, and says what it skipped', async () => {
    const upstream = await startStrictUpstream({ apiKey: 'the-account-key' });
    onTestFinished(() => upstream.close());
    const { call, write } = commandFolder();
    await call('migrate');
    const catalog = { models: [modelAt(upstream.openaiBaseUrl)] };
    write({ catalog, stores: { sqlite, postgres, redis, ...inSqlite } });
    const { code, out } = await call('check');
    const json = await call('check', '--json');

    expect(code).toBe(1);
    for (const name of ['postgres', 'redis']) {
      expect(out).toContain(
        `failed   stores.${name}: stores.${name}.url can't be opened (ECONNREFUSED)`,
      );
      expect(out).toContain(`skipped  stores.${name}: tables, settings and clock`);
    }
    expect(out).toContain('ok       stores.sqlite: reachable');
    expect(out).toMatch(/^(?:ok|warning) +channel openai-1: accepts its credential/m);
    expect(JSON.parse(json.out).data).toHaveLength(out.trimEnd().split('\n').length);
    expect([json.code, json.err]).toEqual([1, '']);
    expect(out + json.out).not.toContain('canary');
  });
});

describe('tollgate check', () => {
  it.each<readonly [what: string, catalog: object, lines: readonly RegExp[]]>([
    [
      'in a database that is down',
      { store: 'postgres' },
      [/^skipped +catalog\.store: stores\.postgres could not be opened/m],
    ],
    [
      'in a file that is missing',
      { file: 'none.json' },
      [/^failed +catalog\.file: catalog\.file can't be read \(ENOENT\): \/.*\/none\.json\./m],
    ],
    [
      'in a file with mistakes',
      { file: 'models.json' },
      [
        /^failed +catalog\.file: Model "one": models\[0\]\.groups must be/m,
        /^failed +catalog\.file: Model "two": models\[1\]\.price is missing, and must be/m,
      ],
    ],
  ])('skips the channels of a catalog %s', async (_, catalog, lines) => {
    const { call, write } = commandFolder();
    await call('migrate');
    write({ models: [{ ...models[0], id: 'one', groups: 1 }, { id: 'two' }] }, 'models.json');
    write({ catalog, stores: { sqlite, postgres, ...inSqlite } });
    const { code, out } = await call('check');

    expect(code).toBe(1);
    for (const line of lines) expect(out).toMatch(line);
    expect(out).toMatch(/^skipped +channels: the catalog, which names them, could not be read/m);
    expect(out).toMatch(/^ok +stores\.sqlite/m);
  });

  it('ends if a folder can never be created', async () => {
    const { call, write, folder } = commandFolder();
    onTestFinished(() => rmSync(join(folder, 'tollgate.db'), { force: true }));
    write({ catalog: { models }, stores: { sqlite: { path: '/proc/none/at/all/tollgate.db' } } });
    const { code, out } = await call('check');

    expect(code).toBe(1);
    expect(out).toMatch(/^failed +stores\.sqlite: stores\.sqlite\.path can't be opened \(E/m);
  });
});
