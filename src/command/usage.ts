/** `tollgate usage …`: sums and exports the usage log and refusals, and deletes old records. */
import { type CallSummary, callSummary } from '../admin/call-summary.ts';
import { csvLine } from '../admin/csv.ts';
import { given as stated } from '../admin/deps.ts';
import { usageGroupingOf } from '../admin/http/route.ts';
import { callHeading, callLine } from '../admin/usage.ts';
import { withKnownCost } from '../admin/usage-rows.ts';
import { protocolNames } from '../apis.ts';
import { errorCodes } from '../errors.ts';
import { failureReasons } from '../failure-reasons.ts';
import type { MaybePromise } from '../ports/call-options.ts';
import { formatMoney } from '../prices/amount.ts';
import { refusalGroupings } from '../stores/sql/refusal-report.ts';
import {
  columnGroupings,
  type UsageRecordFilter,
  type UsageReportQuery,
} from '../stores/sql/usage-report.ts';
import {
  type Command,
  configOption,
  dateOf,
  exitCodes,
  type Given,
  usageError,
} from './command.ts';
import { type CountProgress, jsonText, printJson, progress, table } from './output.ts';
import type { Stores } from './stores/stores.ts';
import { refuseMemory, withStores } from './stores/with-stores.ts';

export type UsageLog = NonNullable<Stores['usageLog']>;

/** @throws CommandError if the log is in the memory of another process */
function withUsage(given: Given, task: (log: UsageLog) => Promise<void>): Promise<number> {
  return withStores(given, ['usage'], async ({ stores: { usageLog, choice } }) => {
    refuseMemory(choice.usage, 'Usage records');
    if (usageLog === undefined) throw new TypeError('stores.usage was not opened');
    await task(usageLog);
    return exitCodes.done;
  });
}

const filterOptions: Command['options'] = {
  from: { value: 'DATE', text: 'the first day, in UTC; default: the first of this month' },
  to: { value: 'DATE', text: 'the end, exclusive; default: now' },
  key: { value: 'ID', text: 'only the calls of this key' },
  group: { value: 'NAME', text: 'only the calls of this group' },
  model: { value: 'ID', text: 'only the calls of this model' },
  channel: { value: 'ID', text: 'only the calls of this channel' },
};

function filterOf(given: Given): Omit<UsageReportQuery, 'by'> {
  const { text } = given;
  const nowMs = given.around.clock.now();
  const month = new Date(nowMs).toISOString().slice(0, 7);
  const fromMs = dateOf(given, 'from') ?? Date.parse(`${month}-01`);
  const toMs = dateOf(given, 'to') ?? nowMs + 1;
  // An empty report would look as if nothing had been used.
  if (fromMs >= toMs) throw usageError('--from must be before --to, which is now by default.');
  const [keyId, group, modelId, channelId] = ['key', 'group', 'model', 'channel'].map(text);
  return { fromMs, toMs, ...stated({ keyId, group, modelId, channelId }) };
}

const pageSize = 1_000;

export const calls: Command = {
  name: 'usage calls',
  summary: 'export single calls as CSV',
  options: {
    request: { value: 'ID', text: 'only calls with this x-request-id' },
    ...filterOptions,
    config: configOption,
  },
  about: `Prints the calls of the usage log as CSV, in the order in which they began: outcome,
reason, tokens, and money in nanos (1e-9 of your currency unit). With --json it is one document;
its member "complete" is false if the log could not be read to its end.`,
  examples: [
    'npx tollgate usage calls --from 2026-11-01 --to 2026-12-01 > november.csv',
    'npx tollgate usage calls --request req_4711 --json',
  ],
  run: (given) => {
    const requestId = given.text('request');
    // A request id selects calls of any age; otherwise the default is this month.
    const filter = requestId === undefined ? filterOf(given) : { requestId };
    return withUsage(given, (log) =>
      progress(given, 'Reading calls', (count) =>
        given.json ? printDocument(given, log, filter) : printCsv(given, log, filter, count),
      ),
    );
  },
};

async function printCsv(
  { around }: Given,
  log: UsageLog,
  filter: UsageRecordFilter,
  count: CountProgress,
): Promise<void> {
  let rows = 0;
  around.out(callHeading());
  for await (const page of pagesOf(log, filter)) {
    if (around.isOutClosed()) return;
    around.out(page.map(callLine).join(''));
    rows += page.length;
    count(rows);
  }
  if (rows === 0) around.err('No calls match.\n');
}

/** A document that parses even if the log fails halfway. */
async function printDocument(
  { around }: Given,
  log: UsageLog,
  filter: UsageRecordFilter,
): Promise<void> {
  let separator = '\n';
  let isComplete = false;
  around.out('{ "data": [');
  try {
    for await (const page of pagesOf(log, filter)) {
      if (around.isOutClosed()) return;
      around.out(separator + page.map(jsonText).join(',\n'));
      separator = ',\n';
    }
    isComplete = true;
  } finally {
    around.out(`\n], "complete": ${isComplete} }\n`);
  }
}

/** Pages of at least one call. */
async function* pagesOf(
  log: UsageLog,
  filter: UsageRecordFilter,
): AsyncGenerator<readonly CallSummary[]> {
  let after: string | undefined;
  do {
    const page = after === undefined ? { limit: pageSize } : { limit: pageSize, after };
    const { records, next } = await log.usageRecords(filter, page);
    if (records.length > 0) yield records.map(callSummary);
    after = next;
  } while (after !== undefined);
}

export const deletion: Command = {
  name: 'usage delete',
  summary: 'delete the records of old calls',
  options: {
    before: { value: 'DATE', text: 'delete calls that began before this day, in UTC; required' },
    yes: { text: 'confirm; required' },
    config: configOption,
  },
  about: `Deletes the records of calls that began before a day, and earlier refusals, oldest first.
It deletes a thousand at a time, so that gateways are not held up. You may interrupt it and run it
again. Balances stay as they are. Records of calls in doubt stay until those are resolved.`,
  examples: ['npx tollgate usage delete --before 2026-01-01 --yes'],
  run: (given) => {
    const beforeMs = dateOf(given, 'before');
    if (beforeMs === undefined) throw usageError('usage delete needs --before DATE.');
    if (beforeMs > given.around.clock.now()) {
      throw usageError('--before is in the future, so that every record would be deleted.');
    }
    if (!given.has('yes')) {
      throw usageError("usage delete can't be undone: add --yes. usage calls exports them first.");
    }
    return withUsage(given, async (log) => {
      const deleted = await progress(given, 'Deleting records', (count) =>
        deleteAll(log, beforeMs, count),
      );
      const before = new Date(beforeMs).toISOString();
      if (given.json) printJson(given.around, { before, deleted });
      else given.around.out(`${deleted} records from before ${before} are deleted.\n`);
    });
  },
};

async function deleteAll(log: UsageLog, beforeMs: number, count: CountProgress): Promise<number> {
  let all = 0;
  for (;;) {
    const deleted = await log.deleteBefore(beforeMs);
    if (deleted === 0) return all;
    all += deleted;
    count(all);
  }
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
  groupings: `${columnGroupings.join(', ')} or metadata.NAME`,
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
