/**
 * Measures how many calls a second PostgreSQL's quota store can charge: `npx tsup && node
 * bench/hot-subject.mjs`. A call is a reserve and a settle, and the callers send the next when one
 * is done. Beside the store runs what it was before it had batches: a statement for each operation,
 * by functions that are still in the schema. The two take turns, so other load hits both.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { migratePostgres, postgresQuotaStore } from '../dist/postgres.js';
import { startPostgres } from './lib/services.mjs';
import { summary } from './lib/statistics.mjs';

const rounds = Number(process.env.ROUNDS ?? 7);
const roundMs = 1_000;
const limit = 9_000_000_000_000_000n;
const ttlMs = 30_000;

/** Every transaction waits this long for the disk, in µs, in place of the disk's own time. */
const disks = [
  { disk: 'this disk', commitMicros: 0 },
  { disk: 'a commit of 5 ms', commitMicros: 4_500 },
];
const own = (caller) => `key-${caller}`;
const loads = [
  { load: 'one subject', callers: 64, gateways: 1, subjects: () => ['hot'] },
  { load: 'one subject', callers: 64, gateways: 4, subjects: () => ['hot'] },
  { load: 'keys of one group', callers: 64, gateways: 4, subjects: (n) => ['group', own(n)] },
  { load: 'a subject each', callers: 64, gateways: 1, subjects: (n) => [own(n)] },
  { load: 'one caller', callers: 1, gateways: 1, subjects: () => ['hot'] },
];

/** The store's two operations with a statement for each. */
function alone(client) {
  const call = async (name, input) => {
    const text = `SELECT "tollgate".quota_${name}($1::text::jsonb)::text AS result`;
    const json = JSON.stringify(input, (_, value) =>
      typeof value === 'bigint' ? String(value) : value,
    );
    const { rows } = await client.query(text, [json]);
    return JSON.parse(rows[0].result);
  };
  return {
    reserve: ({ lines, ...input }) =>
      call('reserve', { ...input, lines: lines.map((line) => ({ ...line, charge: 0n })) }),
    settle: (input) => call('settle', input),
  };
}

const kinds = { alone, batched: (client) => postgresQuotaStore({ client }) };

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
  const figures = { alone: [], batched: [] };
  const of = Object.entries(kinds).map(([kind, make]) => ({ kind, stores: pools.map(make) }));
  for (let round = -1; round < rounds; round += 1) {
    for (const { kind, stores } of round % 2 === 0 ? of : of.toReversed()) {
      const figure = await measure({ stores, ...rest });
      if (round >= 0) figures[kind].push(figure);
    }
  }
  await Promise.all(pools.map((pool) => pool.end()));
  const ratio = summary(figures.batched.map((figure, round) => figure / figures.alone[round]));
  return [
    `${load}, ${rest.callers} callers`,
    gateways,
    disk,
    Math.round(summary(figures.alone).median),
    Math.round(summary(figures.batched).median),
    `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)})`,
  ];
}

const server = await startPostgres({ fsync: true });
if (server === undefined) throw new Error('PostgreSQL is not installed.');
const setUp = new pg.Pool({ host: server.folder, user: 'tollgate', database: 'postgres' });
await migratePostgres(setUp);
await setUp.end();
console.log('| load | stores | disk | alone, calls/s | in batches, calls/s | ratio (quartiles) |');
console.log('|---|--:|---|--:|--:|--:|');
for (const disk of disks) {
  for (const load of loads.filter(({ load }) => load.includes(process.env.ONLY ?? ''))) {
    console.log(`| ${(await compare(server.folder, disk, load)).join(' | ')} |`);
  }
}
await server.stop();
