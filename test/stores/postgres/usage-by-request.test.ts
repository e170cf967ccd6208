// suite: services
/** The usage log in PostgreSQL finds calls by their request id. */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresUsageSink } from '../../../src/stores/postgres/stores.ts';
import { usageRecord } from '../../../src/testing/contracts/usage-sink.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { migrated } from './schema.ts';

const startMs = Date.UTC(2026, 10, 1);

describe.skipIf(!hasPostgres())('postgresUsageSink', () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = await migrated(server.pool());
  });
  afterAll(() => server.stop());

  it('finds the calls of one request id, page by page, within the other filters', async () => {
    const sink = postgresUsageSink({ client: pool });
    // A caller may choose the id, so that another key's calls may have the same.
    const calls = [
      { requestId: 'req_1', reservationId: 'reservation_0001', keyId: 'ann', startedAtMs: startMs },
      { requestId: 'req_2', reservationId: 'reservation_0002', keyId: 'ann', startedAtMs: startMs },
      { requestId: 'req_1', reservationId: 'reservation_0003', keyId: 'bob', startedAtMs: startMs },
      { requestId: 'req_1', reservationId: 'reservation_0004', startedAtMs: startMs + 1 },
    ].map(usageRecord);
    const [first, , ofBob, later] = calls;
    for (const record of calls) sink.record(record);
    const found = async (...query: Parameters<typeof sink.usageRecords>) =>
      (await sink.usageRecords(...query)).records;

    const start = await sink.usageRecords({ requestId: 'req_1' }, { limit: 2 });

    expect(await found({ requestId: 'req_1' })).toEqual([first, ofBob, later]);
    expect(start.records).toEqual([first, ofBob]);
    expect(await found({ requestId: 'req_1' }, { after: start.next ?? 'none' })).toEqual([later]);
    expect(await found({ requestId: 'req_1', keyId: 'bob' })).toEqual([ofBob]);
    expect(await found({ requestId: "' OR 1=1 --" })).toEqual([]);
    await sink.close();
  });
});
