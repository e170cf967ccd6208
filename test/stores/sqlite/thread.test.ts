// suite: slow host
/** A database in worker threads: its queue, its ends, and what it does not block. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import { builtWorker } from '../../../sqlite-worker.ts';
import { ConfigurationError } from '../../../src/errors.ts';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import {
  migrateSqlite,
  openSqlite,
  type SqliteDatabase,
  sqliteKeyStore,
  sqliteQuotaStore,
  sqliteUsageSink,
} from '../../../src/stores/sqlite/index.ts';
import { DatabaseThread } from '../../../src/stores/sqlite/thread/open.ts';
import { childScript } from '../../support/child-script.ts';
import { idOf, partition, reportedOf, reserve, settle, unavailable } from './reported-calls.ts';
import { type Failure, type ThreadScratch, threadScratch } from './threads.ts';

async function opened(
  failure?: Failure,
): Promise<ThreadScratch & { readonly client: SqliteDatabase; readonly store: QuotaStore }> {
  const scratch = await threadScratch();
  onTestFinished(scratch.cleanup);
  const client = await scratch.open(failure);
  return { ...scratch, client, store: sqliteQuotaStore({ client }) };
}

it('one that fails is undone alone, and the others of its group are done', async () => {
  const { store } = await opened();
  await reserve(store, 'first');
  const add = [1n, 1n];
  const extended = store.extend([{ id: idOf('first'), partition, ttlMs: 1_000, add }]);

  const [wrong, right] = await Promise.allSettled([extended, reserve(store, 'second')]);

  expect(wrong).toMatchObject({ status: 'rejected', reason: { name: 'RangeError' } });
  expect(right).toMatchObject({ status: 'fulfilled', value: 'held' });
});

it('a locked file stops neither the event loop nor the calls after it', async () => {
  const { store, handle } = await opened();
  const other = handle();
  other.exec('BEGIN IMMEDIATE');
  let turns = 0;
  const turning = setInterval(() => {
    turns += 1;
  }, 1);

  await expect(reserve(store, 'locked', { timeoutMs: 100 })).rejects.toEqual(
    unavailable('not_done'),
  );
  clearInterval(turning);
  other.exec('COMMIT');

  expect(turns).toBeGreaterThan(5);
  expect(await reserve(store, 'free')).toBe('held');
  expect(await store.read('alice', '', partition)).toMatchObject({ inFlight: 1 });
});

it('a call whose time or signal ended before its turn never runs', async () => {
  const { store, handle } = await opened();
  const other = handle();
  other.exec('BEGIN IMMEDIATE');
  const controller = new AbortController();
  const running = reserve(store, 'running', { timeoutMs: 30_000 });
  // Goes with it, and its time is over when the lock is free.
  const late = reserve(store, 'late', { timeoutMs: 5 });
  const lateIsNotDone = expect(late).rejects.toEqual(unavailable('not_done'));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const aborted = reserve(store, 'aborted', { signal: controller.signal });
  const abortedIsNotDone = expect(aborted).rejects.toEqual(unavailable('not_done'));
  controller.abort();
  await new Promise((resolve) => setTimeout(resolve, 20));
  other.exec('COMMIT');

  expect(await running).toBe('held');
  await lateIsNotDone;
  await abortedIsNotDone;
  expect(await store.read('alice', '', partition)).toMatchObject({ inFlight: 1 });
});

it('a full disk refuses what does not fit, and the rest of its group with it', async () => {
  const { open, handle } = await opened();
  const pages: unknown = handle().prepare('PRAGMA page_count').all();
  const count = Number(Reflect.get(Array.isArray(pages) ? pages[0] : {}, 'page_count'));
  const full = await open({ maxPages: count + 8 });
  const store = sqliteQuotaStore({ client: full });

  const calls = await Promise.all(
    Array.from({ length: 2_000 }, (_, index) => reportedOf(reserve(store, `many-${index}`))),
  );

  const done = calls.filter((outcome) => outcome === 'done').length;
  expect(calls).not.toContain('unknown');
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThan(2_000);
  const after = sqliteQuotaStore({ client: await open() });
  expect(await after.read('alice', '', partition)).toMatchObject({
    held: 10n * BigInt(done),
    inFlight: done,
  });
  expect(await reserve(after, 'with-space')).toBe('held');
});

it('what was asked before close is done, and nothing after it', async () => {
  const { store, client, handle } = await opened();
  const running = Promise.all(['a', 'b', 'c'].map((name) => reserve(store, name)));
  const closed = client.close();

  await expect(reserve(store, 'after')).rejects.toEqual(unavailable('not_done'));
  expect(await running).toEqual(['held', 'held', 'held']);
  await closed;
  expect(handle().prepare('SELECT count(*) AS holds FROM tollgate_hold').all()).toEqual([
    { holds: 3 },
  ]);
});

it('two that are opened on one file charge together', async () => {
  const { store, open } = await opened();
  const other = sqliteQuotaStore({ client: await open() });
  const names = Array.from({ length: 100 }, (_, index) => `call-${index}`);

  await Promise.all(
    names.map(async (name, index) => {
      const mine = index % 2 === 0 ? store : other;
      expect(await reserve(mine, name, { timeoutMs: 10_000 })).toBe('held');
      expect(await settle(mine, name)).toBe('settled');
    }),
  );

  expect(await other.read('alice', '', partition)).toMatchObject({ used: 1_000n, held: 0n });
});

it('a database in memory has one connection, with all tables', async () => {
  const db = await openSqlite(':memory:', { driver: 'libsql' });
  onTestFinished(() => db.close());
  await migrateSqlite(db);
  const keys = sqliteKeyStore({ client: db });
  const store = sqliteQuotaStore({ client: db });
  const { secret, key } = await keys.issue({ group: 'chat', limitNanos: 1n });

  expect((await keys.find(secret))?.id).toBe(key.id);
  expect(await reserve(store, 'call')).toBe('held');
  expect(store.durability).toBe('process');
});

it.each<[string, Parameters<typeof openSqlite>, unknown]>([
  [
    'a folder that does not exist',
    ['/nowhere/at/all.db', { driver: 'libsql' }],
    unavailable('not_done'),
  ],
  [
    'a worker that does not exist',
    ['/dev/shm/x.db', { driver: 'libsql', workerUrl: '/nowhere/worker.cjs' }],
    expect.objectContaining({
      name: 'ConfigurationError',
      message: expect.stringContaining('tollgate/sqlite-worker'),
    }),
  ],
])('%s is refused at once', async (_what, [path, options], error) => {
  await expect(openSqlite(path, options)).rejects.toEqual(error);
});

it.each([undefined, 5, '', 'a\0b'])('%j is no path', async (path) => {
  await expect(openSqlite(Object(path).valueOf(), { driver: 'libsql' })).rejects.toThrow(
    ConfigurationError,
  );
});

it('closing twice waits twice', async () => {
  const { store, client } = await opened();
  const held = reserve(store, 'call');

  await Promise.all([client.close(), client.close()]);

  expect(await held).toBe('held');
});

it('a worker that is started again opens the same file in whatever folder', async () => {
  const { store, client, handle } = await opened({ at: 60, as: 'exit_before' });
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir('/');
  const calls = Array.from({ length: 8 }, (_, index) => `call-${index}`);
  for (const name of calls) await reportedOf(reserve(store, name));

  expect(await reserve(store, 'after')).toBe('held');
  const rows = handle().prepare(
    "SELECT count(*) AS holds FROM tollgate_hold WHERE id LIKE 'after%'",
  );
  expect(rows.all()).toEqual([{ holds: 1 }]);
  expect(client.isInFile).toBe(true);
});

it('what waits for a worker that can open nothing is refused, and not kept', async () => {
  const { store, breakDriver } = await opened({ at: 60, as: 'exit_before' });
  breakDriver();
  const calls = Array.from({ length: 8 }, (_, index) =>
    reportedOf(reserve(store, `call-${index}`)),
  );
  await Promise.all(calls);

  await expect(reserve(store, 'after')).rejects.toEqual(unavailable('not_done'));
  await expect(reserve(store, 'later')).rejects.toEqual(unavailable('not_done'));
});

it('a report delays no look-up of a key', async () => {
  const { client } = await opened();
  const keys = sqliteKeyStore({ client });
  const usage = sqliteUsageSink({ client });
  onTestFinished(() => usage.close());
  const { secret, key } = await keys.issue({ group: 'chat', limitNanos: 1n });
  const report = usage.usageReport({ by: 'key', fromMs: 0, toMs: 1 });

  expect((await keys.find(secret))?.id).toBe(key.id);
  expect(await report).toEqual([]);
});

it('a worker that dies of an error says of which', async () => {
  const dying = `
    const { parentPort } = require('node:worker_threads');
    parentPort.on('message', () => {
      throw Object.assign(new Error('of an operation'), { code: 'EMFILE' });
    });
    parentPort.postMessage({ opened: { isInFile: true } });
  `;
  const start = () => new Worker(dying, { eval: true });
  const thread = new DatabaseThread(start, 'unknown', 1);
  await thread.open();

  await expect(thread.perform('isInFile', undefined, { nowMs: 0 })).rejects.toMatchObject({
    ...{ message: "the database's worker ended: EMFILE", code: 'EMFILE', outcome: 'unknown' },
  });
  await thread.close();
});

it('only a log whose queries would block this process or the writer is read in parts', async () => {
  const { client, handle } = await opened();
  const memory = await openSqlite(':memory:');
  onTestFinished(() => memory.close());

  const sinks = [client, memory, handle()].map((each) => sqliteUsageSink({ client: each }));
  onTestFinished(async () => {
    await Promise.all(sinks.map((sink) => sink.close()));
  });
  expect(sinks.map(({ isInProcess }) => isInProcess)).toEqual([false, true, true]);
});

it('an unknown driver is refused by name', async () => {
  const options: object = { driver: 'sqlite3' };

  await expect(openSqlite(':memory:', options)).rejects.toThrow(ConfigurationError);
});

it.each([
  ['a file', ''],
  ['a file', 'closes'],
  [':memory:', 'closes'],
])('a process ends when it has nothing else to do: %s %s', async (where, closes) => {
  const script = await childScript(join(import.meta.dirname, 'thread-script.ts'), 'libsql');
  const path = where === ':memory:' ? where : (await opened()).path;
  const url: string = JSON.parse(builtWorker().SQLITE_WORKER ?? '');

  const { status, stdout } = spawnSync(process.execPath, [script, path, url, closes], {
    encoding: 'utf8',
    timeout: 30_000,
  });

  expect([status, stdout]).toEqual([0, 'held\n']);
});
