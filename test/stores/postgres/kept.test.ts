// suite: services
/** What stores in PostgreSQL keep for some time, within their bounds. */
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

    it('keeps an expired entry that one process renews while another sweeps', async () => {
      const { now, advance } = await emptied();
      const entry = { owner: 'ada', account: 'a', modelId: 'm', kind: 'item' } as const;
      const renewed = { ...entry, id: 'renewed', expiresAtMs: now() + 60_000 };
      await postgresResponseIndex({ client }).remember([{ ...renewed, expiresAtMs: now() + 1 }]);
      await advance(1_000);
      const one = await client.connect();
      await one.query('BEGIN');
      await postgresResponseIndex({ client: one }).remember([renewed]);

      const other = postgresResponseIndex({ client });
      await other.remember([{ ...renewed, id: 'other' }]);
      // Its sweep leaves the row alone, or waits for it and must not delete it then.
      await expect.poll(() => sweeps()).not.toHaveLength(0);
      await one.query('COMMIT');
      one.release();
      await expect.poll(() => sweeps("AND state = 'active'")).toHaveLength(0);

      expect(await other.find('ada', ['renewed'])).toEqual([renewed]);
    });

    const sweeps = async (which = '') => {
      const of = "pid <> pg_backend_pid() AND query LIKE '%DELETE FROM%responses%expires_ms%'";
      return (await client.query(`SELECT FROM pg_stat_activity WHERE ${of} ${which}`)).rows;
    };
  });
});
