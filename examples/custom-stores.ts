/** A host's own stores: keys from its user database, usage log, rate limiter, quota elsewhere. */
import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { digestSecret, type KeyStore, money } from 'tollgate';
import {
  checkedQuotaStore,
  type QuotaStore,
  type RateLimiter,
  type RateTake,
  type UsageSink,
} from 'tollgate/ports';

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
  execute(sql: string, values: readonly (string | number)[]): Promise<void>;
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

/**
 * A call may be recorded again, with a higher revision: when its charge is booked later, or when it
 * is known at last whether it ran. So there is one row for each reservation, and the highest wins.
 */
export const upsertUsage = `
INSERT INTO calls (reservation_id, revision, user_id, model, nanos) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (reservation_id) DO UPDATE
SET revision = excluded.revision, nanos = excluded.nanos
WHERE calls.revision < excluded.revision`;

/** A usage sink that keeps one row for each call in the host's own table. */
export function databaseUsageSink(database: Database): UsageSink {
  return {
    record: ({ reservationId, revision, keyId, modelId, chargeNanos }) =>
      database.execute(upsertUsage, [reservationId, revision, keyId, modelId, String(chargeNanos)]),
    close: async () => {},
  };
}

/** Runs an operation of a quota store where the balances are, such as in a billing service. */
export type RunRemotely = <Name extends Exclude<keyof QuotaStore, 'durability' | 'close'>>(
  name: Name,
  ...args: Parameters<QuotaStore[Name]>
) => ReturnType<QuotaStore[Name]>;

/** A quota store that sends each operation elsewhere, after the checks of all quota stores. */
export function remoteQuotaStore(run: RunRemotely): QuotaStore {
  return checkedQuotaStore({
    durability: 'durable',
    reserve: (...args) => run('reserve', ...args),
    extend: (...args) => run('extend', ...args),
    settle: (...args) => run('settle', ...args),
    release: (...args) => run('release', ...args),
    sweep: (...args) => run('sweep', ...args),
    read: (...args) => run('read', ...args),
    adjust: (...args) => run('adjust', ...args),
    check: (...args) => run('check', ...args),
    close: () => {},
  });
}

/** Makes a limiter of `rate-limiter-flexible` that allows so many points in each window. */
export type MakeLimiter = (points: number, seconds: number) => RateLimiterAbstract;

/**
 * Adapts `rate-limiter-flexible`. It counts in fixed windows, which refill at their end, so that
 * `x-ratelimit-reset-*` is only an estimate. `make` is called once for each size of limit.
 */
export function flexibleRateLimiter(make: MakeLimiter): RateLimiter {
  const limiters = new Map<string, RateLimiterAbstract>();
  const limiterOf = ({ limit, periodMs }: RateTake): RateLimiterAbstract => {
    const size = `${limit}/${periodMs}`;
    const limiter = limiters.get(size) ?? make(limit, periodMs / 1_000);
    limiters.set(size, limiter);
    return limiter;
  };
  const nameOf = ({ owner, bucket }: RateTake): string => `${owner}:${bucket}`;

  return {
    take: async (takes) => {
      const results = await Promise.all(
        takes.map((take) =>
          limiterOf(take).consume(nameOf(take), take.amount).then(asGranted, asRefused),
        ),
      );
      const remaining = results.map(({ left }) => left);
      const waits = results.map(({ waitMs }) => waitMs);
      const retryAfterMs = Math.max(...waits);
      if (retryAfterMs === 0) return { granted: true, remaining };
      // It also counts points that it refuses, so all of them are given back.
      await Promise.all(takes.map((take) => limiterOf(take).reward(nameOf(take), take.amount)));
      return { granted: false, refused: waits.indexOf(retryAfterMs), retryAfterMs, remaining };
    },
    adjust: async (takes) => {
      const changes = takes.map((take) =>
        take.amount < 0
          ? limiterOf(take).reward(nameOf(take), -take.amount)
          : limiterOf(take).penalty(nameOf(take), take.amount),
      );
      await Promise.all(changes);
    },
  };
}

interface FlexibleResult {
  readonly left: number;
  readonly waitMs: number;
}

function asGranted({ remainingPoints }: RateLimiterRes): FlexibleResult {
  return { left: remainingPoints, waitMs: 0 };
}

/** A refusal is thrown, and so are errors of the limiter's store. */
function asRefused(thrown: unknown): FlexibleResult {
  if (!(thrown instanceof RateLimiterRes)) throw thrown;
  return { left: thrown.remainingPoints, waitMs: Math.max(1, thrown.msBeforeNext) };
}
