/** The cost of a call at the pace of a real host: its code leaves the CPU caches between calls. */
import { chatCall, nativeCall, secretOf } from '../lib/calls.mjs';
import { compare, row, rowsOf } from '../lib/compare.mjs';
import { bareRelay, tollgate } from '../lib/contenders.mjs';

const keys = 10_000;
const numberedKey = secretOf(0).replace('000000', '{n}');
const ours = 'tollgate on node:http';

export const scenario = {
  name: 'host-pace',
  title: 'Calls at the pace of a host',
  description:
    'Waves: 8 callers start a stream together, ten times a second. One at a time: the next call ' +
    'begins when the one before has ended. Keys in turn: each call has another of 10,000 keys.',

  async run(context) {
    const waves = await inWaves(context);
    const single = await plain(context, chatCall(), {
      label: 'CPU per request, one at a time',
      shape: { connections: 1, durationMs: 700 },
    });
    const spread = { connections: 32, durationMs: 900, spread: keys };
    const chats = await plain(context, chatCall({ key: numberedKey }), {
      label: 'CPU per chat, 10,000 keys in turn',
      shape: spread,
      options: { keys },
    });
    const natives = await plain(context, nativeCall({ key: numberedKey }), {
      label: 'CPU per native call, 10,000 keys in turn',
      shape: spread,
      options: { keys, dialect: 'gemini' },
    });
    return [...waves, ...single, ...chats, ...natives];
  },
};

async function inWaves(context) {
  const call = chatCall({ stream: true });
  const entries = await Promise.all(
    [bareRelay, tollgate].map((starter) => starter(context, call, { prefix: '/stream' })),
  );
  const values = await compare(context, entries, {
    shape: { connections: 8, requests: 160, events: 5, waveMs: 100 },
    warming: { connections: 32, events: 20, waveMs: undefined },
    streams: { warmUp: '/20-0', measured: '/5-0' },
  });
  await Promise.all(entries.map(({ contender }) => contender.stop()));
  const added = (figure, label, max) =>
    row({
      contender: `${ours} minus bare relay`,
      figure: label,
      unit: 'ms',
      values: values
        .get(ours)
        [figure].map((micros, round) => (micros - values.get('bare relay')[figure][round]) / 1_000),
      target: { of: 'median', max },
    });
  return [
    ...rowsOf(values, {
      figure: 'cpuMicros',
      label: 'CPU per event, waves',
      unit: 'µs',
      baseline: 'bare relay',
    }),
    added('firstByteP50', 'added time to first byte, p50, waves', 0.35),
    added('firstByteP10', 'added time to first byte of the first of a wave', 0.3),
  ];
}

async function plain(context, call, { label, shape, options = {} }) {
  const entries = [await bareRelay(context, call), await tollgate(context, call, options)];
  const values = await compare(context, entries, {
    shape,
    warming: { connections: 32 },
    firstCalls: shape.spread,
  });
  await Promise.all(entries.map(({ contender }) => contender.stop()));
  return rowsOf(values, {
    figure: 'cpuMicros',
    label,
    unit: 'µs',
    baseline: 'bare relay',
    targets: { [ours]: { of: 'ratio', max: 1.5 } },
  });
}
