/** The cost of a call with few and with many keys, models and channels. */
import { chatCall, modelId, secretOf } from '../lib/calls.mjs';
import { compare, rowsOf } from '../lib/compare.mjs';
import { tollgate } from '../lib/contenders.mjs';

const numbered = (name) => name.replace('000000', '{n}');
const keyCall = chatCall({ key: numbered(secretOf(0)) });
const modelCall = chatCall({ model: `${modelId}-{n}` });

/** The calls rotate through all keys, or all models; channels are chosen by the gateway. */
const growths = [
  { what: 'keys', counts: [10, 100_000], call: keyCall, spreads: true },
  { what: 'models', counts: [10, 10_000], call: modelCall, spreads: true },
  { what: 'channels', counts: [1, 1_000], call: chatCall(), spreads: false },
];

export const scenario = {
  name: 'flat',
  title: 'Cost as keys, models and channels grow',

  async run(context) {
    const rows = [];
    for (const growth of growths) rows.push(...(await measure(context, growth)));
    return rows;
  },
};

async function measure(context, { what, counts, call, spreads }) {
  const entries = await Promise.all(
    counts.map(async (count) => ({
      ...(await tollgate(context, call, { [what]: count })),
      name: nameOf(count, what),
      shape: { call, ...(spreads && { spread: count }) },
    })),
  );
  const values = await compare(context, entries, {
    shape: { connections: 32, durationMs: 900 },
    // Every key has made a call before the measurement, so no first call is measured.
    firstCalls: Math.max(...counts),
  });
  await Promise.all(entries.map(({ contender }) => contender.stop()));
  const [few, many] = counts.map((count) => nameOf(count, what));
  return rowsOf(values, {
    figure: 'cpuMicros',
    label: 'CPU per request',
    unit: 'µs',
    baseline: few,
    targets: { [many]: { of: 'ratio', max: 1.1 } },
  });
}

const nameOf = (count, what) =>
  `${count.toLocaleString('en')} ${count === 1 ? what.replace(/s$/, '') : what}`;
