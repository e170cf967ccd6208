/** `tollgate usage refusals`: how many requests were refused, by key, reason, day and the like. */
import { csvLine } from '../../admin/csv.ts';
import { errorCodes } from '../../errors.ts';
import { failureReasons } from '../../failure-reasons.ts';
import { protocolNames } from '../../ports/catalog.ts';
import {
  type RefusalGrouping,
  type RefusalReportQuery,
  type RefusalReportRow,
  refusalGroupings,
} from '../../stores/sql/refusal-report.ts';
import { type Command, configOption, exitCodes, type Given, usageError } from '../command.ts';
import { printJson, progress, table } from '../output.ts';
import { filterOptions, nothingIn, spanOf } from './query.ts';
import { withUsage } from './with-usage.ts';

const { channel: _, ...selection } = filterOptions;
/** Not a literal: an object with a member `then` looks like a promise to linters. */
const second: Command['options'] = Object.fromEntries([
  ['then', { type: 'string', value: 'NAME', text: 'a second one, for sums within the first' }],
]);

/** The command. */
export const refusals: Command = {
  name: 'usage refusals',
  summary: 'report how many requests were refused, and why',
  options: {
    by: { type: 'string', value: 'NAME', text: `${refusalGroupings.join(', ')}; default: code` },
    ...second,
    ...selection,
    protocol: { type: 'string', value: 'NAME', text: 'only this API, such as chat' },
    code: { type: 'string', value: 'CODE', text: 'only refusals with this code' },
    reason: { type: 'string', value: 'NAME', text: 'only refusals for this reason' },
    csv: { type: 'boolean', text: 'print CSV' },
    config: configOption,
  },
  about: `Sums the refusals that gateways with "gateway": { "recordRefusals": true } have recorded,
by the minute, in UTC. docs/events.md says what each reason means and what to do. Beyond a
thousand combinations in a minute, key, group and model are (other).`,
  examples: [
    'npx tollgate usage refusals --by code --then reason --key key_ada',
    'npx tollgate usage refusals --by day --then model --csv > refusals.csv',
  ],
  run: (given) => {
    const query = queryOf(given);
    if (given.json && given.has('csv')) throw usageError('--json and --csv exclude each other.');
    return withUsage(given, async (log) => {
      const rows = await progress(given, 'Reading refusals', async () => log.refusalReport(query));
      print(given, query, rows);
      return exitCodes.done;
    });
  },
};

function queryOf(given: Given): RefusalReportQuery {
  const { text } = given;
  const by = groupingOf(text('by') ?? 'code');
  const then = text('then');
  const names = { keyId: text('key'), group: text('group'), modelId: text('model') };
  const listed = {
    protocol: oneOf(given, 'protocol', protocolNames),
    code: oneOf(given, 'code', errorCodes),
    reason: oneOf(given, 'reason', failureReasons),
  };
  return {
    ...spanOf(given),
    by: then === undefined ? by : [by, groupingOf(then)],
    ...stated({ ...names, ...listed }),
  };
}

function groupingOf(name: string): RefusalGrouping {
  const known = refusalGroupings.find((grouping) => grouping === name);
  if (known !== undefined) return known;
  throw usageError(`"${name}" must be ${refusalGroupings.join(', ')}.`);
}

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

/** The members that are not undefined. */
function stated<T extends object>(members: T): { [Name in keyof T]?: Exclude<T[Name], undefined> };
function stated(members: object): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function print(
  given: Given,
  { by, ...span }: RefusalReportQuery,
  rows: readonly RefusalReportRow[],
): void {
  const { around } = given;
  const names = [by].flat();
  const total = rows.reduce((sum, row) => sum + row.refusals, 0);
  if (given.json) return printJson(around, { by, data: rows, total: { refusals: total } });
  if (given.has('csv')) {
    around.out(csvLine([...names, 'refusals']));
    for (const row of rows) around.out(csvLine([...row.names, row.refusals]));
    return;
  }
  const heading = [...names.map((name) => name.toUpperCase()), ' REFUSALS'];
  const sums = ['total', ...names.slice(1).map(() => ''), String(total)];
  const lines = rows.map((row) => [...row.names, String(row.refusals)]);
  const none =
    `${nothingIn(span, 'recorded refusals')} They are recorded ` +
    'only with "gateway": { "recordRefusals": true }.';
  around.out(table(heading, rows.length > 1 ? [...lines, sums] : lines, none));
}
