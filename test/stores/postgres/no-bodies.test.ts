// suite: services
/** After calls full of canaries, no PostgreSQL table contains one. */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  postgresCatalog,
  postgresIdempotencyStore,
  postgresKeyStore,
  postgresQuotaStore,
  postgresRateLimiter,
  postgresUsageSink,
} from '../../../src/stores/postgres/index.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import {
  adjustment,
  caller,
  canaries,
  canariesIn,
  canaryModels,
  runCanaryCalls,
} from '../canary-calls.ts';
import { migrated } from './schema.ts';

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  let server: PostgresServer;
  let client: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    client = await migrated(server.pool());
  });
  afterAll(() => server.stop());

  it('keeps no prompt, reply, image or secret, and addresses only in its catalog', async () => {
    const [keys, quota] = [postgresKeyStore({ client }), postgresQuotaStore({ client })];
    const catalog = await postgresCatalog({ client, credentials: () => canaries.upstreamKey });
    await catalog.publish(canaryModels);
    await keys.add(caller.secret, caller.key);

    const usage = postgresUsageSink({ client });

    await runCanaryCalls({
      keys,
      quota,
      catalog,
      idempotency: postgresIdempotencyStore({ client }),
      rateLimiter: postgresRateLimiter({ client }),
      defaultRates: [{ calls: { perDay: 1_000 } }],
      sinks: [usage],
      recordRefusals: usage,
    });
    await quota.adjust(adjustment);
    catalog.close();

    const tables = await tablesOf(client);
    // A catalog has the addresses of upstreams, but only the names of their secrets.
    expect(canariesIn(tables)).toEqual(['upstreamHost in catalogs']);
    expect(Object.keys(tables)).toEqual([
      'audit',
      'catalogs',
      'claims',
      'kept',
      'kept_sums',
      'keys',
      'owners',
      'quota_adjustments',
      'quota_leases',
      'quota_reservations',
      'quota_rows',
      'rates',
      'refusals',
      'replicas',
      'responses',
      'schema_versions',
      'switches',
      'usage',
    ]);
    // Replies, their ids, and replicas are kept only if a host sets up a store for them.
    const empty = Object.keys(tables).filter((name) => tables[name]?.length === 0);
    expect(empty).toEqual([
      'audit',
      'kept',
      'kept_sums',
      'owners',
      'replicas',
      'responses',
      'switches',
    ]);
  });
});

/** All tables with all their rows as text. */
async function tablesOf(client: pg.Pool): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const { rows } = await client.query<{ readonly name: string }>(
    `SELECT table_name AS name FROM information_schema.tables
      WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY table_name`,
  );
  const tables = rows.map(async ({ name }) => {
    const found = await client.query(['SELECT t::text FROM tollgate.', ' AS t'].join(name));
    return [name, found.rows] as const;
  });
  return Object.fromEntries(await Promise.all(tables));
}
