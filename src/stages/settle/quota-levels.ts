/** Reports once when a subject has used 80 % of its quota in a period, and once at 95 %. */
import type { EventListener } from '../../events.ts';
import type { QuotaLine, ReserveResult } from '../../ports/quota-store.ts';

/** Checks how much is left by the result of a reserve. */
export type QuotaLevels = (lines: readonly QuotaLine[], result: ReserveResult) => void;

/** The reported levels are kept for this many subjects and periods; the oldest are dropped. */
const maxReported = 10_000;

/**
 * Makes the reporter.
 *
 * Only lines that carry their limit can be judged, because stores return what is left and not the
 * limit. The call's own hold does not count as used, because its charge is mostly far lower.
 */
export function quotaLevels(emit: EventListener): QuotaLevels {
  const reported = new Map<string, 80 | 95>();

  const reportOnce = (
    { subject, period, limit }: QuotaLine,
    remainingNanos: bigint,
    percent: 80 | 95,
  ): void => {
    const name = `${subject} ${period}`;
    const reportedPercent = reported.get(name);
    if (limit === undefined || (reportedPercent !== undefined && reportedPercent >= percent))
      return;
    reported.delete(name);
    reported.set(name, percent);
    const [oldest] = reported.size > maxReported ? reported.keys() : [];
    if (oldest !== undefined) reported.delete(oldest);
    emit({ type: 'quota_low', subject, period, percent, limitNanos: limit, remainingNanos });
  };

  const judge = (line: QuotaLine, left: bigint): void => {
    const { limit } = line;
    if (limit === undefined || limit === 0n || left * 5n > limit) return;
    reportOnce(line, left, left * 20n > limit ? 80 : 95);
  };

  return (lines, result) => {
    if (result.status === 'held') {
      for (let index = 0; index < lines.length; index += 1) {
        const line = lines[index];
        const left = result.available[index];
        if (line !== undefined && left !== undefined) judge(line, left + line.amount);
      }
    } else if (result.status === 'insufficient') {
      const line = lines.find(({ subject }) => subject === result.subject);
      if (line !== undefined) judge(line, result.available);
    }
  };
}
