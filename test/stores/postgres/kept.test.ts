// suite: services
/** What stores in PostgreSQL keep for some time, within their bounds. */
import type pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { postgresResultStore } from '../../../src/stores/postgres/result-store.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { resultStoreCases } from '../kept-cases.ts';
import { addLater, type ControlledClock, controlClock, migrated } from './schema.ts';

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  let server: PostgresServer;
  let client: pg.Pool;
  let clock: ControlledClock;

  beforeAll(async () => {
    server = await startPostgres();
    client = await migrated(server.pool());
    await addLater(client);
    clock = await controlClock(client);
  });
  afterAll(() => server.stop());

  const rowsIn = async (table: string): Promise<number> =>
    (await client.query(`SELECT FROM tollgate.${table}`)).rows.length;

  describe('the result store', () => {
    resultStoreCases(async () => {
      await client.query('DELETE FROM tollgate.kept');
      return {
        newStore: (options) => postgresResultStore({ ...options, client }),
        advance: clock.advance,
        rowCount: async () => (await rowsIn('kept')) + (await rowsIn('kept_sums')),
      };
    });
  });
});
