// suite: slow host
/**
 * After calls full of canaries, every sink and table is searched: none may contain a prompt, a
 * reply, an image, a secret or an upstream's address.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import { expect, it, onTestFinished } from 'vitest';
import { jsonlUsageSink } from '../../src/stores/jsonl/usage-sink.ts';
import { memoryUsageSink } from '../../src/stores/memory/usage-sink.ts';
import {
  migrateSqlite,
  sqliteCatalog,
  sqliteIdempotencyStore,
  sqliteKeyStore,
  sqliteQuotaStore,
  sqliteRateLimiter,
  sqliteUsageSink,
} from '../../src/stores/sqlite/index.ts';
import { found } from '../faults/canaries.ts';
import {
  adjustment,
  caller,
  canaries,
  canariesIn,
  canaryModels,
  runCanaryCalls,
} from './canary-calls.ts';

it('the memory and file sinks and the SQLite tables contain no canary', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-canaries-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'usage.jsonl');
  const db = new Libsql(':memory:');
  onTestFinished(() => void db.close());
  migrateSqlite(db);
  const [keys, quota] = [sqliteKeyStore({ client: db }), sqliteQuotaStore({ client: db })];
  const catalog = await sqliteCatalog({ client: db, credentials: () => canaries.upstreamKey });
  await catalog.publish(canaryModels);
  keys.add(caller.secret, caller.key);
  const memory = memoryUsageSink();
  const sqlite = sqliteUsageSink({ client: db });

  await runCanaryCalls({
    keys,
    quota,
    catalog,
    idempotency: sqliteIdempotencyStore({ client: db }),
    rateLimiter: sqliteRateLimiter({ client: db }),
    defaultRates: [{ calls: { perDay: 1_000 } }],
    sinks: [memory, jsonlUsageSink({ path }), sqlite],
    recordRefusals: {
      recordRefusals: (counts) => {
        memory.recordRefusals(counts);
        sqlite.recordRefusals(counts);
      },
    },
  });
  await quota.adjust(adjustment);
  catalog.close();

  const tables = tablesOf(db);
  const { records, refusals } = memory;
  const sinks = { memory: [...records, ...refusals], jsonl: await readFile(path, 'utf8') };
  expect(canariesIn(sinks)).toEqual([]);
  // A catalog has the addresses of upstreams, but only the names of their secrets.
  expect(canariesIn(tables)).toEqual(['upstreamHost in tollgate_catalog']);
  expect(Object.keys(tables).toSorted()).toEqual([
    'sqlite_sequence',
    'tollgate_adjustment',
    'tollgate_audit',
    'tollgate_catalog',
    'tollgate_claim',
    'tollgate_hold',
    'tollgate_kept',
    'tollgate_kept_sum',
    'tollgate_key',
    'tollgate_lease',
    'tollgate_owner',
    'tollgate_quota',
    'tollgate_rate',
    'tollgate_refusal',
    'tollgate_replica',
    'tollgate_response',
    'tollgate_schema',
    'tollgate_switch',
    'tollgate_usage',
  ]);
  // Replies, their ids, and replicas are kept only if a host sets up a store for them.
  expect(Object.keys(tables).filter((name) => tables[name]?.length === 0)).toEqual([
    'tollgate_kept',
    'tollgate_kept_sum',
    'tollgate_response',
    'tollgate_audit',
    'tollgate_owner',
    'tollgate_replica',
    'tollgate_switch',
  ]);
  expect(found({ caller: caller.key.id }, sinks)).toEqual(['caller in memory', 'caller in jsonl']);
});

/** All tables with all their rows. */
function tablesOf(db: InstanceType<typeof Libsql>): Readonly<Record<string, readonly unknown[]>> {
  const names: readonly unknown[] = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
    .pluck()
    .all();
  return Object.fromEntries(
    names.map((name) => [String(name), db.prepare(`SELECT * FROM "${name}"`).all()]),
  );
}
