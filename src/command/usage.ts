/** `tollgate usage`: sums of the usage log by key, model, day and the like. */
import { formatMoney } from '../prices/amount.ts';
import type { UsageGrouping, UsageReportRow } from '../stores/sql/usage-report.ts';
import { type Command, configOption, exitCodes, type Given, usageError } from './command.ts';
import { csv, printJson, progress, table } from './output.ts';
import { refuseMemory, withStores } from './with-stores.ts';

/** Not a literal: an object with a member `then` looks like a promise to linters. */
const second: Command['options'] = Object.fromEntries([
  ['then', { type: 'string', value: 'NAME', text: 'a second one, for sums within the first' }],
]);

/** The command. */
export const usage: Command = {
  name: 'usage',
  summary: 'report calls, tokens and charges',
  options: {
    by: {
      type: 'string',
      value: 'NAME',
      text: 'key, group, model, channel, day, outcome or metadata.NAME',
    },
    ...second,
    from: {
      type: 'string',
      value: 'DATE',
      text: 'the first day, in UTC; default: that of this month',
    },
    to: { type: 'string', value: 'DATE', text: 'the end, not included; default: now' },
    key: { type: 'string', value: 'ID', text: 'only the calls of this key' },
    model: { type: 'string', value: 'ID', text: 'only the calls of this model' },
    channel: { type: 'string', value: 'ID', text: 'only the calls of this channel' },
    csv: { type: 'boolean', text: 'print CSV' },
    config: configOption,
  },
  about: `Sums the usage log. A call counts by its start, in UTC. Charges are in your currency
unit; --json has them in nanos (1e-9), which is exact for every program.`,
  examples: [
    'npx tollgate usage --by key --then model --from 2026-11-01 --to 2026-12-01',
    'npx tollgate usage --by day --csv > november.csv',
  ],
  run: (given) =>
    withStores(given, async ({ stores }) => {
      refuseMemory(stores.choice.usage, 'Usage records');
      const query = queryOf(given);
      const clear = progress(given, 'Reading the usage log');
      const rows = await stores.usageLog?.usageReport(query);
      clear();
      print(given, query.by, rows ?? []);
      return exitCodes.done;
    }),
};

function queryOf(given: Given) {
  const nowMs = given.around.clock.now();
  const month = new Date(nowMs).toISOString().slice(0, 7);
  const [keyId, modelId, channelId] = ['key', 'model', 'channel'].map(given.text);
  return {
    by: groupingsOf(given),
    fromMs: timeOf(given, 'from') ?? Date.parse(`${month}-01`),
    toMs: timeOf(given, 'to') ?? nowMs + 1,
    ...(keyId === undefined ? {} : { keyId }),
    ...(modelId === undefined ? {} : { modelId }),
    ...(channelId === undefined ? {} : { channelId }),
  };
}

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

function timeOf(given: Given, option: string): number | undefined {
  const text = given.text(option);
  if (text === undefined) return undefined;
  const timeMs = Date.parse(text);
  if (Number.isNaN(timeMs)) throw usageError(`--${option} must be a date such as 2026-11-01.`);
  return timeMs;
}

function print(given: Given, by: Groupings, rows: readonly UsageReportRow[]): void {
  const { around, json } = given;
  if (json) return printJson(around, { by, data: rows });
  const names = [by].flat();
  const figures = rows.map((row) => [
    ...row.names,
    String(row.calls),
    String(row.inputTokens),
    String(row.outputTokens),
    String(row.images),
    formatMoney(row.chargeNanos),
    formatMoney(row.costNanos),
  ]);
  if (given.has('csv')) {
    const columns = ['calls', 'input_tokens', 'output_tokens', 'images', 'charge', 'cost'];
    around.out(csv([...names, ...columns], figures));
    return;
  }
  const columns = [' CALLS', ' INPUT', ' OUTPUT', ' IMAGES', ' CHARGE', ' COST'];
  around.out(table([...names.map((name) => name.toUpperCase()), ...columns], figures));
}
