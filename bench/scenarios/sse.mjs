/** Streamed chats: CPU per event in a burst and at the pace of a model. */
import { chatCall } from '../lib/calls.mjs';
import { compare, notePace, rowsOf } from '../lib/compare.mjs';
import { bareRelay, peers, tollgate } from '../lib/contenders.mjs';

export const scenario = {
  name: 'sse',
  title: 'Streamed chat, CPU per event',
  inSmoke: true,

  async run(context) {
    const starters = [bareRelay, tollgate, ...(context.isSmoke ? [] : peers())];
    const call = chatCall({ stream: true });
    const entries = await Promise.all(
      starters.map((starter) => starter(context, call, { prefix: '/stream' })),
    );
    const burst = await measure(context, entries, {
      label: '200 events in a burst, with their call',
      as: '/200-0',
      shape: { connections: 32, durationMs: context.isSmoke ? 350 : 700, events: 200 },
      max: 1.35,
      missedAt: 1.6,
    });
    // A stream of 100 events lasts two seconds; the short form has one.
    const events = context.isSmoke ? 50 : 100;
    const paced = await measure(context, entries, {
      label: '200 streams, one event per 20 ms',
      as: `/${events}-20`,
      shape: { connections: 200, requests: 200, events },
      max: 1.25,
      pace: 10_000,
    });
    return [...burst, ...paced];
  },
};

/** Short streams warm up the code of a call, which is part of the cost of every stream. */
async function measure(context, entries, { label, as, shape, max, missedAt, pace }) {
  const values = await compare(context, entries, {
    shape,
    warming: { connections: 32, events: 20 },
    streams: { warmUp: '/20-0', measured: as },
  });
  if (pace !== undefined) notePace(context, values, pace);
  return rowsOf(values, {
    figure: 'cpuMicros',
    label: `CPU per event, ${label}`,
    unit: 'µs',
    baseline: 'bare relay',
    targets: { 'tollgate on node:http': { of: 'ratio', max, missedAt } },
  });
}
