/**
 * Times Tollgate against a bare undici relay in one run: CPU of the process under test per request or
 * per event, rounds interleaved, medians and ratios. Absolute figures are this machine's; trust the ratio.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Pool } from 'undici';

const rounds = Number(process.env.ROUNDS ?? 5);
const secret = 'bench-key-0123456789-0123456789-0123456789';
const scenarios = [
  { name: 'chat, 1 KB', scenario: '', requests: 6_000, connections: 32, unit: 'request' },
  {
    name: 'stream, 200 events in a burst',
    scenario: '/200-0',
    requests: 400,
    connections: 32,
    events: 200,
    unit: 'event',
  },
  {
    name: 'stream, 200 at 20 ms',
    scenario: '/100-20',
    requests: 200,
    connections: 200,
    events: 100,
    unit: 'event',
  },
  {
    name: 'chat, 100 KB up',
    scenario: '',
    requests: 1_500,
    connections: 32,
    padding: 100_000,
    unit: 'request',
  },
];

async function forked(path, args) {
  const child = fork(new URL(path, import.meta.url), args);
  const [port] = await once(child, 'message');
  return { child, port };
}

async function usageOf(child) {
  child.send('usage');
  const [usage] = await once(child, 'message');
  return usage;
}

async function load(port, { requests, connections, events, padding = 600 }) {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 });
  const body = JSON.stringify({
    model: 'bench-model',
    ...(events === undefined ? {} : { stream: true }),
    messages: [
      { role: 'system', content: 'You are a helpful assistant.' },
      { role: 'user', content: 'y'.repeat(padding) },
    ],
  });
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${secret}` };
  let left = requests;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const answer = await pool.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers,
        body,
      });
      if (answer.statusCode !== 200)
        throw new Error(`${answer.statusCode} ${await answer.body.text()}`);
      await answer.body.dump({ limit: 10_000_000 });
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  await pool.close();
}

async function measure({ child, port }, shape) {
  const before = await usageOf(child);
  await load(port, shape);
  const after = await usageOf(child);
  const micros = after.cpu.user + after.cpu.system - before.cpu.user - before.cpu.system;
  return micros / (shape.requests * (shape.events ?? 1));
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

const upstream = await forked('./upstream.mjs', []);
console.log('| | bare relay, µs CPU | Tollgate, µs CPU | ratio |\n|---|--:|--:|--:|');
for (const shape of scenarios) {
  const contenders = await Promise.all(
    ['bare-relay', 'tollgate'].map((name) =>
      forked(`./contenders/${name}.mjs`, [String(upstream.port), shape.scenario]),
    ),
  );
  const figures = contenders.map(() => []);
  for (const contender of contenders) await load(contender.port, shape);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, contender] of contenders.entries()) {
      figures[index].push(await measure(contender, shape));
    }
  }
  const [bare, ours] = figures.map(median);
  console.log(
    `| ${shape.name} (per ${shape.unit}) | ${bare.toFixed(2)} | ${ours.toFixed(2)} | ${(ours / bare).toFixed(2)} |`,
  );
  for (const { child } of contenders) child.kill();
}
upstream.child.kill();
