// suite: search
/** The linearisability checker finds wrong stores and impossible histories. */
import { describe, expect, it } from 'vitest';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { recordHistory } from './histories.ts';
import { type Invocation, judge } from './linearisable.ts';
import type { Operation } from './operations.ts';
import { judged } from './prove.ts';
import { emptyBooks } from './quota-model.ts';
import { chargesTwice, checksThenActs, distant, readsStale, refundsTwice } from './wrong-stores.ts';

describe('the linearisability checker', () => {
  const read: Operation = { op: 'read', input: { subject: 's', period: '', partition: 'p' } };
  const adjust: Operation = {
    op: 'adjust',
    input: { id: 'adjustment-00001', partition: 'p', subject: 's', period: '', limit: 7n },
  };
  const row = { limit: 7n, extra: 0n, used: 0n, held: 0n, inFlight: 0, enabled: true, version: 0 };
  const adjusted = { ...row, replay: false };
  const did = (operation: Operation, from: number, to: number, answer: unknown): Invocation => ({
    ...{ client: 0, operation, invokedAt: from, returned: { at: to, answer } },
  });

  it('accepts a read that overlaps a change and sees the state before or after it', () => {
    for (const seen of [undefined, row]) {
      const history = [did(adjust, 1, 4, adjusted), did(read, 2, 3, seen)];
      expect(judge(history, emptyBooks()).isLinearisable).toBe(true);
    }
  });

  it('rejects a read that misses a change which had returned before', () => {
    const verdict = judge([did(adjust, 1, 2, adjusted), did(read, 3, 4, undefined)], emptyBooks());
    expect(verdict).toMatchObject({ isLinearisable: false, explained: 1 });
  });

  it('rejects two reads of which the later sees the earlier state', () => {
    const history = [did(adjust, 1, 8, adjusted), did(read, 2, 3, row), did(read, 4, 5, undefined)];
    expect(judge(history, emptyBooks()).isLinearisable).toBe(false);
  });

  it('accepts that a change without a reply ran, ran late or did not run', () => {
    const lost: Invocation = { client: 0, operation: adjust, invokedAt: 1, returned: undefined };
    for (const seen of [
      [undefined, undefined],
      [undefined, row],
      [row, row],
    ]) {
      const reads = seen.map((answer, at) => did(read, 2 + 2 * at, 3 + 2 * at, answer));
      expect(judge([lost, ...reads], emptyBooks()).isLinearisable).toBe(true);
    }
    const back = [did(read, 2, 3, row), did(read, 4, 5, undefined)];
    expect(judge([lost, ...back], emptyBooks()).isLinearisable).toBe(false);
  });

  it.each<readonly [string, (correct: QuotaStore) => QuotaStore]>([
    ['checks first and takes later', checksThenActs],
    ['refunds twice', refundsTwice],
    ['charges twice', chargesTwice],
    ['reads from a cache', readsStale],
  ])('rejects a store that %s', async (_fault, breakIt) => {
    let isCaught = false;
    for (let round = 0; round < 10 && !isCaught; round += 1) {
      const store = distant(breakIt(memoryQuotaStore()), round);
      isCaught = !(await judged([store], 20_261_120 + round, 0)).isLinearisable;
    }

    expect(isCaught).toBe(true);
  });

  it('accepts a separate check where there is only one client', async () => {
    for (let round = 0; round < 5; round += 1) {
      const store = distant(checksThenActs(memoryQuotaStore()), round);
      const plan = { seed: round, partition: `alone-${round}`, clients: 1, operationsEach: 100 };
      const history = await recordHistory([store], { ...plan, lostPercent: 0 });
      expect(judge(history, emptyBooks()), `seed ${round}`).toMatchObject({ isLinearisable: true });
    }
  });
});
