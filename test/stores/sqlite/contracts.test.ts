// suite: slow host first
/** The SQLite stores fulfil every published contract, with each driver. */
import { describe, it } from 'vitest';
import {
  type PublishedModel,
  sqliteCatalog,
  sqliteIdempotencyStore,
  sqliteKeyStore,
  sqliteQuotaStore,
  sqliteUsageSink,
} from '../../../src/stores/sqlite/index.ts';
import {
  catalogContract,
  fakeClock,
  idempotencyStoreContract,
  keyStoreContract,
  quotaStoreContract,
  refusalLogContract,
  usageSinkContract,
} from '../../../src/testing/index.ts';
import { ofThisNode } from '../../support/sample.ts';
import { storedRefusals } from '../stored-refusals.ts';
import { kinds, scratch } from './handles.ts';

describe.each(ofThisNode(kinds))('over $name', (kind) => {
  describe('sqliteQuotaStore', () => {
    const contract = quotaStoreContract(() => {
      const { db, cleanup } = scratch(kind);
      const clock = fakeClock();
      return { store: sqliteQuotaStore({ client: db, clock }), clock, cleanup };
    });
    for (const { name, run } of contract) it(name, run, 60_000);
  });

  describe.each([undefined, 'a pepper'])('sqliteKeyStore with pepper %s', (pepper) => {
    const contract = keyStoreContract(() => {
      const { db, cleanup } = scratch(kind);
      const store = sqliteKeyStore(pepper === undefined ? { client: db } : { client: db, pepper });
      return { store, put: store.add, owners: store.owners, cleanup };
    });
    for (const { name, run } of contract) it(name, run);
  });

  describe('sqliteCatalog', () => {
    const contract = catalogContract(async (models) => {
      const { db, cleanup } = scratch(kind);
      const catalog = await sqliteCatalog({ client: db });
      await catalog.publish(models.map((model): PublishedModel => ({ ...model, channels: [] })));
      return {
        catalog,
        cleanup: () => {
          catalog.close();
          cleanup();
        },
      };
    });
    for (const { name, run } of contract) it(name, run);
  });

  describe('sqliteUsageSink', () => {
    const contract = usageSinkContract(() => {
      const { db, cleanup } = scratch(kind);
      const sink = sqliteUsageSink({ client: db });
      return {
        sink,
        stored: async () => (await sink.usageRecords({}, { limit: 1_000 })).records,
        cleanup: async () => {
          await sink.close();
          cleanup();
        },
      };
    });
    for (const { name, run } of contract) it(name, run);
  });

  describe('sqliteUsageSink as a log of refusals', () => {
    const contract = refusalLogContract(() => {
      const { db, cleanup } = scratch(kind);
      const log = sqliteUsageSink({ client: db });
      return {
        log,
        stored: () => storedRefusals(db.prepare('SELECT * FROM tollgate_refusal').all()),
        cleanup: async () => {
          await log.close();
          cleanup();
        },
      };
    });
    for (const { name, run } of contract) it(name, run);
  });

  describe('sqliteIdempotencyStore', () => {
    const contract = idempotencyStoreContract(() => {
      const { db, cleanup } = scratch(kind);
      const clock = fakeClock();
      return { store: sqliteIdempotencyStore({ client: db, clock }), clock, cleanup };
    });
    for (const { name, run } of contract) it(name, run);
  });
});
