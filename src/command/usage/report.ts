/**
 * `tollgate usage` and `usage refusals`: sums of the usage log and of recorded refusals; and which
 * calls the usage commands select.
 */
import { csvLine } from '../../admin/csv.ts';
import { given as stated } from '../../admin/deps.ts';
import { usageGroupingOf } from '../../admin/http/route.ts';
import { withKnownCost } from '../../admin/usage/rows.ts';
import { protocolNames } from '../../apis.ts';
import { namedRanges, windowOf } from '../../console/page/range.ts';
import { errorCodes } from '../../errors.ts';
import { failureReasons } from '../../failure-reasons.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import { formatMoney } from '../../prices/amount.ts';
import { refusalGroupings } from '../../stores/sql/refusal-report.ts';
import { columnGroupings, type UsageReportQuery } from '../../stores/sql/usage/report.ts';
import {
  type Command,
  configOption,
  dateOf,
  durationOf,
  exitCodes,
  type Given,
  usageError,
} from '../command.ts';
import { numberColumn, printJson, progress, table } from '../output.ts';
import type { Stores } from '../stores/stores.ts';
import { refuseMemory, withStores } from '../stores/with-stores.ts';

export type UsageLog = NonNullable<Stores['usageLog']>;

/** @throws CommandError if the log is in the memory of another process */
export function withUsage(given: Given, task: (log: UsageLog) => Promise<void>): Promise<number> {
  return withStores(given, ['usage'], async ({ stores: { usageLog, choice } }) => {
    refuseMemory(choice.usage, 'Usage records');
    if (usageLog === undefined) throw new TypeError('stores.usage was not opened');
    await task(usageLog);
    return exitCodes.done;
  });
}

const spanForm = '24h, 7d, today, yesterday, this-month or last-month';

export const filterOptions: Command['options'] = {
  last: { value: 'TIME', text: `in place of --from and --to: ${spanForm}` },
  from: { value: 'DATE', text: 'the first day, in UTC; default: the first of this month' },
  to: { value: 'DATE', text: 'the end, exclusive; default: now' },
  key: { value: 'ID', text: 'only the calls of this key' },
  group: { value: 'NAME', text: 'only the calls of this group' },
  model: { value: 'ID', text: 'only the calls of this model' },
  channel: { value: 'ID', text: 'only the calls of this channel' },
};

/** Which calls to select; without options, those of this month. */
export function filterOf(given: Given): Omit<UsageReportQuery, 'by'> {
  const [keyId, group, modelId, channelId] = ['key', 'group', 'model', 'channel'].map(given.text);
  return { ...spanOf(given), ...stated({ keyId, group, modelId, channelId }) };
}

function spanOf(given: Given): Pick<UsageReportQuery, 'fromMs' | 'toMs'> {
  const nowMs = given.around.clock.now();
  const last = given.text('last');
  const [from, to] = [dateOf(given, 'from'), dateOf(given, 'to')];
  if (last !== undefined && (from ?? to) !== undefined) {
    throw usageError('--last and --from or --to exclude each other.');
  }
  if (last !== undefined) return lastSpan(last, nowMs);
  const fromMs = from ?? windowOf('this-month', nowMs).fromMs;
  const toMs = to ?? nowMs + 1;
  // An empty report would look as if nothing had been used.
  if (fromMs >= toMs) throw usageError('--from must be before --to, which is now by default.');
  return { fromMs, toMs };
}

function lastSpan(text: string, nowMs: number): Pick<UsageReportQuery, 'fromMs' | 'toMs'> {
  const toMs = nowMs + 1;
  const named = namedRanges.find((name) => name === text);
  if (named !== undefined) {
    const window = windowOf(named, nowMs);
    return { fromMs: window.fromMs, toMs: Math.min(window.toMs, toMs) };
  }
  const span = durationOf(text);
  if (span === undefined || span === 0) throw usageError(`--last must be ${spanForm}.`);
  return { fromMs: Math.max(0, nowMs - span), toMs };
}

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
  /** The member by which rows are sorted, unless by day or hour, and of which each has a share. */
  readonly sortedBy: Member;
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
      top: { value: 'N', text: 'only the N largest; the table sums up the others' },
      csv: { text: 'print CSV' },
      config: configOption,
    },
    run: (given) => {
      const span = filterOf(given);
      topIn(given);
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
  given: Given,
  { figures, zero, known = (row) => row, sortedBy }: Report<Grouping, Member>,
  { by, rows, none }: Found<Grouping, Member>,
): void {
  const { around, json } = given;
  const names: readonly string[] = [by].flat();
  const members = figures.map(([member]) => member);
  const sumOf = (of: readonly Row<Member>[]): Sums<Member> => ({
    ...zero,
    ...Object.fromEntries(members.map((member) => [member, total(of, member, zero[member])])),
  });
  const top = topIn(given);
  const isByTime = names[0] === 'day' && top === undefined;
  const sorted = isByTime ? rows : (top === undefined ? inGroups : bySum)(rows, sortedBy);
  const listed = sorted.slice(0, top);
  const all = sumOf(rows);
  if (json)
    return printJson(around, { by, data: listed.map((row) => known(row)), total: known(all) });
  const columns = figures.filter(([, name]) => name !== undefined);
  const valuesOf = (row: Sums<Member>): readonly Value[] => {
    const values = known(row);
    return columns.map(([member]) => values[member]);
  };
  if (given.has('csv')) {
    around.out(csvLine([...names, ...columns.map(([, name]) => name)]));
    for (const row of listed) around.out(csvLine([...row.names, ...valuesOf(row).map(exact)]));
    return;
  }
  const padding = names.slice(1).map(() => '');
  const others = sorted.slice(listed.length);
  const lines: readonly Row<Member>[] = [
    ...listed,
    ...(others.length === 0
      ? []
      : [{ ...sumOf(others), names: [`(${others.length} others)`, ...padding] }]),
    ...(rows.length > 1 ? [{ ...all, names: ['total', ...padding] }] : []),
  ];
  const values = lines.map(valuesOf);
  const cells = [
    ...columns.map((_, at) => numberColumn(values.map((row) => row[at]))),
    lines.map((row) => percent(row[sortedBy], all[sortedBy])),
  ];
  around.out(
    table(
      [
        ...names.map((name) => name.toUpperCase()),
        ...columns.map(([, , title]) => ` ${title}`),
        ' SHARE',
      ],
      lines.map((line, at) => [...line.names, ...cells.map((column) => column[at] ?? '')]),
      none,
    ),
  );
}

function topIn({ text }: Given): number | undefined {
  const top = text('top');
  if (top === undefined) return undefined;
  if (/^[1-9]\d{0,5}$/.test(top)) return Number(top);
  throw usageError('--top must be an integer, at least 1.');
}

function total<Member extends string>(
  rows: readonly Row<Member>[],
  member: Member,
  zero: number | bigint,
): number | bigint {
  return rows.reduce<number | bigint>((sum, row) => plus(sum, row[member]), zero);
}

/** The largest first, but rows with the same first name stay together. */
function inGroups<Member extends string>(
  rows: readonly Row<Member>[],
  member: Member,
): readonly Row<Member>[] {
  const sums = new Map<string, number>();
  for (const row of rows) {
    const [first = ''] = row.names;
    sums.set(first, (sums.get(first) ?? 0) + Number(row[member]));
  }
  const sumOf = ({ names: [first = ''] }: Row<Member>): number => sums.get(first) ?? 0;
  const groups = bySum(rows, member);
  return groups.toSorted(
    (one, other) =>
      sumOf(other) - sumOf(one) || (one.names[0] ?? '').localeCompare(other.names[0] ?? ''),
  );
}

function bySum<Member extends string>(
  rows: readonly Row<Member>[],
  member: Member,
): readonly Row<Member>[] {
  return rows.toSorted((one, other) => Number(plus(other[member], -one[member])));
}

function plus(one: number | bigint, other: number | bigint): number | bigint {
  return typeof one === 'bigint' ? one + BigInt(other) : one + Number(other);
}

function percent(part: number | bigint, whole: number | bigint): string {
  const share = Number(whole) === 0 ? 0 : (Number(part) / Number(whole)) * 100;
  return `${share.toFixed(1)}%`;
}

function exact(value: Value): number | string | undefined {
  return typeof value === 'bigint' ? formatMoney(value) : value;
}

function nothingIn({ fromMs, toMs }: Span, what: string): string {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString().slice(0, 16));
  const remedy = '--last, or --from and --to, select another time.';
  return `No ${what} match from ${from} to ${to} (UTC). ${remedy}`;
}

export const report = reportCommand({
  name: 'usage',
  summary: 'report calls, tokens and charges',
  what: 'the usage log',
  groupings: `${columnGroupings.join(', ')} or metadata.NAME`,
  by: 'key',
  groupingOf: usageGroupingOf,
  options: filterOptions,
  about: `Sums the usage log. A call counts by its start, in UTC. Charges are in your currency
unit; --json has them in nanos (1e-9), which is exact for every program.`,
  examples: [
    'npx tollgate usage --last 7d --top 10',
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
  sortedBy: 'refusals',
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
