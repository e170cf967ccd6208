/** The options that select calls of the usage log. */
import type { UsageReportQuery } from '../../stores/sql/usage-report.ts';
import { type Given, type Option, usageError } from '../command.ts';
import { dateOf } from '../dates.ts';

/** Options of all commands that select calls. */
export const filterOptions: Readonly<Record<string, Option>> = {
  from: {
    type: 'string',
    value: 'DATE',
    text: 'the first day, in UTC; default: the first of this month',
  },
  to: { type: 'string', value: 'DATE', text: 'the end, exclusive; default: now' },
  key: { type: 'string', value: 'ID', text: 'only the calls of this key' },
  group: { type: 'string', value: 'NAME', text: 'only the calls of this group' },
  model: { type: 'string', value: 'ID', text: 'only the calls of this model' },
  channel: { type: 'string', value: 'ID', text: 'only the calls of this channel' },
};

/**
 * The time that a report covers.
 *
 * @throws CommandError
 */
export function spanOf(given: Given): Pick<UsageReportQuery, 'fromMs' | 'toMs'> {
  const nowMs = given.around.clock.now();
  const month = new Date(nowMs).toISOString().slice(0, 7);
  const fromMs = dateOf(given, 'from') ?? Date.parse(`${month}-01`);
  const toMs = dateOf(given, 'to') ?? nowMs + 1;
  // An empty report would look as if nothing had been used.
  if (fromMs >= toMs) throw usageError('--from must be before --to, which is now by default.');
  return { fromMs, toMs };
}

/** That a report is empty, with its time, which is the current month by default. */
export function nothingIn({ fromMs, toMs }: ReturnType<typeof spanOf>, what: string): string {
  const [from, to] = [fromMs, toMs].map((ms) => new Date(ms).toISOString().slice(0, 16));
  return `No ${what} match from ${from} to ${to} (UTC). --from and --to select another time.`;
}

/** @throws CommandError */
export function filterOf(given: Given): Omit<UsageReportQuery, 'by'> {
  const [keyId, group, modelId, channelId] = ['key', 'group', 'model', 'channel'].map(given.text);
  return {
    ...spanOf(given),
    ...(keyId === undefined ? {} : { keyId }),
    ...(group === undefined ? {} : { group }),
    ...(modelId === undefined ? {} : { modelId }),
    ...(channelId === undefined ? {} : { channelId }),
  };
}
