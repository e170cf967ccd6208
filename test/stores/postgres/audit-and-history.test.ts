// suite: services
/** The audit trail and the history of the catalog in PostgreSQL. */
import type pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { postgresAuditLog, postgresCatalog } from '../../../src/stores/postgres/index.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { auditLogCases } from '../audit-cases.ts';
import { catalogHistoryCases } from '../catalog-cases.ts';
import { migrated } from './schema.ts';

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = await migrated(server.pool());
  });

  afterAll(() => server.stop());

  describe('postgresAuditLog', () => {
    auditLogCases(async () => {
      await pool.query('TRUNCATE tollgate.audit');
      return postgresAuditLog({ client: pool });
    });
  });

  describe('the history of postgresCatalog', () => {
    catalogHistoryCases(async () => {
      await pool.query('TRUNCATE tollgate.catalogs RESTART IDENTITY');
      const options = { client: pool, credentials: () => 'secret' };
      return [await postgresCatalog(options), await postgresCatalog(options)];
    });
  });
});
