// suite: services
/**
 * The other PostgreSQL stores fulfil the published contracts, in a schema with another name, to
 * which a later version of the package has added columns.
 */
import { afterAll, beforeAll, describe, it } from 'vitest';
import {
  postgresCatalog,
  postgresIdempotencyStore,
  postgresKeyStore,
  postgresUsageSink,
} from '../../../src/stores/postgres/stores.ts';
import { catalogContract } from '../../../src/testing/contracts/catalog.ts';
import { idempotencyStoreContract } from '../../../src/testing/contracts/idempotency-store.ts';
import { keyStoreContract } from '../../../src/testing/contracts/key-store.ts';
import { refusalLogContract } from '../../../src/testing/contracts/refusal-log.ts';
import { usageSinkContract } from '../../../src/testing/contracts/usage-sink.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { storedRefusals } from '../stored-refusals.ts';
import { addLater, type ControlledClock, controlClock, migrated } from './schema.ts';

const schema = 'Other_Schema';

describe.skipIf(!hasPostgres())('PostgreSQL', () => {
  let server: PostgresServer;
  let client: ReturnType<PostgresServer['pool']>;
  let clock: ControlledClock;

  beforeAll(async () => {
    server = await startPostgres();
    client = await migrated(server.pool(), schema);
    await addLater(client, schema);
    clock = await controlClock(client, schema);
  });
  afterAll(() => server.stop());

  describe.each([undefined, 'a pepper'])('postgresKeyStore with pepper %s', (pepper) => {
    const contract = keyStoreContract(async () => {
      await client.query(`TRUNCATE "${schema}".keys, "${schema}".owners`);
      const peppered = pepper === undefined ? {} : { pepper };
      const store = postgresKeyStore({ client, schema, ...peppered });
      return { store, put: store.add, owners: store.owners };
    });
    for (const { name, run } of contract) it(name, run);
  });

  describe('postgresCatalog', () => {
    const contract = catalogContract(async (models) => {
      const catalog = await postgresCatalog({ client, schema });
      await catalog.publish(models.map((model) => ({ ...model, channels: [] })));
      return { catalog, cleanup: catalog.close };
    });
    for (const { name, run } of contract) it(name, run);
  });

  describe('postgresIdempotencyStore', () => {
    const contract = idempotencyStoreContract(() => ({
      store: postgresIdempotencyStore({ client, schema }),
      clock,
    }));
    for (const { name, run } of contract) it(name, run);
  });

  describe('postgresUsageSink', () => {
    const contract = usageSinkContract(async () => {
      await client.query(`TRUNCATE "${schema}".usage`);
      const sink = postgresUsageSink({ client, schema });
      return {
        sink,
        stored: async () => (await sink.usageRecords({}, { limit: 1_000 })).records,
      };
    });
    for (const { name, run } of contract) it(name, run);
  });

  describe('postgresUsageSink as a log of refusals', () => {
    const contract = refusalLogContract(async () => {
      await client.query(`TRUNCATE "${schema}".refusals`);
      const log = postgresUsageSink({ client, schema });
      return {
        log,
        stored: async () =>
          storedRefusals((await client.query(`SELECT * FROM "${schema}".refusals`)).rows),
        cleanup: log.close,
      };
    });
    for (const { name, run } of contract) it(name, run);
  });
});
