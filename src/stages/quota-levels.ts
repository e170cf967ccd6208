/** Reports once when little is left of a subject's quota in its period: at 80 and at 95 %. */
import type { EventListener } from '../events.ts';
import type { QuotaLine, ReserveResult } from '../ports/quota-store.ts';

/** Looks at what a reserve says is left. */
export type QuotaLevels = (lines: readonly QuotaLine[], result: ReserveResult) => void;

/** Which levels were reported is kept for so many subjects and periods; the oldest goes first. */
const maxReported = 10_000;

/**
 * Nothing has been reported yet.
 *
 * Only lines that carry their limit can be judged, since stores answer what is left and not of how
 * much. The call's own hold does not count as used: its charge is mostly far below it.
 */
export function quotaLevels(emit: EventListener): QuotaLevels {
  const reported = new Map<string, 80 | 95>();

  const report = (
    { subject, period, limit }: QuotaLine,
    leftNanos: bigint,
    percent: 80 | 95,
  ): void => {
    const name = `${subject} ${period}`;
    const before = reported.get(name);
    if (limit === undefined || (before !== undefined && before >= percent)) return;
    reported.delete(name);
    reported.set(name, percent);
    const [oldest] = reported.size > maxReported ? reported.keys() : [];
    if (oldest !== undefined) reported.delete(oldest);
    emit({ type: 'quota_low', subject, period, percent, limitNanos: limit, leftNanos });
  };

  const judge = (line: QuotaLine, left: bigint): void => {
    const { limit } = line;
    if (limit === undefined || limit === 0n || left * 5n > limit) return;
    report(line, left, left * 20n > limit ? 80 : 95);
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
