/** `tollgate usage calls` and `usage delete`: exports single calls, and deletes old records. */
import { type CallSummary, callSummary } from '../../admin/calls/summary.ts';
import { pagesOf } from '../../admin/pages.ts';
import { callHeading, callLine } from '../../admin/usage/usage.ts';
import type { UsageRecordFilter } from '../../stores/sql/usage/report.ts';
import { type Command, configOption, dateOf, type Given, usageError } from '../command.ts';
import { type CountProgress, jsonText, printJson, progress } from '../output.ts';
import { filterOf, filterOptions, type UsageLog, withUsage } from './report.ts';

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
  for await (const page of callsIn(log, filter)) {
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
    for await (const page of callsIn(log, filter)) {
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
async function* callsIn(
  log: UsageLog,
  filter: UsageRecordFilter,
): AsyncGenerator<readonly CallSummary[]> {
  const pages = pagesOf((page) => log.usageRecords(filter, { limit: pageSize, ...page }));
  for await (const { records } of pages) {
    if (records.length > 0) yield records.map(callSummary);
  }
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
