/** `tollgate usage delete`: deletes old records of the usage log, in batches. */
import { type Command, configOption, exitCodes, usageError } from '../command.ts';
import { dateOf } from '../dates.ts';
import { type CountProgress, printJson, progress } from '../output.ts';
import { type UsageLog, withUsage } from './with-usage.ts';

/** The command. */
export const deletion: Command = {
  name: 'usage delete',
  summary: 'delete the records of old calls',
  options: {
    before: {
      type: 'string',
      value: 'DATE',
      text: 'delete calls that began before this day, in UTC; required',
    },
    yes: { type: 'boolean', text: 'confirm; required' },
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
      return exitCodes.done;
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
