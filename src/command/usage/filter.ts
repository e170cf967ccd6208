/** Which calls the usage commands select, and the log that they read. */
import { given as stated } from '../../admin/deps.ts';
import { namedRanges, windowOf } from '../../console/page/range.ts';
import type { UsageReportQuery } from '../../stores/sql/usage/report.ts';
import { type Command, dateOf, durationOf, exitCodes, type Given, usageError } from '../command.ts';
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
