/** What every audit log must do with random records, queries and deletions. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { AuditLog, AuditQuery, AuditRecord } from '../../src/ports/audit-log.ts';
import { runsOf } from '../support/sample.ts';

const actor = fc.constantFrom('ada', "o'hara", 'größe', 'a%');
const action = fc.constantFrom('key.issue', 'key.limit', 'keys.x', 'channel.weight', 'key');
const target = fc.constantFrom('k1', 'K1', 'a_b', undefined);
const outcome = fc.constantFrom('done' as const, 'failed' as const, 'refused' as const);
const atMs = fc.integer({ min: 1_000, max: 1_030 });

const record: fc.Arbitrary<AuditRecord> = fc.record({
  ...{ atMs, actor, action, target, outcome },
  code: fc.constantFrom('conflict', undefined),
  change: fc.dictionary(
    fc.constantFrom('limitNanos', 'weight', 'a "b"'),
    fc.oneof(fc.constantFrom('5', 'ü', ''), fc.integer(), fc.boolean(), fc.constant(null)),
  ),
});

const query: fc.Arbitrary<AuditQuery> = fc.record(
  { actor, action, target: fc.constantFrom('k1', 'a_b'), outcome, fromMs: atMs, toMs: atMs },
  { requiredKeys: [] },
);

function fits(one: AuditRecord, wanted: AuditQuery): boolean {
  const { fromMs = 0, toMs = Number.MAX_SAFE_INTEGER } = wanted;
  const isOfAction =
    wanted.action === undefined ||
    one.action === wanted.action ||
    one.action.split('.')[0] === wanted.action;
  return (
    isOfAction &&
    (wanted.actor ?? one.actor) === one.actor &&
    (wanted.target ?? one.target) === one.target &&
    (wanted.outcome ?? one.outcome) === one.outcome &&
    one.atMs >= fromMs &&
    one.atMs < toMs
  );
}

async function pagesOf(log: AuditLog, wanted: AuditQuery, limit: number) {
  const found: AuditRecord[] = [];
  let after: string | undefined;
  do {
    const page = await log.page({ ...wanted, limit, ...(after === undefined ? {} : { after }) });
    expect(page.records.length).toBeLessThanOrEqual(limit);
    found.push(...page.records);
    after = page.next;
  } while (after !== undefined);
  return found;
}

/** Runs the cases; `make` returns an empty log. */
export function auditLogCases(make: () => Promise<AuditLog> | AuditLog): void {
  it('pages contain exactly what a query selects, the latest first', async () => {
    const property = fc.asyncProperty(
      fc.array(record, { maxLength: 12 }),
      query,
      fc.integer({ min: 1, max: 4 }),
      async (records, wanted, limit) => {
        const log = await make();
        for (const one of records) await log.record(one);

        const expected = records.toReversed().filter((one) => fits(one, wanted));
        expect(await pagesOf(log, wanted, limit)).toEqual(expected);
      },
    );
    await fc.assert(property, { numRuns: runsOf(100) });
  });

  it('deletes the oldest in batches, and nothing that is younger', async () => {
    const property = fc.asyncProperty(
      fc.array(record, { maxLength: 12 }),
      atMs,
      fc.integer({ min: 1, max: 5 }),
      async (records, beforeMs, limit) => {
        const log = await make();
        for (const one of records) await log.record(one);
        const old = records.filter((one) => one.atMs < beforeMs).length;

        let deleted = 0;
        for (let count = limit; count === limit; ) {
          count = await log.deleteBefore(beforeMs, limit);
          expect(count).toBeLessThanOrEqual(limit);
          deleted += count;
        }

        expect(deleted).toBe(old);
        const kept = records.filter((one) => one.atMs >= beforeMs);
        expect(await pagesOf(log, {}, 5)).toEqual(kept.toReversed());
      },
    );
    await fc.assert(property, { numRuns: runsOf(50) });
  });

  it('refuses a query that is not valid', async () => {
    const log = await make();
    for (const wrong of [{ limit: 0 }, { limit: 1_001 }, { after: 'x' }, { fromMs: 0.5 }]) {
      await expect((async () => log.page(wrong))()).rejects.toThrow(RangeError);
    }
  });
}
