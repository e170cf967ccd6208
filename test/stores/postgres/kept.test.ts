// suite: services
/** What stores in PostgreSQL keep for some time, within their bounds. */
import type pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import {
  postgresItemStore,
  postgresResponseIndex,
  postgresResultStore,
} from '../../../src/stores/postgres/stores.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { itemStoreCases, responseIndexCases, resultStoreCases } from '../kept-cases.ts';
import { addLater, type ControlledClock, controlClock, migrated } from './schema.ts';

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  let server: PostgresServer;
  let client: pg.Pool;
  let clock: ControlledClock;
  let nowMs = 1_767_225_600_000;

  beforeAll(async () => {
    server = await startPostgres();
    client = await migrated(server.pool());
    await addLater(client);
    clock = await controlClock(client);
  });
  afterAll(() => server.stop());

  const emptied = async () => {
    await client.query('DELETE FROM tollgate.kept');
    await client.query('DELETE FROM tollgate.responses');
    return {
      now: () => nowMs,
      advance: async (ms: number) => {
        nowMs += ms;
        await clock.advance(ms);
      },
      rowCount: async () => {
        const counts = ['kept', 'kept_sums', 'responses'].map(
          async (table) => (await client.query(`SELECT FROM tollgate.${table}`)).rows.length,
        );
        return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
      },
    };
  };

  describe('the result store', () => {
    resultStoreCases(async () => ({
      ...(await emptied()),
      newStore: (options) => postgresResultStore({ ...options, client }),
    }));
  });

  describe('the item store', () => {
    itemStoreCases(async () => ({
      ...(await emptied()),
      newStore: (options) => postgresItemStore({ ...options, client }),
    }));
  });

  describe('the index of responses', () => {
    responseIndexCases(async () => ({
      ...(await emptied()),
      newStore: () => postgresResponseIndex({ client }),
    }));
  });
});
