/** One chat completion, 1 KB in and 1 KB out, through every contender. */
import { chatCall } from '../lib/calls.mjs';
import { compare, row, rowsOf } from '../lib/compare.mjs';
import { bareRelay, peers, tollgates } from '../lib/contenders.mjs';

const targets = {
  'tollgate on node:http': { of: 'ratio', max: 1.35, missedAt: 1.6 },
  'tollgate on Koa 3': { of: 'ratio', max: 2 },
  'tollgate on Express 4': { of: 'ratio', max: 2.6 },
  'tollgate on Express 5': { of: 'ratio', max: 3 },
};
const portkeyTimes = 15;

export const scenario = {
  name: 'chat',
  title: 'Chat, 1 KB in and 1 KB out',
  inSmoke: true,

  async run(context) {
    const [onNode, onKoa] = tollgates;
    const starters = context.isSmoke
      ? [bareRelay, onNode, onKoa]
      : [bareRelay, ...peers(), ...tollgates];
    const entries = await Promise.all(starters.map((starter) => starter(context, chatCall())));
    const values = await compare(context, entries, {
      shape: { connections: 32, durationMs: context.isSmoke ? 250 : 700 },
    });
    const rows = rowsOf(values, {
      figure: 'cpuMicros',
      label: 'CPU per request',
      unit: 'µs',
      baseline: 'bare relay',
      targets,
    });
    return context.isSmoke ? rows : [...rows, lead(values)];
  },
};

/** Portkey's CPU as a multiple of Tollgate's. */
function lead(values) {
  const ours = values.get('tollgate on node:http').cpuMicros;
  const theirs = values.get('Portkey').cpuMicros;
  return row({
    contender: 'Portkey over tollgate',
    figure: 'CPU, times',
    unit: '×',
    values: theirs.map((value, round) => value / ours[round]),
    target: { of: 'median', min: portkeyTimes },
  });
}
