/**
 * Users with plans, in tables of the host: the key store reads them, a new plan counts at once, and
 * a payment that its provider reports twice is credited once.
 */
import { createHash } from 'node:crypto';
import { type ApiKey, digestSecret, type KeyStore, money, type RateLimits } from 'tollgate';
import type { QuotaStore } from 'tollgate/ports';

/** What a plan allows. `total` is prepaid: the money is what has been paid in. */
export interface Plan {
  /** Decides which models the user may call. */
  readonly group: string;
  readonly period: 'month' | 'total';
  readonly limitNanos: bigint;
  /** How many calls and tokens a user may use per minute, hour and day, with all keys together. */
  readonly rates: RateLimits;
}

export const plans: Readonly<Record<string, Plan>> = {
  free: {
    group: 'small-models',
    period: 'month',
    limitNanos: money('1'),
    rates: { calls: { perMinute: 10, perDay: 200 } },
  },
  pro: {
    group: 'all-models',
    period: 'month',
    limitNanos: money('20'),
    rates: { calls: { perMinute: 60 }, tokens: { perMinute: 200_000 } },
  },
  prepaid: {
    group: 'all-models',
    period: 'total',
    limitNanos: 0n,
    rates: { calls: { perMinute: 60 }, tokens: { perMinute: 200_000 } },
  },
};

/** A row of the host's key table, joined with its user. */
export interface UserKey {
  readonly keyId: string;
  readonly userId: string;
  readonly plan: string;
  readonly suspended: boolean;
}

/** The host's database. */
export interface UserTable {
  keyByDigest(digest: string): Promise<UserKey | undefined>;
}

/** What the quota of a user depends on, besides the user's own row. */
export interface KeyRules {
  readonly plans: Readonly<Record<string, Plan>>;
  /** Kept outside the database, so that its digests alone are of no use. */
  readonly pepper: string;
}

/** Reads keys from the host's tables. Wrap it in `cachedKeyStore` to save most queries. */
export function keysOfUsers(users: UserTable, { plans: known, pepper }: KeyRules): KeyStore {
  return {
    find: async (secret) => {
      const row = await users.keyByDigest(digestSecret(secret, pepper));
      const plan = row === undefined ? undefined : known[row.plan];
      return row === undefined || plan === undefined ? undefined : recordOf(row, plan);
    },
  };
}

/**
 * All keys of a user are charged to one subject and share its limits, which the user may see in
 * `GET /v1/key` and in the headers of replies.
 */
function recordOf(row: UserKey, { group, period, limitNanos, rates }: Plan): ApiKey {
  return {
    id: row.keyId,
    group,
    disabled: row.suspended,
    quota: [{ id: row.userId, period, limitNanos, visible: true }],
    rates: [{ ...rates, subject: row.userId, visible: true }],
  };
}

/** A payment, as the payment provider reports it. */
export interface Payment {
  /** The provider's own id; the same in each report of one payment. */
  readonly id: string;
  readonly userId: string;
  /** `'25.00'` */
  readonly amount: string;
}

/**
 * Credits a payment of a prepaid user. Call it from the webhook: if the provider reports the
 * payment again, for example because this process ended before it had answered, the second call
 * changes nothing.
 */
export async function creditPayment(quota: QuotaStore, payment: Payment): Promise<void> {
  // An adjustment's id is 16 to 64 letters, digits, _ and -; a payment's may be anything.
  const digest = createHash('sha256').update(payment.id).digest('base64url');
  await quota.adjust({
    id: `payment-received-${digest}`,
    partition: 'default',
    subject: payment.userId,
    period: '',
    addLimit: money(payment.amount),
  });
}
