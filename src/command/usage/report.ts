/** `tollgate usage`: sums of the usage log by key, model, day and the like. */
import { csvLine } from '../../admin/csv.ts';
import { type WithKnownCost, withKnownCost } from '../../admin/usage.ts';
import { formatMoney } from '../../prices/amount.ts';
import type { UsageGrouping, UsageReportRow } from '../../stores/sql/usage-report.ts';
import { type Command, configOption, exitCodes, type Given, usageError } from '../command.ts';
import { printJson, progress, table } from '../output.ts';
import { filterOf, filterOptions, nothingIn, spanOf } from './query.ts';
import { withUsage } from './with-usage.ts';

/** Not a literal: an object with a member `then` looks like a promise to linters. */
const second: Command['options'] = Object.fromEntries([
  ['then', { type: 'string', value: 'NAME', text: 'a second one, for sums within the first' }],
]);

/** The command. */
export const report: Command = {
  name: 'usage',
  summary: 'report calls, tokens and charges',
  options: {
    by: {
      type: 'string',
      value: 'NAME',
      text: 'key, group, model, channel, day, outcome or metadata.NAME; default: key',
    },
    ...second,
    ...filterOptions,
    csv: { type: 'boolean', text: 'print CSV' },
    config: configOption,
  },
  about: `Sums the usage log. A call counts by its start, in UTC. Charges are in your currency
unit; --json has them in nanos (1e-9), which is exact for every program.`,
  examples: [
    'npx tollgate usage --by key --then model --from 2026-11-01 --to 2026-12-01',
    'npx tollgate usage --by day --csv > november.csv',
  ],
  run: (given) => {
    const query = { ...filterOf(given), by: groupingsOf(given) };
    if (given.json && given.has('csv')) throw usageError('--json and --csv exclude each other.');
    return withUsage(given, async (log) => {
      const rows = await progress(given, 'Reading the usage log', async () =>
        log.usageReport(query),
      );
      print(given, query.by, rows);
      return exitCodes.done;
    });
  },
};

type Groupings = UsageGrouping | readonly [UsageGrouping, UsageGrouping];

function groupingsOf(given: Given): Groupings {
  const first = groupingOf(given.text('by') ?? 'key');
  const then = given.text('then');
  return then === undefined ? first : [first, groupingOf(then)];
}

function groupingOf(text: string): UsageGrouping {
  const columns = ['key', 'group', 'model', 'channel', 'day', 'outcome'] as const;
  const known = columns.find((column) => column === text);
  if (known !== undefined) return known;
  const [, name] = /^metadata\.(.+)$/s.exec(text) ?? [];
  if (name !== undefined) return `metadata.${name}`;
  throw usageError(`"${text}" must be ${columns.join(', ')} or metadata.NAME.`);
}

/** The figures of a report, by their names in CSV. */
const figures: readonly (readonly [
  name: string,
  read: (row: WithKnownCost<Sums>) => number | string | undefined,
])[] = [
  ['calls', ({ calls }) => calls],
  ['input_tokens', ({ inputTokens }) => inputTokens],
  ['cached_input_tokens', ({ cachedInputTokens }) => cachedInputTokens],
  ['output_tokens', ({ outputTokens }) => outputTokens],
  ['reasoning_tokens', ({ reasoningTokens }) => reasoningTokens],
  ['images', ({ images }) => images],
  ['charge', ({ chargeNanos }) => formatMoney(chargeNanos)],
  ['cost', ({ costNanos }) => (costNanos === undefined ? undefined : formatMoney(costNanos))],
];
/** The columns of the table, in the order of the figures. */
const titles = ['CALLS', 'INPUT', 'CACHED', 'OUTPUT', 'REASONING', 'IMAGES', 'CHARGE', 'COST'];

type Sums = Pick<
  UsageReportRow,
  | 'calls'
  | 'inputTokens'
  | 'cachedInputTokens'
  | 'outputTokens'
  | 'reasoningTokens'
  | 'images'
  | 'chargeNanos'
  | 'costNanos'
  | 'marginNanos'
>;

type AmountName = 'chargeNanos' | 'costNanos' | 'marginNanos';

function print(given: Given, by: Groupings, rows: readonly UsageReportRow[]): void {
  const { around, json } = given;
  const names = [by].flat();
  if (json) {
    const total = withKnownCost(totalOf(rows));
    return printJson(around, { by, data: rows.map(withKnownCost), total });
  }
  if (given.has('csv')) {
    around.out(csvLine([...names, ...figures.map(([name]) => name)]));
    for (const row of rows) around.out(csvLine([...row.names, ...valuesOf(row)]));
    return;
  }
  const heading = [...names.map((name) => name.toUpperCase()), ...titles.map((name) => ` ${name}`)];
  const texts = (row: Sums): readonly string[] => valuesOf(row).map((value) => `${value ?? '-'}`);
  const sums = ['total', ...names.slice(1).map(() => ''), ...texts(totalOf(rows))];
  const sorted = names.join() === 'day' || names.length > 1 ? rows : rows.toSorted(byCharge);
  const lines = sorted.map((row) => [...row.names, ...texts(row)]);
  const cells = alignedAmounts(rows.length > 1 ? [...lines, sums] : lines);
  around.out(table(heading, cells, nothingIn(spanOf(given), 'calls')));
}

/** The most expensive first, as an operator looks for. */
function byCharge(one: Sums, other: Sums): number {
  return Number(other.chargeNanos - one.chargeNanos);
}

/** Gives the amounts of a column, the last two, the same number of decimals. */
function alignedAmounts(lines: readonly (readonly string[])[]): readonly (readonly string[])[] {
  const decimals = (text = ''): number => text.split('.')[1]?.length ?? 0;
  const columns = [-2, -1].map((at) => Math.max(0, ...lines.map((line) => decimals(line.at(at)))));
  return lines.map((line) => [
    ...line.slice(0, -2),
    ...line.slice(-2).map((text, index) => {
      const missing = (columns[index] ?? 0) - decimals(text);
      return missing === 0 || text === '-'
        ? text
        : `${text}${text.includes('.') ? '' : '.'}${'0'.repeat(missing)}`;
    }),
  ]);
}

function valuesOf(row: Sums): readonly (number | string | undefined)[] {
  const known = withKnownCost(row);
  return figures.map(([, read]) => read(known));
}

function totalOf(rows: readonly Sums[]): Sums {
  const count = (name: Exclude<keyof Sums, AmountName>): number =>
    rows.reduce((total, row) => total + row[name], 0);
  const amount = (name: AmountName): bigint => rows.reduce((total, row) => total + row[name], 0n);
  return {
    calls: count('calls'),
    inputTokens: count('inputTokens'),
    cachedInputTokens: count('cachedInputTokens'),
    outputTokens: count('outputTokens'),
    reasoningTokens: count('reasoningTokens'),
    images: count('images'),
    chargeNanos: amount('chargeNanos'),
    costNanos: amount('costNanos'),
    marginNanos: amount('marginNanos'),
  };
}
