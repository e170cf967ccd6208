/**
 * Measures how many calls a second the quota store of PostgreSQL can charge: `npx tsup && node
 * bench/hot-subject.mjs <dist of another build>`. A call is a reserve and a settle, and each caller
 * makes the next when one is done. The two builds take turns, so other load of the machine hits
 * both: trust the ratios.
 */
import { randomUUID } from 'node:crypto';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { startPostgres } from './lib/services.mjs';
import { summary } from './lib/statistics.mjs';

const [other] = process.argv.slice(2);
const rounds = Number(process.env.ROUNDS ?? 7);
const roundMs = 1_000;
const limit = 9_000_000_000_000_000n;
const ttlMs = 30_000;

const now = await import('../dist/postgres.js');
const before = await import(pathToFileURL(`${other}/postgres.js`));

/** How much longer than the disk takes a commit waits, in µs. */
const disks = [
  { disk: 'of this disk', commitMicros: 0 },
  { disk: '5 ms', commitMicros: 4_500 },
];
const own = (caller) => `key-${caller}`;
const loads = [
  { load: '64 callers, one subject', callers: 64, gateways: 1, subjects: () => ['hot'] },
  { load: '64 callers, one subject', callers: 64, gateways: 4, subjects: () => ['hot'] },
  {
    load: '64 callers, keys of one group',
    callers: 64,
    gateways: 4,
    subjects: (n) => ['group', own(n)],
  },
  { load: '64 callers, a subject each', callers: 64, gateways: 1, subjects: (n) => [own(n)] },
  { load: 'one caller', callers: 1, gateways: 1, subjects: () => ['hot'] },
];

async function chargeUntil(store, subjects, endMs) {
  let calls = 0;
  const [partition, onExpire, basis] = ['default', 'release', 'usage'];
  while (performance.now() < endMs) {
    const id = randomUUID();
    const lines = subjects.map((subject) => ({ subject, period: '', amount: 7n, limit }));
    const held = await store.reserve({ id, partition, lines, ttlMs, onExpire });
    if (held.status !== 'held') throw new Error(`a reserve was answered with ${held.status}`);
    const settled = await store.settle({ id, partition, lines, basis });
    if (settled.status !== 'settled') throw new Error(`a settle: ${settled.status}`);
    calls += 1;
  }
  return calls;
}

/** Calls a second. */
async function measure({ stores, callers, subjects }) {
  const startMs = performance.now();
  const counts = await Promise.all(
    Array.from({ length: callers }, (_, caller) =>
      chargeUntil(stores[caller % stores.length], subjects(caller), startMs + roundMs),
    ),
  );
  return counts.reduce((sum, count) => sum + count, 0) / ((performance.now() - startMs) / 1_000);
}

async function compare(host, { disk, commitMicros }, { load, gateways, ...rest }) {
  const options = `-c commit_delay=${commitMicros} -c commit_siblings=0`;
  const at = { host, user: 'tollgate', database: 'postgres', max: 20, options };
  const pools = Array.from({ length: gateways }, () => new pg.Pool(at));
  const figures = { before: [], now: [] };
  const builds = Object.entries({ before, now }).map(([build, { postgresQuotaStore }]) => ({
    build,
    stores: pools.map((client) => postgresQuotaStore({ client })),
  }));
  // The first round of each warms up.
  for (let round = -1; round < rounds; round += 1) {
    for (const { build, stores } of round % 2 === 0 ? builds : builds.toReversed()) {
      const figure = await measure({ stores, ...rest });
      if (round >= 0) figures[build].push(figure);
    }
  }
  await Promise.all(pools.map((pool) => pool.end()));
  const ratio = summary(figures.now.map((figure, round) => figure / figures.before[round]));
  return [
    load,
    gateways,
    disk,
    Math.round(summary(figures.before).median),
    Math.round(summary(figures.now).median),
    `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`,
  ];
}

const server = await startPostgres({ fsync: true });
if (server === undefined) throw new Error('PostgreSQL is not installed.');
const setUp = new pg.Pool({ host: server.folder, user: 'tollgate', database: 'postgres' });
await now.migratePostgres(setUp);
await setUp.end();
console.log('| load | gateways | commit | before, calls/s | now, calls/s | ratio (quartiles) |');
console.log('|---|--:|---|--:|--:|--:|');
for (const disk of disks) {
  for (const load of loads) {
    console.log(`| ${(await compare(server.folder, disk, load)).join(' | ')} |`);
  }
}
await server.stop();
