/** The options by which calls of the usage log are selected, and how they are read. */
import type { UsageReportQuery } from '../../stores/sql/usage-report.ts';
import { type Given, type Option, usageError } from '../command.ts';

/** Options of all commands that select calls. */
export const filterOptions: Readonly<Record<string, Option>> = {
  from: {
    type: 'string',
    value: 'DATE',
    text: 'the first day, in UTC; default: that of this month',
  },
  to: { type: 'string', value: 'DATE', text: 'the end, not included; default: now' },
  key: { type: 'string', value: 'ID', text: 'only the calls of this key' },
  group: { type: 'string', value: 'NAME', text: 'only the calls of this group' },
  model: { type: 'string', value: 'ID', text: 'only the calls of this model' },
  channel: { type: 'string', value: 'ID', text: 'only the calls of this channel' },
};

/** @throws CommandError */
export function filterOf(given: Given): Omit<UsageReportQuery, 'by'> {
  const nowMs = given.around.clock.now();
  const month = new Date(nowMs).toISOString().slice(0, 7);
  const [keyId, group, modelId, channelId] = ['key', 'group', 'model', 'channel'].map(given.text);
  return {
    fromMs: timeOf(given, 'from') ?? Date.parse(`${month}-01`),
    toMs: timeOf(given, 'to') ?? nowMs + 1,
    ...(keyId === undefined ? {} : { keyId }),
    ...(group === undefined ? {} : { group }),
    ...(modelId === undefined ? {} : { modelId }),
    ...(channelId === undefined ? {} : { channelId }),
  };
}

/**
 * The time that an option names; undefined if it was not given.
 *
 * @throws CommandError
 */
export function timeOf(given: Given, option: string): number | undefined {
  const text = given.text(option);
  if (text === undefined) return undefined;
  const timeMs = Date.parse(text);
  if (Number.isNaN(timeMs)) throw usageError(`--${option} must be a date such as 2026-11-01.`);
  return timeMs;
}
