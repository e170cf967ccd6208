/**
 * Large request bodies, a Base64 image in a chat message, and how long they block the event loop.
 */
import { chatCall } from '../lib/calls.mjs';
import { compare, rowsOf } from '../lib/compare.mjs';
import { bareRelay, peers, tollgate } from '../lib/contenders.mjs';
import { median } from '../lib/statistics.mjs';

const mebibyte = 1024 * 1024;
const sizes = [
  { label: '100 KB', imageBytes: 100_000, connections: 32 },
  { label: '5 MB', imageBytes: 5_000_000, connections: 4 },
];
const atMostTwelveTenths = { 'tollgate on node:http': { of: 'ratio', max: 1.2 } };
/** The number of calls whose longest synchronous section is measured. */
const gapCalls = 10;

export const scenario = {
  name: 'bodies',
  title: 'Request bodies of 100 KB and 5 MB',
  description:
    'The longest synchronous section is the longest time between two turns of a `setImmediate` ' +
    'loop inside the contender while it serves one 5 MB call, per MiB of body: the median of ' +
    `${gapCalls} calls a round.`,

  async run(context) {
    const rows = [];
    for (const size of sizes) {
      rows.push(...(await measureSize(context, size)));
    }
    return rows;
  },
};

async function measureSize(context, { label, imageBytes, connections }) {
  const starters = [bareRelay, tollgate, ...peers()];
  const call = chatCall({ imageBytes });
  const entries = await Promise.all(starters.map((starter) => starter(context, call)));
  const shape = { connections, durationMs: 700 };
  const baseline = 'bare relay';
  const values = await compare(context, entries, { shape });
  const rows = rowsOf(values, {
    figure: 'cpuMicros',
    label: `CPU per request of ${label}`,
    unit: 'µs',
    baseline,
    targets: atMostTwelveTenths,
  });
  if (imageBytes > mebibyte) rows.push(...(await measureGaps(context, entries, call.body.length)));
  await Promise.all(entries.map(({ contender }) => contender.stop()));
  return rows;
}

/** Contenders that are not Node processes of ours have no loop to measure. */
async function measureGaps(context, entries, bodyBytes) {
  const values = await compare(context, entries.slice(0, 2), {
    shape: { connections: 1, requests: 1 },
    measure: async (_, { contender }, shape) => {
      const longest = [];
      for (let call = 0; call < gapCalls; call += 1) {
        await contender.ask('gapsBegin');
        await context.load(shape);
        longest.push((await contender.ask('gapsEnd')).longestMs);
      }
      return { gapMs: median(longest) / (bodyBytes / mebibyte) };
    },
  });
  return rowsOf(values, {
    figure: 'gapMs',
    label: 'longest synchronous section per MiB',
    unit: 'ms',
    baseline: 'bare relay',
    targets: { 'tollgate on node:http': { of: 'median', max: 5 } },
  });
}
