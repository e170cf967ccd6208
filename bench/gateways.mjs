/**
 * Measures how many chats a second 1, 2 and 4 gateways serve with each store, and the CPU of a call:
 * `npx tsup && node bench/gateways.mjs [folder on the disk to measure]`. 64 callers share the
 * gateways. Nothing is pinned: gateways, servers, the upstream and the load share the machine.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chatCall } from './lib/calls.mjs';
import { childrenOf, processMicros, syncMs } from './lib/machine.mjs';
import { startProcess, stopAll } from './lib/processes.mjs';
import { startPostgres, startRedis } from './lib/services.mjs';
import { summary } from './lib/statistics.mjs';

const callers = 64;
const rounds = Number(process.env.ROUNDS ?? 5);
const [warmUpMs, roundMs] = [3_000, 2_000];
const call = chatCall();

const stores = {
  memory: async () => ({}),
  // A folder for each number of gateways, because it has a usage log that grows.
  sqlite: async (folder) => ({ socket: mkdtempSync(join(folder, 'sqlite-')) }),
  redis: async () => serverOf(await startRedis(), ({ path }) => path),
  postgres: async () => serverOf(await startPostgres({ fsync: true }), ({ folder }) => folder),
};

function serverOf(server, socketOf) {
  return server && { server, socket: socketOf(server) };
}

/** CPU of a server with its child processes, µs; none of a store without a server. */
function serverMicros(pid) {
  if (pid === undefined) return 0;
  return [pid, ...childrenOf(pid)].reduce((sum, id) => sum + (processMicros(id) ?? 0), 0);
}

async function gatewayMicros(gateways) {
  const usages = await Promise.all(gateways.map((gateway) => gateway.ask('usage')));
  return usages.reduce((sum, { cpuMicros }) => sum + cpuMicros, 0);
}

async function measure({ generator, gateways, pid }, durationMs) {
  const before = { own: await gatewayMicros(gateways), server: serverMicros(pid) };
  const connections = callers / gateways.length;
  const results = await Promise.all(
    gateways.map(({ ready: { port } }) =>
      generator.ask('run', { port, call, connections, durationMs }),
    ),
  );
  const calls = results.reduce((sum, { requests }) => sum + requests, 0);
  return {
    perSecond: calls / Math.max(...results.map(({ seconds }) => seconds)),
    latencyMs: Math.max(...results.map(({ latency }) => latency.p50)) / 1_000,
    gateway: ((await gatewayMicros(gateways)) - before.own) / calls,
    server: (serverMicros(pid) - before.server) / calls,
  };
}

async function compare({ upstreamPort, generator, folder }, store, count, subject) {
  const opened = await stores[store](folder);
  if (opened === undefined) return;
  const args = { upstreamPort, prefix: '/set', store, socket: opened.socket, subject };
  const gateways = [];
  // One after another, because the first creates the tables.
  for (let n = 0; n < count; n += 1) {
    const module = new URL('contenders/tollgate.mjs', import.meta.url);
    gateways.push(await startProcess(module, { args, on: 'any' }));
  }
  const load = { generator, gateways, pid: opened.server?.pid };
  await measure(load, warmUpMs);
  const figures = [];
  for (let round = 0; round < rounds; round += 1) figures.push(await measure(load, roundMs));
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  await opened.server?.stop();
  const median = (of) => summary(figures.map((figure) => figure[of])).median;
  const cells = [
    ...[store, subject === undefined ? 'one of each key' : 'one of all keys', count],
    ...[Math.round(median('perSecond')), median('latencyMs').toFixed(1)],
    ...[Math.round(median('gateway')), Math.round(median('server'))],
  ];
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'tollgate-bench-'));
const upstream = await startProcess(new URL('upstream/server.mjs', import.meta.url), { on: 'any' });
const generator = await startProcess(new URL('lib/load.mjs', import.meta.url), {
  ...{ args: { seed: 1 }, on: 'any' },
});
const context = { upstreamPort: upstream.ready.port, generator, folder };
process.stdout.write(`A sync takes ${syncMs(folder).toFixed(2)} ms.\n\n`);
process.stdout.write(
  '| store | subject | gateways | chats/s | p50 ms | gateway, µs a call | server, µs a call |\n',
);
process.stdout.write('|---|---|--:|--:|--:|--:|--:|\n');
for (const store of Object.keys(stores)) {
  for (const subject of [undefined, 'hot']) {
    for (const count of [1, 2, 4]) await compare(context, store, count, subject);
  }
}
await stopAll();
rmSync(folder, { recursive: true });
