// suite: services
/** Charges in PostgreSQL that the usage log does not have. */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresQuotaStore } from '../../../src/stores/postgres/quota-store.ts';
import { postgresUsageSink } from '../../../src/stores/postgres/stores.ts';
import { reconcile } from '../../../src/stores/sql/reconcile.ts';
import { usageRecord } from '../../../src/testing/contracts/usage-sink.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { migrated } from './schema.ts';

describe.skipIf(!hasPostgres())('reconcile over PostgreSQL', () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = await migrated(server.pool());
  });
  afterAll(() => server.stop());

  it('charges beyond the log are shown by subject and period', async () => {
    const sink = postgresUsageSink({ client: pool });
    const quota = postgresQuotaStore({ client: pool });
    const settle = async (id: string, amount: bigint): Promise<void> => {
      const lines = [
        { subject: 'alice', period: '2026-11', amount },
        { subject: 'counter', period: '', amount: 0n },
      ];
      await quota.settle({ id, partition: 'default', lines, basis: 'usage' });
    };
    const lines = [
      { subject: 'alice', period: '2026-11', heldNanos: 100n },
      { subject: 'counter', period: '', heldNanos: 0n },
    ];
    await settle('reservation-booked', 8n);
    sink.record(usageRecord({ lines, chargeNanos: 8n }));
    expect(await reconcile({ quota, usage: sink })).toEqual([]);

    await settle('reservation-unlogged', 5n);
    sink.record(usageRecord({ requestId: 'req_2', lines, chargeNanos: 3n, booked: false }));

    const difference = {
      ...{ partition: 'default', subject: 'alice', period: '2026-11' },
      ...{ bookedNanos: 8n, unbookedNanos: 3n, usedNanos: 13n, unloggedNanos: 5n },
    };
    expect(await reconcile({ quota, usage: sink })).toEqual([difference]);
    expect(await reconcile({ quota, usage: sink }, { subject: 'alice' })).toEqual([difference]);
    expect(await reconcile({ quota, usage: sink }, { period: '2026-12' })).toEqual([]);
    expect(await sink.usageReport({ by: 'key', fromMs: 0, toMs: 4e12 })).toMatchObject([
      { chargeNanos: 11n, unbookedNanos: 3n },
    ]);
    await sink.close();
  });
});
