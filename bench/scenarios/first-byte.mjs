/** Delays of a streamed chat: of its first byte, and of each event with 500 concurrent streams. */
import { chatCall } from '../lib/calls.mjs';
import { compare, notePace, row, rowsOf } from '../lib/compare.mjs';
import { bareRelay, direct, tollgate } from '../lib/contenders.mjs';

const call = { ...chatCall({ stream: true }), stamped: true };
const warming = { connections: 32, events: 20 };

export const scenario = {
  name: 'first-byte',
  title: 'Streamed chat, waiting times',
  description:
    'The first byte is timed with one call at a time; an event from its sending in the upstream ' +
    'to its arrival at the caller, on one clock, at 500 streams of one event per 20 ms.',

  async run(context) {
    const entries = await Promise.all(
      [direct, bareRelay, tollgate].map((starter) => starter(context, call, { prefix: '/stream' })),
    );
    return [...(await firstByte(context, entries)), ...(await eventDelay(context, entries))];
  },
};

async function firstByte(context, entries) {
  const values = await compare(context, entries, {
    shape: { connections: 1, durationMs: 700, events: 5 },
    warming,
    streams: { warmUp: '/20-0', measured: '/5-0' },
  });
  const millis = (name) => values.get(name).firstByteP50.map((micros) => micros / 1_000);
  const ours = millis('tollgate on node:http');
  const plain = [...values.keys()].map((contender) =>
    row({ contender, figure: 'time to first byte, p50', unit: 'ms', values: millis(contender) }),
  );
  const added = (over, target) => {
    const theirs = millis(over);
    return row({
      contender: `tollgate minus ${over}`,
      figure: 'added time to first byte, p50',
      unit: 'ms',
      values: ours.map((value, round) => value - theirs[round]),
      target,
    });
  };
  return [...plain, added('bare relay'), added('direct', { of: 'median', max: 0.3 })];
}

async function eventDelay(context, entries) {
  const values = await compare(context, entries, {
    // All streams open at the same moment, a delay that events of a running stream do not have.
    shape: { connections: 500, requests: 500, events: 100, settleMs: 500 },
    warming,
    streams: { warmUp: '/20-0', measured: '/100-20-stamped' },
  });
  notePace(context, values, 25_000);
  const rows = (figure, label, targets) =>
    rowsOf(values, { figure, label, unit: 'µs', baseline: 'bare relay', targets });
  return [
    ...rows('eventDelayP50', 'event latency, p50'),
    ...rows('eventDelayP99', 'event latency, p99', {
      'tollgate on node:http': { of: 'ratio', max: 1.25 },
    }),
  ];
}
