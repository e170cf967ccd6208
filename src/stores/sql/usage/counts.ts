/** The counts of usage, and the columns that they have in a database. */
import type { Usage } from '../../../money.ts';

/** The counts of a usage; a count that an upstream does not report is 0 in a sum. */
export type UsageCount = Exclude<
  keyof Usage,
  'largestPassInputTokens' | 'passes' | 'toolCalls' | 'remarks' | 'unreported'
>;

/** A row without calls. */
export const noCounts: Readonly<Record<UsageCount, number>> = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  audioInputTokens: 0,
  imageInputTokens: 0,
  videoInputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  audioOutputTokens: 0,
  imageOutputTokens: 0,
  images: 0,
};
export const usageCounts: readonly UsageCount[] = Object.keys(noCounts).filter(isUsageCount);

function isUsageCount(name: string): name is UsageCount {
  return Object.hasOwn(noCounts, name);
}

/** The column of a member; `partition` and `group` are words of SQL. */
export function columnOf(member: string): string {
  if (member === 'partition') return 'quota_partition';
  if (member === 'group') return 'key_group';
  return member.replace(/[A-Z]|\d+/g, '_$&').toLowerCase();
}

export const countColumns = usageCounts.map((count) => [count, columnOf(count)] as const);
