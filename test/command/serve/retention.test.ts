// suite: quick
/** `serve` deletes what is older than the configuration keeps, in batches, and nothing else. */
import { expect, it } from 'vitest';
import { deleteOldRecords } from '../../../src/command/serve/retention.ts';
import { memoryAuditLog } from '../../../src/stores/memory/audit-log.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';

const dayMs = 86_400_000;

/** A usage log with so many old records, which counts the batches. */
function usageLog(old: number) {
  const batches: (readonly [beforeMs: number, limit: number])[] = [];
  let left = old;
  return {
    batches,
    deleteBefore: async (beforeMs: number, { limit = 0 } = {}) => {
      batches.push([beforeMs, limit]);
      const deleted = Math.min(limit, left);
      left -= deleted;
      return deleted;
    },
  };
}

type Deps = Parameters<typeof deleteOldRecords>;

function started(usage: ReturnType<typeof usageLog>, retention: ReturnType<Deps[1]>) {
  const clock = fakeClock(1_000 * dayMs);
  const lines: unknown[] = [];
  const auditLog = memoryAuditLog();
  for (const days of [1, 40]) {
    auditLog.record({
      ...{ atMs: clock.now() - days * dayMs, actor: 'ada', action: 'key.issue' },
      ...{ target: undefined, change: {}, outcome: 'done', code: undefined },
    });
  }
  const log: Deps[2] = { write: (...line) => lines.push(line) };
  // The test has no other part of the log.
  const stores: Deps[0] = { usageLog: Object.assign(Object.create(null), usage), auditLog };
  const stop = deleteOldRecords(stores, () => retention, log, clock);
  return { clock, lines, auditLog, stop };
}

it('deletes old records in batches of a thousand, and says how many', async () => {
  const usage = usageLog(2_500);
  const { clock, lines, auditLog } = started(usage, { usage: 90 * dayMs, audit: 30 * dayMs });

  clock.advance(600_000);
  await expect.poll(() => lines).toHaveLength(1);

  expect(usage.batches).toEqual(Array.from({ length: 3 }, () => [clock.now() - 90 * dayMs, 1_000]));
  expect(lines).toEqual([['info', 'old_records_deleted', { usage: 2_500, audit: 1 }]]);
  expect(auditLog.page({}).records).toHaveLength(1);
});

it('deletes nothing without a setting, or after it was stopped', async () => {
  const usage = usageLog(10);
  const { clock, lines, auditLog } = started(usage, { usage: undefined, audit: undefined });
  clock.advance(600_000);
  const stopped = started(usage, { usage: dayMs, audit: dayMs });
  stopped.stop();
  stopped.clock.advance(600_000);
  await Promise.resolve();

  expect(usage.batches).toEqual([]);
  expect(lines).toEqual([]);
  expect(auditLog.page({}).records).toHaveLength(2);
});

it('a failure is logged, and the next round tries again', async () => {
  const usage = usageLog(0);
  const down = { ...usage, deleteBefore: () => Promise.reject(new Error('down')) };
  const { clock, lines } = started(down, { usage: dayMs, audit: undefined });

  clock.advance(600_000);
  await expect.poll(() => lines).toHaveLength(1);
  clock.advance(600_000);
  await expect.poll(() => lines).toHaveLength(2);

  expect(lines[0]).toMatchObject(['warn', 'old_records_not_deleted', {}]);
});
