/**
 * Times translation against our own relay in one run: CPU of the gateway's process per event of a
 * stream, the same text in every dialect, rounds interleaved, medians and ratios. A translated event
 * of a paced stream may cost three times a relayed one.
 */
import { forked, medians } from './harness.mjs';

const shapes = [
  {
    name: '200 streams, an event every 20 ms',
    scenario: '/100-20',
    requests: 200,
    connections: 200,
    events: 100,
  },
  {
    name: 'a burst of 200 events',
    scenario: '/200-0',
    requests: 400,
    connections: 32,
    events: 200,
  },
];
const ways = [
  { name: 'chat over openai (relay)', dialect: 'openai' },
  { name: 'chat over gemini', dialect: 'gemini' },
  { name: 'chat over anthropic', dialect: 'anthropic' },
  { name: 'native over gemini (relay)', dialect: 'gemini', native: true },
  { name: 'native over openai', dialect: 'openai', native: true },
  { name: 'native over anthropic', dialect: 'anthropic', native: true },
];

const upstream = await forked('./upstream.mjs', []);
for (const shape of shapes) {
  const contenders = await Promise.all(
    ways.map(async ({ dialect, native = false }) => ({
      ...(await forked('./contenders/tollgate.mjs', [
        String(upstream.port),
        shape.scenario,
        dialect,
      ])),
      shape: { native },
    })),
  );
  const figures = await medians(contenders, shape);
  console.log(`| ${shape.name} | µs CPU an event | against the relay |\n|---|--:|--:|`);
  for (const [index, { name, native = false }] of ways.entries()) {
    const relay =
      figures[
        ways.findIndex((way) => way.name.endsWith('(relay)') && (way.native ?? false) === native)
      ];
    const ratio = (figures[index] / relay).toFixed(2);
    console.log(`| ${name} | ${figures[index].toFixed(2)} | ${ratio} |`);
  }
  for (const { child } of contenders) child.kill();
}
upstream.child.kill();
