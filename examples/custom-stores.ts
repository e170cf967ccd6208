/** A host's own stores: keys out of its user database, its own usage log, its rate limiter. */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { digestSecret, type KeyStore, money, type RateLimiter, type UsageSink } from 'tollgate';

/** A row of the host's own table; it keeps the digest of a secret, never the secret. */
export interface UserRow {
  readonly userId: string;
  readonly plan: string;
  readonly suspended: boolean;
  readonly monthlyNanos: bigint;
}

/** Whatever asks the host's database. */
export interface Database {
  userByDigest(digest: string): Promise<UserRow | undefined>;
  insertUsage(row: { userId: string; model: string; nanos: string }): Promise<void>;
}

/** Keys out of the host's user table. */
export function databaseKeyStore(database: Database, pepper: string): KeyStore {
  return {
    find: async (secret) => {
      const user = await database.userByDigest(digestSecret(secret, pepper));
      if (user === undefined) return undefined;
      return {
        id: user.userId,
        group: user.plan,
        disabled: user.suspended,
        quota: [
          { id: user.userId, period: 'month', limitNanos: user.monthlyNanos },
          { id: `plan-${user.plan}`, period: 'day', limitNanos: money('50') },
        ],
      };
    },
  };
}

/** One row a call, in the host's own table. */
export function databaseUsageSink(database: Database): UsageSink {
  return {
    record: ({ keyId, modelId, chargeNanos }) =>
      database.insertUsage({ userId: keyId, model: modelId, nanos: chargeNanos.toString() }),
    close: async () => {},
  };
}

/** Any limiter of `rate-limiter-flexible`, in one line. */
export function flexibleRateLimiter(limiter: RateLimiterMemory): RateLimiter {
  return {
    consume: (subject, points) =>
      limiter.consume(subject, points).then(
        () => ({ granted: true }),
        (refused: unknown) => {
          if (!(refused instanceof RateLimiterRes)) throw refused;
          return { granted: false, retryAfterMs: refused.msBeforeNext };
        },
      ),
  };
}

/** Sixty calls a minute for each key. */
export function sixtyAMinute(): RateLimiter {
  return flexibleRateLimiter(new RateLimiterMemory({ points: 60, duration: 60 }));
}
