// suite: services
/** The cluster store in PostgreSQL, also while a later version uses its tables, and gateways. */
import type pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { postgresClusterStore } from '../../../src/stores/postgres/stores.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { agreementCases, type ClusterTables, clusterStoreCases } from '../cluster-cases.ts';
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

  const emptied = async (): Promise<ClusterTables> => {
    await client.query('DELETE FROM tollgate.replicas');
    await client.query('DELETE FROM tollgate.switches');
    return { newStore: () => postgresClusterStore({ client }), advance: clock.advance };
  };
  clusterStoreCases(emptied);
  agreementCases(emptied, 4);
});
