/** The time that a contender adds to a chat, with one call at a time. */
import { chatCall } from '../lib/calls.mjs';
import { compare, row } from '../lib/compare.mjs';
import { bareRelay, direct, peers, tollgates } from '../lib/contenders.mjs';
import { summary } from '../lib/statistics.mjs';

export const scenario = {
  name: 'latency',
  title: 'Added latency, one call at a time, 1 KB',
  description: 'The time of the contender minus that of a direct call in the same round.',

  async run(context) {
    const starters = [direct, bareRelay, ...peers(), ...tollgates];
    const entries = await Promise.all(starters.map((starter) => starter(context, chatCall())));
    const values = await compare(context, entries, {
      shape: { connections: 1, durationMs: 500 },
      warming: { connections: 32 },
    });
    const [, ...added] = values.keys();
    const rowFor = (contender, figure, label) => {
      const beyondDirect = (name) =>
        values
          .get(name)
          [figure].map((micros, round) => micros - values.get('direct')[figure][round]);
      return row({
        contender,
        figure: `added latency, ${label}`,
        unit: 'µs',
        values: beyondDirect(contender),
        baseline: beyondDirect('bare relay'),
      });
    };
    const { median } = summary(values.get('direct').latencyP50);
    context.note(`A direct call takes ${median} µs at p50.`);
    return [
      ...added.map((contender) => rowFor(contender, 'latencyP50', 'p50')),
      ...added.map((contender) => rowFor(contender, 'latencyP99', 'p99')),
    ];
  },
};
