// suite: services
/**
 * The PostgreSQL quota store fulfils the published contract, against a real server and on tables to
 * which a later version of the package has added columns.
 */
import { afterAll, beforeAll, describe, it } from 'vitest';
import { postgresQuotaStore } from '../../../src/stores/postgres/quota-store.ts';
import { quotaStoreContract } from '../../../src/testing/contracts/quota-store.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { addLater, type ControlledClock, controlClock, migrated } from './schema.ts';

describe.skipIf(!hasPostgres())('postgresQuotaStore', () => {
  let server: PostgresServer;
  let clock: ControlledClock;

  beforeAll(async () => {
    server = await startPostgres();
    const pool = await migrated(server.pool());
    await addLater(pool);
    clock = await controlClock(pool);
  });
  afterAll(() => server.stop());

  const contract = quotaStoreContract(() => {
    const pool = server.pool();
    return {
      store: postgresQuotaStore({ client: pool }),
      clock,
      cleanup: () => pool.end(),
    };
  });
  for (const { name, run } of contract) it(name, run, 60_000);
});
