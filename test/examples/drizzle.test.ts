// suite: slow
/** The example's key store: the host's tables of users, plans and keys decide each call. */
import { createClient } from '@libsql/client/sqlite3';
import { eq } from 'drizzle-orm';
import type { LibSQLDatabase } from 'drizzle-orm/libsql';
import { drizzle } from 'drizzle-orm/libsql/sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { addKey, apiKeys, drizzleKeyStore, plans, users } from '../../examples/drizzle.ts';
import { gatewayInProcess } from '../support/gateway-in-process.ts';
import { completeReply, sampleRequests } from '../support/models.ts';

const pepper = 'a pepper of the host';
/** As `drizzle-kit push` makes them. */
const tables = `
CREATE TABLE plans (name text PRIMARY KEY NOT NULL, model_group text NOT NULL,
  monthly_limit text NOT NULL);
CREATE TABLE users (id text PRIMARY KEY NOT NULL, plan text NOT NULL REFERENCES plans (name),
  suspended integer DEFAULT false NOT NULL);
CREATE TABLE api_keys (digest text PRIMARY KEY NOT NULL, id text NOT NULL,
  user_id text NOT NULL REFERENCES users (id));`;

async function hostDatabase(): Promise<LibSQLDatabase> {
  const client = createClient({ url: ':memory:' });
  onTestFinished(() => client.close());
  await client.executeMultiple(tables);
  const db = drizzle(client);
  await db.insert(plans).values({ name: 'pro', group: 'staff', monthlyLimit: '0.000001' });
  await db.insert(plans).values({ name: 'none', group: 'staff', monthlyLimit: '0' });
  await db.insert(users).values({ id: 'ada', plan: 'pro' });
  return db;
}

it('examples/drizzle reads users, plans and keys from the host’s tables at each call', async () => {
  const db = await hostDatabase();
  const secret = await addKey(db, pepper, 'ada');
  const { call } = gatewayInProcess({
    options: { keys: drizzleKeyStore(db, pepper), ownerRoutes: true },
    handlers: [completeReply('chat'), completeReply('chat')],
  });
  const status = async (key = secret): Promise<number> => {
    const headers = { authorization: `Bearer ${key}` };
    return (await call({ ...sampleRequests.chat, headers })).status;
  };
  const change = (row: Partial<typeof users.$inferSelect>) =>
    db.update(users).set(row).where(eq(users.id, 'ada'));

  expect([await status(), await status('sk-of-nobody')]).toEqual([200, 401]);
  await change({ plan: 'none' });
  expect(await status()).toBe(403);
  await change({ plan: 'pro', suspended: true });
  expect(await status()).toBe(401);
  await change({ suspended: false });
  expect(await status()).toBe(200);
  await db.delete(apiKeys);
  expect(await status()).toBe(401);
});

it('examples/drizzle charges all keys of a user to the user, and stores no secret', async () => {
  const db = await hostDatabase();
  const store = drizzleKeyStore(db, pepper);
  const secrets = [await addKey(db, pepper, 'ada'), await addKey(db, pepper, 'ada')];
  const found = await Promise.all(secrets.map((secret) => store.find(secret)));

  expect(new Set(found.map((key) => key?.id)).size).toBe(2);
  expect(found.map((key) => key?.quota[0]?.id)).toEqual(['ada', 'ada']);
  const stored = JSON.stringify(await db.select().from(apiKeys));
  for (const secret of secrets) expect(stored).not.toContain(secret);
});
