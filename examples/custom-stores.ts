/** A host's own stores: keys from its user database, its own usage log, its rate limiter. */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { digestSecret, type KeyStore, money, type RateLimiter, type UsageSink } from 'tollgate';

/** A row of the host's own table, which keeps the digest of a secret and never the secret. */
export interface UserRow {
  readonly userId: string;
  readonly plan: string;
  readonly suspended: boolean;
  readonly monthlyNanos: bigint;
}

/** The host's database client. */
export interface Database {
  userByDigest(digest: string): Promise<UserRow | undefined>;
  insertUsage(row: { userId: string; model: string; nanos: string }): Promise<void>;
}

/** A key store over the host's user table. */
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

/** A usage sink that writes one row for each call to the host's own table. */
export function databaseUsageSink(database: Database): UsageSink {
  return {
    record: ({ keyId, modelId, chargeNanos }) =>
      database.insertUsage({ userId: keyId, model: modelId, nanos: chargeNanos.toString() }),
    close: async () => {},
  };
}

/** Adapts any limiter of `rate-limiter-flexible`, in one line. */
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
