/** Keys that show a row in each of its looks, issued and charged by the real library. */
import type { FakeConsole } from './console.ts';
import { nowMs } from './data.ts';

const unit = 1_000_000_000n;
const limitUnits = 500n;

/** What each key has used and holds, of 500. */
const amounts: Readonly<Record<string, readonly [used: bigint, held: bigint]>> = {
  'app-mobile': [212n, 4n],
  'app-web': [468n, 12n],
  'batch-nightly': [96n, 60n],
  'partner-eu': [500n, 0n],
  'partner-us': [18n, 0n],
  'qa-old': [2n, 0n],
  'team-design': [341n, 0n],
  'team-search': [485n, 0n],
};

/** Issues the keys of the fake gateway; those of teams have an owner. */
export async function issueKeys({ admin, keys, quota }: FakeConsole): Promise<void> {
  await admin.owners.create('setup', {
    ...{ id: 'platform', name: 'Platform', limitNanos: 2_000n * unit, period: 'month' },
    rates: [{ calls: { perMinute: 600 } }],
  });
  for (const [index, [id, [used, held]]] of Object.entries(amounts).entries()) {
    await admin.keys.issue('setup', {
      id,
      group: id.startsWith('batch') ? 'batch' : 'default',
      limitNanos: limitUnits * unit,
      period: 'month',
      ...(id.startsWith('team') ? { owner: 'platform' } : {}),
      metadata: { team: id.split('-')[1] ?? '', user: `${id}@example.com` },
    });
    const hold = (amount: bigint, name: string) => ({
      id: `${name}_${String(index).padStart(16, '0')}`,
      partition: 'default',
      lines: [{ subject: id, period: '2026-11', amount: amount * unit, limit: limitUnits * unit }],
    });
    const lease = { ttlMs: 900_000, onExpire: 'release' } as const;
    await quota.reserve({ ...hold(used, 'used'), ...lease });
    await quota.settle({ ...hold(used, 'used'), basis: 'usage' });
    if (held > 0n) await quota.reserve({ ...hold(held, 'held'), ...lease });
  }
  await admin.keys.disable('setup', 'partner-us');
  // Set afterwards, because the library issues no expired key.
  keys.update('qa-old', { expiresAtMs: nowMs - 86_400_000 });
}
