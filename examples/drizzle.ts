/**
 * A key store over the host's own tables with Drizzle: who the users are, what their plans allow
 * and which keys they have is read from there at each call, and kept nowhere else.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import type { LibSQLDatabase } from 'drizzle-orm/libsql';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { digestSecret, type KeyStore, money } from 'tollgate';

export const plans = sqliteTable('plans', {
  name: text().primaryKey(),
  /** Decides which models the plan has: those of the catalog whose `groups` name it. */
  group: text('model_group').notNull(),
  /** In currency units: '20.00' */
  monthlyLimit: text('monthly_limit').notNull(),
});

export const users = sqliteTable('users', {
  id: text().primaryKey(),
  plan: text()
    .notNull()
    .references(() => plans.name),
  suspended: integer({ mode: 'boolean' }).notNull().default(false),
});

export const apiKeys = sqliteTable('api_keys', {
  /** The digest of the secret, which itself is stored nowhere. */
  digest: text().primaryKey(),
  id: text().notNull(),
  userId: text('user_id')
    .notNull()
    .references(() => users.id),
});

/** Wrap it in `cachedKeyStore` to save most queries. All keys of a user share the user's limit. */
export function drizzleKeyStore(db: LibSQLDatabase, pepper: string): KeyStore {
  return {
    find: async (secret) => {
      const [found] = await db
        .select({ keyId: apiKeys.id, user: users, plan: plans })
        .from(apiKeys)
        .innerJoin(users, eq(users.id, apiKeys.userId))
        .innerJoin(plans, eq(plans.name, users.plan))
        .where(eq(apiKeys.digest, digestSecret(secret, pepper)));
      if (found === undefined) return undefined;
      const { keyId, user, plan } = found;
      const limitNanos = money(plan.monthlyLimit);
      return {
        id: keyId,
        group: plan.group,
        disabled: user.suspended,
        quota: [{ id: user.id, period: 'month', limitNanos, visible: true }],
      };
    },
  };
}

/** Gives a user a new key; the returned secret is shown to the user once. */
export async function addKey(db: LibSQLDatabase, pepper: string, userId: string): Promise<string> {
  const secret = `sk-${randomBytes(24).toString('hex')}`;
  await db
    .insert(apiKeys)
    .values({ id: randomUUID(), userId, digest: digestSecret(secret, pepper) });
  return secret;
}
