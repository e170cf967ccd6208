/**
 * Calls a second, latency and delay of the event loop with SQLite in worker threads and on the
 * host's thread, beside the time of a disk sync: `npx tsup && node bench/sqlite-thread.mjs
 * [folder]`. A call here is a reserve and a settle of a new hold.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import Libsql from 'libsql';
import { migrateSqlite, openSqlite, sqliteQuotaStore } from '../dist/sqlite.js';
import { syncMs } from './lib/machine.mjs';

const partition = 'default';
const measureMs = 4_000;
const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'tollgate-bench-'));
let calls = 0;

function median(times) {
  return times.sort((a, b) => a - b)[times.length >> 1];
}

async function call(store) {
  calls += 1;
  const id = `call-${String(calls).padStart(16, '0')}`;
  const lines = [{ subject: 'key', period: '', amount: 5n, limit: 10n ** 15n }];
  const times = { timeoutMs: 2_000 };
  await store.reserve({ id, partition, lines, ttlMs: 60_000, onExpire: 'release' }, times);
  // What an upstream does, so that its settle is of another turn.
  await setImmediate();
  await store.settle({ id, partition, lines, basis: 'usage' }, times);
}

async function measure(name, client, callers) {
  const store = sqliteQuotaStore({ client });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const times = [];
  delay.enable();
  const end = performance.now() + measureMs;
  const caller = async () => {
    while (performance.now() < end) {
      const begin = performance.now();
      await call(store);
      times.push(performance.now() - begin);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  delay.disable();
  const cells = [
    ...[name, callers, Math.round((times.length * 1_000) / measureMs)],
    ...[median(times).toFixed(2), (delay.percentile(99) / 1e6).toFixed(1)],
  ];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

process.stdout.write(`A sync takes ${syncMs(folder).toFixed(2)} ms.\n\n`);
process.stdout.write('| SQLite | callers | calls/s | p50 ms | event loop p99 ms |\n');
process.stdout.write('|---|--:|--:|--:|--:|\n');
const handle = new Libsql(join(folder, 'handle.db'));
migrateSqlite(handle);
const database = await openSqlite(join(folder, 'thread.db'));
await migrateSqlite(database);
for (const callers of [1, 32]) {
  await measure("on the host's thread", handle, callers);
  await measure('in worker threads', database, callers);
}
handle.close();
await database.close();
rmSync(folder, { recursive: true });
