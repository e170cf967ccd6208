// suite: slow host
/** The example's own stores do what the ports require. */
import Database from 'libsql';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { describe, expect, it } from 'vitest';
import {
  databaseKeyStore,
  databaseUsageSink,
  flexibleRateLimiter,
  type RunRemotely,
  remoteQuotaStore,
  type UserRow,
} from '../../examples/custom-stores.ts';
import { digestSecret, memoryQuotaStore } from '../../src/index.ts';
import { fakeClock, quotaStoreContract, usageRecord } from '../../src/testing/index.ts';

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
        execute: async () => {},
      },
      pepper,
    );

    expect(await store.find('the secret')).toMatchObject({ id: 'ada', group: 'pro' });
    expect(await store.find('another')).toBeUndefined();
    expect(requested).not.toContain('the secret');
  });

  it.each([
    [[1]],
    [[1, 2]],
    [[2, 1]],
    [[1, 2, 2]],
    [[3, 1, 2]],
  ])('keeps one row for each call, of its highest revision: %j', async (revisions) => {
    const database = new Database(':memory:');
    database.exec(
      'CREATE TABLE calls (reservation_id TEXT PRIMARY KEY, revision, user_id, model, nanos)',
    );
    const sink = databaseUsageSink({
      userByDigest: async () => undefined,
      execute: async (sql, values) => void database.prepare(sql).run(...values),
    });
    const record = { reservationId: 'a-reservation-id-1', keyId: 'ada', modelId: 'm' };

    for (const revision of revisions) {
      await sink.record(usageRecord({ ...record, revision, chargeNanos: BigInt(revision) }));
    }

    const nanos = String(Math.max(...revisions));
    expect(database.prepare('SELECT user_id, model, nanos FROM calls').all()).toEqual([
      { user_id: 'ada', model: 'm', nanos },
    ]);
    database.close();
  });

  it('grants, refuses and corrects as rate-limiter-flexible does', async () => {
    const sizes: string[] = [];
    const limiter = flexibleRateLimiter((points, duration) => {
      sizes.push(`${points} in ${duration} s`);
      return new RateLimiterMemory({ points, duration });
    });
    const minute = { owner: 'subject.ada', bucket: 'calls.minute', periodMs: 60_000 } as const;
    const hour = { owner: 'subject.ada', bucket: 'tokens.hour', periodMs: 3_600_000 } as const;
    const calls = { ...minute, amount: 1, limit: 2 };
    const tokens = { ...hour, amount: 60, limit: 100 };

    expect(await limiter.take([calls, tokens])).toEqual({ granted: true, remaining: [1, 40] });
    expect(await limiter.take([calls, tokens])).toMatchObject({ granted: false, refused: 1 });
    await limiter.adjust([{ ...tokens, amount: -50 }]);
    // The refused call has taken nothing.
    expect(await limiter.take([calls, tokens])).toEqual({ granted: true, remaining: [0, 30] });
    await limiter.adjust([{ ...tokens, amount: 30 }]);
    expect(await limiter.take([{ ...tokens, amount: 1 }])).toMatchObject({ granted: false });
    expect(sizes).toEqual(['2 in 60 s', '100 in 3600 s']);
  });

  it('passes on errors of the store of rate-limiter-flexible', async () => {
    const broken = new RateLimiterMemory({ points: 1, duration: 1 });
    broken.consume = () => Promise.reject(new Error('away'));
    const limiter = flexibleRateLimiter(() => broken);
    const take = { owner: 'o', bucket: 'b', amount: 1, limit: 1, periodMs: 60_000 } as const;

    await expect(limiter.take([take])).rejects.toThrow('away');
  });

  const contract = quotaStoreContract(() => {
    const clock = fakeClock();
    const balances = memoryQuotaStore({ clock });
    const run: RunRemotely = (name, ...args) => Reflect.apply(balances[name], undefined, args);
    return { store: remoteQuotaStore(run), clock };
  });
  it.each(contract)('its quota store: $name', ({ run }) => run());

  it('its quota store sends no illegal input', () => {
    const sent: string[] = [];
    const store = remoteQuotaStore((name, ..._args) => {
      sent.push(name);
      throw new Error('not reached');
    });

    expect(() => store.read('a subject', '', 'default')).toThrow('a subject must be 1 to 128');
    expect(sent).toEqual([]);
  });
});
