/**
 * The demo's stores: a SQLite file in `./.data`, so that keys, quota and usage survive a restart;
 * memory if there is no driver, or the file cannot be written.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type ApiKey,
  memoryIdempotencyStore,
  memoryKeyStore,
  memoryQuotaStore,
  memoryUsageSink,
} from 'tollgate';
import type { AdminKeyStore } from 'tollgate/admin';
import type { IdempotencyStore, QuotaStore, UsageSink } from 'tollgate/ports';
import {
  migrateSqlite,
  openSqlite,
  sqliteIdempotencyStore,
  sqliteKeyStore,
  sqliteQuotaStore,
  sqliteUsageSink,
} from 'tollgate/sqlite';
import { type DemoKeys, type DemoSecrets, demoKeys } from './keys.ts';

export interface DemoStores {
  readonly stores: {
    readonly keys: AdminKeyStore;
    readonly quota: QuotaStore;
    readonly usage: UsageSink;
    readonly idempotency: IdempotencyStore;
  };
  readonly secrets: DemoSecrets;
  /** The number of calls in the usage log. */
  readonly callCount: () => number | Promise<number>;
  /** The place where all this is kept, for the terminal. */
  readonly place: string;
  readonly close: () => Promise<void>;
}

/** The stores in a folder, which is created if needed. */
export async function demoStores(folder: string): Promise<DemoStores> {
  try {
    return await storesIn(folder);
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : 'unknown';
    return inMemory(`memory, and lost at the end: SQLite can't be used (${reason})`);
  }
}

async function storesIn(folder: string): Promise<DemoStores> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, '.gitignore'), '*\n');
  // A host installs the driver of its choice; here it is a dev dependency.
  const db = await openSqlite(join(folder, 'tollgate.db'), { driver: 'libsql' });
  await migrateSqlite(db);

  const keys = sqliteKeyStore({ client: db });
  const usage = sqliteUsageSink({ client: db });
  const known = readSecrets(join(folder, 'demo-keys.json'));
  const found = await Promise.all(Object.values(known ?? {}).map((secret) => keys.find(secret)));
  const isKnown = known !== undefined && !found.includes(undefined);
  return {
    stores: {
      keys,
      quota: sqliteQuotaStore({ client: db }),
      usage,
      idempotency: sqliteIdempotencyStore({ client: db }),
    },
    secrets: isKnown ? known : await issueKeys(folder, keys.add),
    callCount: async () => {
      const span = { fromMs: 0, toMs: Date.now() + 1 };
      const rows = await usage.usageReport({ by: 'key', ...span });
      return rows.reduce((sum, { calls }) => sum + calls, 0);
    },
    place: `the SQLite file ${join(folder, 'tollgate.db')}; a restart finds them again`,
    close: () => db.close(),
  };
}

/** No store keeps secrets. The demo saves them in a file, so that its commands still work later. */
async function issueKeys(
  folder: string,
  add: (secret: string, key: ApiKey) => Promise<void>,
): Promise<DemoSecrets> {
  const issued = demoKeys();
  for (const { secret, key } of [issued.text, issued.image]) await add(secret, key);
  const secrets = secretsOf(issued);
  const text = `${JSON.stringify(secrets, null, 2)}\n`;
  writeFileSync(join(folder, 'demo-keys.json'), text, { mode: 0o600 });
  return secrets;
}

function readSecrets(path: string): DemoSecrets | undefined {
  try {
    const { text, image } = JSON.parse(readFileSync(path, 'utf8'));
    return { text: String(text), image: String(image) };
  } catch {
    return undefined;
  }
}

function inMemory(place: string): DemoStores {
  const issued = demoKeys();
  const usage = memoryUsageSink({ limit: 1_000 });
  return {
    stores: {
      keys: memoryKeyStore({ keys: [issued.text, issued.image] }),
      quota: memoryQuotaStore(),
      usage,
      idempotency: memoryIdempotencyStore(),
    },
    secrets: secretsOf(issued),
    callCount: () => usage.records.length,
    place,
    close: async () => {},
  };
}

function secretsOf({ text, image }: DemoKeys): DemoSecrets {
  return { text: text.secret, image: image.secret };
}
