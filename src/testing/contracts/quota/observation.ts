/** What a reader sees under load and after everything has ended. */
import assert from 'node:assert/strict';
import { rule } from '../over-setups.ts';
import type { CaseContext, QuotaCase } from './case-context.ts';
import { line, newId, newIds, ttlMs } from './case-context.ts';

/** QS-41, QS-46 and QS-48: reading. */
export const observationCases: readonly QuotaCase[] = [
  rule(
    'QS-41 balances are kept longer than leases and ended holds',
    async ({ give, hold, settle, advance, read }) => {
      await give('alice', 100n);
      const id = await hold('alice', 10n);
      await settle(id, [line('alice', 10n)]);

      for (let day = 0; day < 40; day += 1) await advance(86_400_000);

      const state = await read('alice');
      assert.deepEqual([state?.limit, state?.used, state?.held], [100n, 10n, 0n]);
    },
  ),
  rule(
    'QS-41 an ended hold is remembered for the 15 minutes in which a settle may be retried',
    async ({ give, hold, settle, advance, expectState }) => {
      await give('alice', 100n);
      const id = await hold('alice', 10n);
      await settle(id, [line('alice', 10n)]);
      await advance(15 * 60_000);
      for (let count = 0; count < 5; count += 1) {
        await settle(await hold('alice', 1n), [line('alice', 0n)]);
      }

      assert.equal((await settle(id, [line('alice', 10n)])).status, 'already');
      await expectState('alice', { used: 10n, held: 0n, inFlight: 0 });
    },
  ),
  rule('QS-46 readers under load always see consistent rows', async (context) => {
    await context.give('alice', 500n);
    const observe = async (): Promise<void> => {
      const state = await context.read('alice');
      assert(state !== undefined);
      assert(state.used >= 0n && state.held >= 0n);
      assert(state.used + state.held <= state.limit);
      // Each hold of the load is 10.
      assert.equal(state.held, BigInt(state.inFlight) * 10n);
    };

    await Promise.all(
      newIds(100).flatMap((id, index) => [cycle(context, id, index), observe(), observe()]),
    );

    await observe();
  }),
  rule(
    'QS-48 after all calls have ended nothing is held, and used is the sum of the charges',
    async (context) => {
      await context.give('alice', 100_000n);

      const charges = await Promise.all(newIds(100).map((id, index) => cycle(context, id, index)));
      await context.advance(ttlMs + 1);
      const sweep = await context.store.sweep({ max: 1_000, partition: context.partition });

      assert.equal(sweep.more, false);
      const used = charges.reduce((sum, charge) => sum + charge, 0n);
      await context.expectState('alice', { used, held: 0n, inFlight: 0 });
    },
  ),
  rule('QS-48 an unknown subject has no row', async ({ read }) => {
    assert.equal(await read(newId()), undefined);
  }),
];

/**
 * Runs one request: reserves, then settles, releases, or lets the lease run out. Returns its
 * charge.
 */
async function cycle(context: CaseContext, id: string, index: number): Promise<bigint> {
  const { reserve, settle, release } = context;
  const result = await reserve(id, [line('alice', 10n)]);
  if (result.status !== 'held' || index % 4 === 3) return 0n;
  if (index % 4 === 2) {
    await release(id, [line('alice', 10n)]);
    return 0n;
  }
  await settle(id, [line('alice', 6n)]);
  return 6n;
}
