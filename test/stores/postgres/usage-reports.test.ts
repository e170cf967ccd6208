// suite: services
/** Reports and the deletion of old records over PostgreSQL. */
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { postgresUsageSink } from '../../../src/stores/postgres/stores.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { refusalTableCases } from '../refusal-cases.ts';
import { usageCases } from '../usage-cases.ts';
import { migrated } from './schema.ts';

describe.skipIf(!hasPostgres())('over PostgreSQL', () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = await migrated(server.pool());
  });
  beforeEach(() => pool.query('TRUNCATE tollgate.usage, tollgate.refusals'));
  afterAll(() => server.stop());

  usageCases(() => postgresUsageSink({ client: pool }));
  refusalTableCases(() => postgresUsageSink({ client: pool }));
});
