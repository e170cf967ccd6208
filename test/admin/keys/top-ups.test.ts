// suite: slow host
/** Top-ups that two processes over one store get at the same time. */
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import { memoryKeyStore } from '../../../src/stores/memory/key-store.ts';
import { memoryQuotaStore } from '../../../src/stores/memory/quota-store.ts';
import { adminSetup } from '../admin-host.ts';

/** The store of several processes: an answer arrives when others have been asked as well. */
function overNetwork(quota: QuotaStore): QuotaStore {
  return {
    ...quota,
    read: async (...input) => {
      const state = await quota.read(...input);
      await setImmediate();
      return state;
    },
  };
}

it.each([
  20n,
  0n,
  -5n,
])('of equal top-ups by %d at once, one counts, and the others say so', async (amountNanos) => {
  const quota = overNetwork(memoryQuotaStore());
  const keys = memoryKeyStore();
  const [one, other] = [adminSetup({ quota, keys }), adminSetup({ quota, keys })];
  await one.admin.keys.issue('ada', { id: 'ada', group: 'staff', limitNanos: 100n });
  const topUp = { id: 'invoice/4711', amountNanos };

  const replies = await Promise.all(
    [one, other, one, other].map(({ admin }) => admin.keys.topUp('ada', 'ada', topUp)),
  );

  expect(replies.filter(({ repeated }) => !repeated)).toHaveLength(1);
  const { balances } = await one.admin.keys.find('ada');
  expect(balances).toMatchObject([{ extraNanos: amountNanos }]);
});
