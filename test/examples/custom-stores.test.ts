/** The example's own stores do what the ports require. */
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { describe, expect, it } from 'vitest';
import {
  databaseKeyStore,
  databaseUsageSink,
  flexibleRateLimiter,
  sixtyAMinute,
  type UserRow,
} from '../../examples/custom-stores.ts';
import { digestSecret } from '../../src/index.ts';
import { usageRecord } from '../../src/testing/index.ts';

const pepper = 'a pepper of the host';
const row: UserRow = { userId: 'ada', plan: 'pro', suspended: false, monthlyNanos: 7n };

describe('examples/custom-stores', () => {
  it('finds a key by the digest of its secret, with one query', async () => {
    const requested: string[] = [];
    const store = databaseKeyStore(
      {
        userByDigest: async (digest) => {
          requested.push(digest);
          return digest === digestSecret('the secret', pepper) ? row : undefined;
        },
        insertUsage: async () => {},
      },
      pepper,
    );

    expect(await store.find('the secret')).toMatchObject({ id: 'ada', group: 'pro' });
    expect(await store.find('another')).toBeUndefined();
    expect(requested).not.toContain('the secret');
  });

  it('writes one row for each call', async () => {
    const rows: unknown[] = [];
    const sink = databaseUsageSink({
      userByDigest: async () => undefined,
      insertUsage: async (inserted) => {
        rows.push(inserted);
      },
    });

    await sink.record(usageRecord({ keyId: 'ada', modelId: 'm', chargeNanos: 12n }));

    expect(rows).toEqual([{ userId: 'ada', model: 'm', nanos: '12' }]);
  });

  it('grants and refuses as rate-limiter-flexible does', async () => {
    const limiter = flexibleRateLimiter(new RateLimiterMemory({ points: 1, duration: 60 }));

    const first = await limiter.consume('ada', 1);
    const second = await limiter.consume('ada', 1);

    expect(first).toEqual({ granted: true });
    expect(second).toMatchObject({ granted: false });
    expect(await sixtyAMinute().consume('ada', 1)).toEqual({ granted: true });
  });
});
