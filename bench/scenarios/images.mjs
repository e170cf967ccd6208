/**
 * Large images in Base64, many at once: the growth of the gateway's memory and the CPU per image.
 * Each measurement has its own process, because a heap that has grown does not shrink.
 */

import { imageCall } from '../lib/calls.mjs';
import { row } from '../lib/compare.mjs';
import { freshRelay, tollgate } from '../lib/contenders.mjs';
import { processMemory } from '../lib/machine.mjs';

const mebibyte = 1024 * 1024;
/** Images for each connection, one after another: growth shows in the second. */
const imagesEach = 3;

/** Every image is checked by its length and its end; only the first ones as a whole. */
const call = { ...imageCall(), expect: '"usage"' };

const sizes = [
  { mebibytes: 8, connections: 32, targets: { growth: 64 } },
  { mebibytes: 48, connections: 8, targets: { peak: 150 } },
];

const ways = [
  { name: 'bare relay, fresh connections', begin: freshRelay },
  { name: 'tollgate', begin: tollgate },
  { name: 'tollgate over Gemini', begin: tollgate, options: { dialect: 'gemini' } },
];

export const scenario = {
  name: 'images',
  title: 'Images of 8 and 48 MiB, many at once',
  description: `${imagesEach} waves; RSS before is that of a process that has just started.`,

  async run(context) {
    const rows = [];
    for (const size of sizes) {
      const values = new Map(ways.map(({ name }) => [name, []]));
      for (let round = 0; round < context.rounds; round += 1) {
        for (const way of ways) values.get(way.name).push(await measure(context, way, size));
      }
      rows.push(...rowsOfSize(size, values));
    }
    return rows;
  },
};

async function measure(context, { begin, options = {} }, { mebibytes, connections }) {
  const prefix = `/image-${mebibytes * mebibyte}`;
  const { contender, shape } = await begin(context, call, { prefix, ...options });
  const memory = processMemory(contender.pid);
  const before = await contender.usage();
  const requests = connections * imagesEach;
  await context.load({ ...shape, port: contender.port, connections, requests });
  const after = await contender.usage();
  const { peakBytes } = processMemory(contender.pid);
  await contender.stop();
  return {
    growth: (peakBytes - memory.rssBytes) / mebibyte,
    peak: peakBytes / mebibyte,
    cpu: (after.cpuMicros - before.cpuMicros) / requests / 1_000,
  };
}

function rowsOfSize({ mebibytes, connections, targets }, values) {
  const load = `${connections} × ${mebibytes} MiB`;
  const [[baseline]] = values;
  const line = (contender, figure, label, unit) => {
    const of = (name) => values.get(name).map((figures) => figures[figure]);
    const max = contender === baseline ? undefined : targets[figure];
    return row({
      contender,
      figure: `${load}: ${label}`,
      unit,
      values: of(contender),
      baseline: of(baseline),
      target: max === undefined ? undefined : { of: 'median', max },
    });
  };
  return [...values.keys()].flatMap((name) => [
    line(name, 'growth', 'RSS growth', 'MiB'),
    line(name, 'peak', 'peak RSS', 'MiB'),
    line(name, 'cpu', 'CPU per image', 'ms'),
  ]);
}
