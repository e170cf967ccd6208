// suite: quick host
/** What only the key store does works while the quota store is down, as the audit trail says. */
import { expect, it, onTestFinished } from 'vitest';
import type { KeySummary } from '../../src/admin/index.ts';
import { StoreCorrupt, StoreUnavailable } from '../../src/ports/call-options.ts';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import { memoryQuotaStore } from '../../src/stores/memory/quota-store.ts';
import { adminServer, adminSetup } from './admin-host.ts';

it.each<readonly [what: string, read: QuotaStore['read']]>([
  ['is down', () => Promise.reject(new StoreUnavailable('down'))],
  [
    'throws',
    () => {
      throw new TypeError('no client');
    },
  ],
  ['answers wrongly', () => Promise.reject(new StoreCorrupt('a row'))],
])('keys are listed and changed while the quota store %s', async (_what, read) => {
  const { admin, entries } = adminSetup({ quota: { ...memoryQuotaStore(), read } });
  const server = await adminServer(admin);
  onTestFinished(() => server.close());
  await admin.keys.issue('ada', { id: 'ada', group: 'staff', limitNanos: 100n });

  const tasks: readonly (() => Promise<KeySummary>)[] = [
    () => admin.keys.disable('ada', 'ada'),
    () => admin.keys.enable('ada', 'ada'),
    () => admin.keys.setLimit('ada', 'ada', { limitNanos: 7n }),
    () => admin.keys.topUp('ada', 'ada', { id: 'one', amountNanos: 1n }),
    () => admin.keys.find('ada'),
  ];
  for (const task of tasks) expect(await task()).toMatchObject({ id: 'ada', balances: undefined });
  await admin.keys.rotate('ada', 'ada', { id: 'eve' });

  expect(entries.map(({ outcome }) => outcome)).toEqual(entries.map(() => 'done'));
  const reply = await server.call({ path: '/keys' });
  expect(JSON.parse(reply.text)).toMatchObject({
    data: [
      { id: 'ada', balances: null },
      { id: 'eve', balances: null },
    ],
  });
});
