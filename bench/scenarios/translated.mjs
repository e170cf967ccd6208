/**
 * Streams that are translated between dialects: the cost per event compared with a relayed stream
 * of the caller's dialect.
 */
import { chatCall, nativeCall } from '../lib/calls.mjs';
import { compare, notePace, rowsOf } from '../lib/compare.mjs';
import { tollgate } from '../lib/contenders.mjs';

/** The first entry of each is the relay with which the others are compared. */
const callers = [
  {
    call: chatCall({ stream: true }),
    ways: [
      { name: 'chat over openai, relayed', dialect: 'openai' },
      { name: 'chat over gemini', dialect: 'gemini' },
      { name: 'chat over anthropic', dialect: 'anthropic' },
    ],
  },
  {
    call: nativeCall({ stream: true }),
    ways: [
      { name: 'native over gemini, relayed', dialect: 'gemini' },
      { name: 'native over openai', dialect: 'openai' },
      { name: 'native over anthropic', dialect: 'anthropic' },
    ],
  },
];

const loads = [
  {
    label: '200 streams, one event per 20 ms',
    as: '/100-20',
    shape: { connections: 200, requests: 200, events: 100 },
    target: { of: 'ratio', max: 3 },
    pace: 10_000,
  },
  {
    label: '200 events in a burst',
    as: '/200-0',
    shape: { connections: 32, durationMs: 700, events: 200 },
  },
];

export const scenario = {
  name: 'translated',
  title: 'Translated streams, CPU per event',
  description: 'Against the stream that Tollgate relays to the same caller.',

  async run(context) {
    const rows = [];
    for (const caller of callers) rows.push(...(await measureCaller(context, caller)));
    return rows;
  },
};

async function measureCaller(context, { call, ways }) {
  const entries = await Promise.all(
    ways.map(async ({ name, dialect }) => ({
      ...(await tollgate(context, call, { prefix: '/stream', dialect })),
      name,
    })),
  );
  const rows = [];
  for (const load of loads) rows.push(...(await measureLoad(context, entries, load)));
  await Promise.all(entries.map(({ contender }) => contender.stop()));
  return rows;
}

async function measureLoad(context, entries, { label, as, shape, target, pace }) {
  const values = await compare(context, entries, {
    shape,
    warming: { connections: 32, events: 20 },
    streams: { warmUp: '/20-0', measured: as },
  });
  if (pace !== undefined) notePace(context, values, pace);
  const [relayed, ...translated] = entries.map(({ name }) => name);
  return rowsOf(values, {
    figure: 'cpuMicros',
    label: `CPU per event, ${label}`,
    unit: 'µs',
    baseline: relayed,
    targets: Object.fromEntries(translated.map((name) => [name, target])),
  });
}
