/** `tollgate usage` and `tollgate usage refusals`: sums by key, model, day and the like. */
import { csvLine } from '../admin/csv.ts';
import { given as stated, usageGroupingOf, usageGroupings } from '../admin/http/shapes.ts';
import { withKnownCost } from '../admin/usage.ts';
import { protocolNames } from '../apis.ts';
import { errorCodes } from '../errors.ts';
import { failureReasons } from '../failure-reasons.ts';
import type { MaybePromise } from '../ports/call-options.ts';
import { formatMoney } from '../prices/amount.ts';
import { refusalGroupings } from '../stores/sql/refusal-report.ts';
import { type Command, configOption, type Given, usageError } from './command.ts';
import { printJson, progress, table } from './output.ts';
import { filterOf, filterOptions, type UsageLog, withUsage } from './usage.ts';

type Pair<Grouping> = Grouping | readonly [Grouping, Grouping];
type Span = ReturnType<typeof filterOf>;
type Value = number | bigint | undefined;
type Sums<Member extends string> = {
  readonly [Name in Member]: Name extends `${string}Nanos` ? bigint : number;
};
type Row<Member extends string> = Sums<Member> & { readonly names: readonly string[] };

interface Report<Grouping extends string, Member extends string> extends Omit<Command, 'run'> {
  /** What is read, for the progress. */
  readonly what: string;
  /** The names of the groupings, for its help and for mistakes. */
  readonly groupings: string;
  /** The grouping by default. */
  readonly by: Grouping;
  readonly groupingOf: (text: string) => Grouping | undefined;
  /** The members of the rows, with their names in CSV and in the table if they are shown there. */
  readonly figures: readonly (readonly [Member, csv?: string, title?: string])[];
  readonly zero: Sums<Member>;
  /** Makes the sums undefined that are not known; by default all are known. */
  readonly known?: (sums: Sums<Member>) => Readonly<Record<Member, Value>>;
  /** Reads the options of this report alone, and returns how its rows are read. */
  readonly reader: (
    given: Given,
    span: Span,
  ) => (log: UsageLog, by: Pair<Grouping>) => MaybePromise<readonly Row<Member>[]>;
  /** The member by which the rows of a table with one grouping, except `day`, are sorted. */
  readonly sortedBy?: Member;
  readonly none: (span: Span) => string;
}

function reportCommand<Grouping extends string, Member extends string>(
  report: Report<Grouping, Member>,
): Command {
  const grouping = (text: string): Grouping => {
    const known = report.groupingOf(text);
    if (known === undefined) throw usageError(`"${text}" must be ${report.groupings}.`);
    return known;
  };
  return {
    ...report,
    options: {
      by: { value: 'NAME', text: `${report.groupings}; default: ${report.by}` },
      ...second,
      ...report.options,
      csv: { text: 'print CSV' },
      config: configOption,
    },
    run: (given) => {
      const span = filterOf(given);
      const [one, then] = [grouping(given.text('by') ?? report.by), given.text('then')];
      const by = then === undefined ? one : ([one, grouping(then)] as const);
      const read = report.reader(given, span);
      if (given.json && given.has('csv')) throw usageError('--json and --csv exclude each other.');
      return withUsage(given, async (log) => {
        const rows = await progress(given, `Reading ${report.what}`, async () => read(log, by));
        print(given, report, { by, rows, none: report.none(span) });
      });
    },
  };
}

/** Not a literal: an object with a member `then` looks like a promise to linters. */
const second: Command['options'] = Object.fromEntries([
  ['then', { value: 'NAME', text: 'a second one, for sums within the first' }],
]);

interface Found<Grouping extends string, Member extends string> {
  readonly by: Pair<Grouping>;
  readonly rows: readonly Row<Member>[];
  readonly none: string;
}

function print<Grouping extends string, Member extends string>(
  { around, json, has }: Given,
  { figures, zero, known = (row) => row, sortedBy }: Report<Grouping, Member>,
  { by, rows, none }: Found<Grouping, Member>,
): void {
  const names: readonly string[] = [by].flat();
  const sumOf = (member: Member): number | bigint =>
    rows.reduce<number | bigint>((sum, row) => plus(sum, row[member]), zero[member]);
  const sums = Object.fromEntries(figures.map(([member]) => [member, sumOf(member)]));
  const total: Sums<Member> = { ...zero, ...sums };
  if (json) {
    return printJson(around, { by, data: rows.map((row) => known(row)), total: known(total) });
  }
  const columns = figures.filter(([, name]) => name !== undefined);
  const valuesOf = (row: Sums<Member>): readonly Value[] => {
    const values = known(row);
    return columns.map(([member]) => values[member]);
  };
  if (has('csv')) {
    around.out(csvLine([...names, ...columns.map(([, name]) => name)]));
    for (const row of rows) around.out(csvLine([...row.names, ...valuesOf(row).map(shown)]));
    return;
  }
  const isSorted = sortedBy !== undefined && names.length === 1 && names[0] !== 'day';
  const sorted = isSorted
    ? rows.toSorted((one, other) => Number(plus(other[sortedBy], -one[sortedBy])))
    : rows;
  const lines = sorted.map((row) => ({ names: row.names, values: valuesOf(row) }));
  const padding = names.slice(1).map(() => '');
  if (rows.length > 1) lines.push({ names: ['total', ...padding], values: valuesOf(total) });
  const cells = columns.map((_, at) => aligned(lines.map(({ values }) => shown(values[at]))));
  around.out(
    table(
      [...names.map((name) => name.toUpperCase()), ...columns.map(([, , title]) => ` ${title}`)],
      lines.map((line, at) => [...line.names, ...cells.map((column) => column[at] ?? '')]),
      none,
    ),
  );
}

function plus(one: number | bigint, other: number | bigint): number | bigint {
  return typeof one === 'bigint' ? one + BigInt(other) : one + Number(other);
}

function shown(value: Value): number | string | undefined {
  return typeof value === 'bigint' ? formatMoney(value) : value;
}

/** Gives the amounts of a column the same number of decimals; one that is not known is `-`. */
function aligned(values: readonly (number | string | undefined)[]): readonly string[] {
  const parts = values.map((value) => String(value ?? '-').split('.'));
  const decimals = Math.max(0, ...parts.map(([, fraction = '']) => fraction.length));
  return parts.map(([whole = '', fraction = '']) =>
    decimals === 0 || whole === '-' ? whole : `${whole}.${fraction.padEnd(decimals, '0')}`,
  );
}

function nothingIn({ fromMs, toMs }: Span, what: string): string {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString().slice(0, 16));
  return `No ${what} match from ${from} to ${to} (UTC). --from and --to select another time.`;
}

export const report = reportCommand({
  name: 'usage',
  summary: 'report calls, tokens and charges',
  what: 'the usage log',
  groupings: `${usageGroupings.join(', ')} or metadata.NAME`,
  by: 'key',
  groupingOf: usageGroupingOf,
  options: filterOptions,
  about: `Sums the usage log. A call counts by its start, in UTC. Charges are in your currency
unit; --json has them in nanos (1e-9), which is exact for every program.`,
  examples: [
    'npx tollgate usage --by key --then model --from 2026-11-01 --to 2026-12-01',
    'npx tollgate usage --by day --csv > november.csv',
  ],
  figures: [
    ['calls', 'calls', 'CALLS'],
    ['inputTokens', 'input_tokens', 'INPUT'],
    ['cachedInputTokens', 'cached_input_tokens', 'CACHED'],
    ['outputTokens', 'output_tokens', 'OUTPUT'],
    ['reasoningTokens', 'reasoning_tokens', 'REASONING'],
    ['images', 'images', 'IMAGES'],
    ['chargeNanos', 'charge', 'CHARGE'],
    ['costNanos', 'cost', 'COST'],
    ['marginNanos'],
  ],
  zero: {
    ...{ calls: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 },
    ...{ images: 0, chargeNanos: 0n, costNanos: 0n, marginNanos: 0n },
  },
  known: withKnownCost,
  reader: (_, span) => (log, by) => log.usageReport({ ...span, by }),
  // The most expensive first, as an operator looks for.
  sortedBy: 'chargeNanos',
  none: (span) => nothingIn(span, 'calls'),
});

const { channel: _, ...selection } = filterOptions;

export const refusals = reportCommand({
  name: 'usage refusals',
  summary: 'report how many requests were refused, and why',
  what: 'refusals',
  groupings: refusalGroupings.join(', '),
  by: 'code',
  groupingOf: (text) => refusalGroupings.find((name) => name === text),
  options: {
    ...selection,
    protocol: { value: 'NAME', text: 'only this API, such as chat' },
    code: { value: 'CODE', text: 'only refusals with this code' },
    reason: { value: 'NAME', text: 'only refusals for this reason' },
  },
  about: `Sums the refusals that gateways with "gateway": { "recordRefusals": true } have recorded,
by the minute, in UTC. docs/events.md says what each reason means and what to do. Beyond a
thousand combinations in a minute, key, group and model are (other).`,
  examples: [
    'npx tollgate usage refusals --by code --then reason --key key_ada',
    'npx tollgate usage refusals --by day --then model --csv > refusals.csv',
  ],
  figures: [['refusals', 'refusals', 'REFUSALS']],
  zero: { refusals: 0 },
  reader: (given, span) => {
    const filter = stated({
      protocol: oneOf(given, 'protocol', protocolNames),
      code: oneOf(given, 'code', errorCodes),
      reason: oneOf(given, 'reason', failureReasons),
    });
    return (log, by) => log.refusalReport({ ...span, ...filter, by });
  },
  none: (span) =>
    `${nothingIn(span, 'recorded refusals')} They are recorded ` +
    'only with "gateway": { "recordRefusals": true }.',
});

/** Without this check, a misspelt name would report that there were no refusals. */
function oneOf<Name extends string>(
  given: Given,
  option: string,
  names: readonly Name[],
): Name | undefined {
  const text = given.text(option);
  const known = names.find((name) => name === text);
  if (text === undefined || known !== undefined) return known;
  throw usageError(`--${option} must be one of ${names.join(', ')}.`);
}
