/**
 * Stores that processes share: the CPU and round trips that Redis and PostgreSQL add to a chat, and
 * how many chats a second one, two and four gateways serve with one store.
 */
import { spawnSync } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { chatCall, secretOf, sixDigits } from '../lib/calls.mjs';
import { compare, row, rowsOf } from '../lib/compare.mjs';
import { pinning } from '../lib/machine.mjs';
import { startPostgres, startRedis } from './support-services.mjs';
import { countingProxy } from './support-wire.mjs';

const contenderName = 'with-redis-or-postgres';
const keys = 200;
/** Rotates through the keys: the load generator replaces `{n}` by a number. */
const spreadCall = {
  call: chatCall({ key: secretOf(0).replace(sixDigits(0), '{n}') }),
  spread: keys,
};
const countedCalls = 100;
const gatewayCounts = [1, 2, 4];
const warmUpMs = 10_000;
const measured = { durationMs: 700 };
const connections = 64;

export const scenario = {
  name: 'stores',
  title: 'Redis and PostgreSQL, the keys cached',

  async run(context) {
    const services = [
      { store: 'memory', name: 'memory' },
      ...(await available(context, 'redis', startRedis)),
      ...(await available(context, 'postgres', startPostgres)),
    ];
    try {
      const shared = services.filter(({ service }) => service !== undefined);
      return [
        ...(await addedCpu(context, services)),
        ...(await roundTrips(context, shared)),
        ...(await throughput(context, services)),
      ];
    } finally {
      await Promise.all(services.map(({ service }) => service?.stop()));
    }
  },
};

const titles = { redis: 'Redis', postgres: 'PostgreSQL' };

async function available(context, store, start) {
  const service = await start();
  if (service !== undefined) return [{ store, name: titles[store], service }];
  context.note(`${titles[store]} is not installed here: left out.`);
  return [];
}

function begin(context, { store, service }, options = {}) {
  const socket = socketOf(store, service);
  return context.start(contenderName, { store, socket, ...options });
}

/** node-redis takes the socket, pg the folder that it is in. */
function socketOf(store, place) {
  return store === 'postgres' ? place.folder : place?.path;
}

/** Without the CPU of the servers, which is not the host's. */
async function addedCpu(context, services) {
  const ways = [
    ...services,
    ...services
      .filter(({ store }) => store === 'postgres')
      .map((postgres) => ({
        ...postgres,
        name: 'PostgreSQL, with its usage log',
        options: { usageLog: true },
      })),
  ];
  const entries = [];
  for (const way of ways) {
    const contender = await begin(context, way, { keys, ...way.options });
    entries.push({ name: way.name, contender });
  }
  const values = await compare(context, entries, {
    shape: { ...spreadCall, connections: 32, durationMs: 1_000 },
  });
  await Promise.all(entries.map(({ contender }) => contender.stop()));
  const { cpuMicros: base } = values.get('memory');
  values.get('memory').added = base.map(() => 0);
  for (const figures of values.values()) {
    figures.added = figures.cpuMicros.map((micros, round) => micros - base[round]);
  }
  const ofCpu = { figure: 'cpuMicros', label: 'CPU a chat', unit: 'µs', baseline: 'memory' };
  const ofAdded = { figure: 'added', label: 'CPU added', unit: 'µs' };
  return [
    ...rowsOf(values, ofCpu),
    ...rowsOf(values, ofAdded).filter(({ contender }) => contender !== 'memory'),
  ];
}

/**
 * One call at a time, each after the previous one has settled, which happens after the response:
 * round trips that overlap count as one.
 */
async function roundTrips(context, services) {
  const rows = [];
  for (const { store, name, service } of services) {
    const proxy = await countingProxy(service.path);
    const contender = await begin(context, { store, service: proxy });
    const one = { port: contender.port, call: chatCall(), connections: 1 };
    await context.load({ ...one, requests: 50 });
    await wait(500);
    const before = proxy.roundTrips();
    for (let calls = 0; calls < countedCalls; calls += 1) {
      await context.load({ ...one, requests: 1 });
      await wait(5);
    }
    const values = [(proxy.roundTrips() - before) / countedCalls];
    const target = { of: 'median', max: 2 };
    rows.push(row({ contender: name, figure: 'round trips a chat', unit: '', values, target }));
    await contender.stop();
    await proxy.stop();
  }
  return rows;
}

/** On all cores, shared with upstream, load and the server itself: a ratio, not a capacity. */
async function throughput(context, services) {
  context.note(
    'Chats a second: gateways, store, upstream and load share all cores, so gateways beyond the ' +
      `cores add little. ${keys} keys, each with its own subject; "one subject": all calls are ` +
      'charged to one key and its group. The servers count as foreign load.',
  );
  const rows = [];
  for (const service of services) rows.push(...(await throughputOf(context, service)));
  return rows;
}

async function throughputOf(context, service) {
  const gateways = await Promise.all(
    Array.from({ length: Math.max(...gatewayCounts) }, () => begin(context, service, { keys })),
  );
  for (const { pid } of gateways) unpin(pid);
  const ways = gatewayCounts.map((count) => ({
    figure: `chats a second, ${count === 1 ? 'one gateway' : `${count} gateways`}`,
    gateways: gateways.slice(0, count),
    calls: spreadCall,
    values: [],
  }));
  await chatsPerSecond(context, { gateways, calls: spreadCall }, { durationMs: warmUpMs });
  // Processes with memory stores share no subject.
  if (service.store !== 'memory') {
    const hot = { figure: `chats a second, ${gateways.length} gateways, one subject`, gateways };
    ways.push({ ...hot, calls: { call: chatCall() }, values: [] });
  }
  for (let round = 0; round < context.rounds; round += 1) {
    for (const way of ways) way.values.push(await chatsPerSecond(context, way, measured));
  }
  await Promise.all(gateways.map((gateway) => gateway.stop()));
  const [{ values: baseline }] = ways;
  return ways.map(({ figure, values }) =>
    row({ contender: service.name, figure, unit: '/s', values, baseline }),
  );
}

async function chatsPerSecond(context, { gateways, calls }, extent) {
  const shape = { ...calls, connections: connections / gateways.length, ...extent };
  const results = await Promise.all(gateways.map(({ port }) => context.load({ ...shape, port })));
  return results.reduce((sum, { requests, seconds }) => sum + requests / seconds, 0);
}

/** Contenders usually have one core; here they must have several. */
function unpin(pid) {
  if (pinning === undefined) return;
  const cores = `${pinning.contender},${pinning.others}`;
  spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)]);
}
