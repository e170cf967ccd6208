/** `tollgate usage calls`: single calls of the usage log, page by page, as CSV or JSON. */
import { type CallSummary, callSummary } from '../../admin/call-summary.ts';
import { callHeading, callLine } from '../../admin/usage.ts';
import type { UsageRecordFilter } from '../../stores/sql/usage-report.ts';
import { type Command, configOption, exitCodes, type Given } from '../command.ts';
import { jsonText, progress } from '../output.ts';
import { filterOf, filterOptions } from './query.ts';
import { type UsageLog, withUsage } from './with-usage.ts';

const pageSize = 1_000;

/** The command. */
export const calls: Command = {
  name: 'usage calls',
  summary: 'export single calls as CSV',
  options: {
    request: { type: 'string', value: 'ID', text: 'only calls with this x-request-id' },
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
    return withUsage(given, async (log) => {
      await progress(given, 'Reading calls', (count) =>
        given.json ? printDocument(given, log, filter) : printCsv(given, log, filter, count),
      );
      return exitCodes.done;
    });
  },
};

async function printCsv(
  { around }: Given,
  log: UsageLog,
  filter: UsageRecordFilter,
  count: (rows: number) => void,
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
