/**
 * Times Tollgate against a bare undici relay in one run: CPU of the process under test per request or
 * per event, rounds interleaved, medians and ratios. Absolute figures are this machine's; trust the ratio.
 */
import { forked, medians } from './harness.mjs';

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

const upstream = await forked('./upstream.mjs', []);
console.log('| | bare relay, µs CPU | Tollgate, µs CPU | ratio |\n|---|--:|--:|--:|');
for (const shape of scenarios) {
  const contenders = await Promise.all(
    ['bare-relay', 'tollgate'].map((name) =>
      forked(`./contenders/${name}.mjs`, [String(upstream.port), shape.scenario]),
    ),
  );
  const [bare, ours] = await medians(contenders, shape);
  console.log(
    `| ${shape.name} (per ${shape.unit}) | ${bare.toFixed(2)} | ${ours.toFixed(2)} | ${(ours / bare).toFixed(2)} |`,
  );
  for (const { child } of contenders) child.kill();
}
upstream.child.kill();
