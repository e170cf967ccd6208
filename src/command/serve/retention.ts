/**
 * Deletes usage records and entries of the audit trail that are older than the configuration keeps
 * them. Every process does so: what another has deleted is not there.
 */
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { ServeConfig } from '../config/config.ts';
import type { Log } from '../log.ts';
import { reasonOf } from '../output.ts';
import type { Stores } from '../stores/stores.ts';

const everyMs = 600_000;
const batch = 1_000;
/** With the pause between two rounds, a bound for what the deletion costs the database. */
const maxBatches = 50;

/** Deletes old records every ten minutes, until the returned function is called. */
export function deleteOldRecords(
  { usageLog, auditLog }: Pick<Stores, 'usageLog' | 'auditLog'>,
  retention: () => ServeConfig['retention'],
  log: Pick<Log, 'write'>,
  clock: Clock,
): () => void {
  let isRunning = false;
  let isStopped = false;
  const deleted = async (
    keptMs: number | undefined,
    remove: ((beforeMs: number) => MaybePromise<number>) | undefined,
  ): Promise<number> => {
    if (keptMs === undefined || remove === undefined) return 0;
    const beforeMs = clock.now() - keptMs;
    let all = 0;
    for (let batches = 0; batches < maxBatches && !isStopped; batches += 1) {
      const count = await remove(beforeMs);
      all += count;
      if (count < batch) break;
      await setImmediate();
    }
    return all;
  };
  const round = async (): Promise<void> => {
    const { usage: usageMs, audit: auditMs } = retention();
    const usage = await deleted(
      usageMs,
      usageLog && ((beforeMs) => usageLog.deleteBefore(beforeMs, { limit: batch })),
    );
    const audit = await deleted(
      auditMs,
      auditLog && ((beforeMs) => auditLog.deleteBefore(beforeMs, batch)),
    );
    if (usage + audit > 0) log.write('info', 'old_records_deleted', { usage, audit });
  };
  const stop = clock.every(everyMs, () => {
    if (isRunning) return;
    isRunning = true;
    round()
      .catch((error: unknown) => {
        log.write('warn', 'old_records_not_deleted', { reason: reasonOf(error) });
      })
      .finally(() => {
        isRunning = false;
      });
  });
  return () => {
    isStopped = true;
    stop();
  };
}
