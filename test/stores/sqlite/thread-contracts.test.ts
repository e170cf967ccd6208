// suite: search host
/** The stores over a database in worker threads fulfil their contracts. */
import { describe, it } from 'vitest';
import {
  type PublishedModel,
  sqliteCatalog,
  sqliteIdempotencyStore,
  sqliteItemStore,
  sqliteKeyStore,
  sqliteQuotaStore,
  sqliteRateLimiter,
  sqliteResponseIndex,
  sqliteResultStore,
  sqliteUsageSink,
} from '../../../src/stores/sqlite/index.ts';
import {
  type ContractCase,
  catalogContract,
  fakeClock,
  idempotencyStoreContract,
  itemStoreContract,
  keyStoreContract,
  quotaStoreContract,
  rateLimiterContract,
  refusalLogContract,
  responseIndexContract,
  resultStoreContract,
  usageSinkContract,
} from '../../../src/testing/index.ts';
import { storedRefusals } from '../stored-refusals.ts';
import { threadScratch } from './threads.ts';

/** A file, its database, and what every contract needs at its end. */
async function made() {
  const scratch = await threadScratch();
  const client = await scratch.open();
  return { scratch, client, clock: fakeClock(), cleanup: scratch.cleanup };
}

const contracts: Readonly<Record<string, readonly ContractCase[]>> = {
  sqliteQuotaStore: quotaStoreContract(async () => {
    const { client, clock, cleanup } = await made();
    return { store: sqliteQuotaStore({ client, clock }), clock, cleanup };
  }),
  sqliteKeyStore: keyStoreContract(async () => {
    const { client, cleanup } = await made();
    const store = sqliteKeyStore({ client });
    return { store, put: store.add, owners: store.owners, cleanup };
  }),
  sqliteCatalog: catalogContract(async (models) => {
    const { client, cleanup } = await made();
    const catalog = await sqliteCatalog({ client });
    await catalog.publish(models.map((model): PublishedModel => ({ ...model, channels: [] })));
    const close = async (): Promise<void> => {
      catalog.close();
      await cleanup();
    };
    return { catalog, cleanup: close };
  }),
  sqliteUsageSink: usageSinkContract(async () => {
    const { client, cleanup } = await made();
    const sink = sqliteUsageSink({ client });
    return {
      sink,
      stored: async () => (await sink.usageRecords({}, { limit: 1_000 })).records,
      cleanup: async () => {
        await sink.close();
        await cleanup();
      },
    };
  }),
  'the log of refusals': refusalLogContract(async () => {
    const { client, scratch, cleanup } = await made();
    const log = sqliteUsageSink({ client });
    return {
      log,
      stored: () =>
        storedRefusals(scratch.handle().prepare('SELECT * FROM tollgate_refusal').all()),
      cleanup: async () => {
        await log.close();
        await cleanup();
      },
    };
  }),
  sqliteIdempotencyStore: idempotencyStoreContract(async () => {
    const { client, clock, cleanup } = await made();
    return { store: sqliteIdempotencyStore({ client, clock }), clock, cleanup };
  }),
  sqliteRateLimiter: rateLimiterContract(async () => {
    const { client, clock, cleanup } = await made();
    return {
      limiter: sqliteRateLimiter({ client, clock }),
      advance: async (ms) => clock.advance(ms),
      cleanup,
    };
  }),
  sqliteResultStore: resultStoreContract(async () => {
    const { client, clock, cleanup } = await made();
    return { store: sqliteResultStore({ client, clock }), clock, cleanup };
  }),
  sqliteItemStore: itemStoreContract(async () => {
    const { client, clock, cleanup } = await made();
    return { store: sqliteItemStore({ client, clock }), clock, cleanup };
  }),
  sqliteResponseIndex: responseIndexContract(async () => {
    const { client, clock, cleanup } = await made();
    return { index: sqliteResponseIndex({ client, clock }), clock, cleanup };
  }),
};

describe.each(Object.entries(contracts))('%s in a thread', (_name, cases) => {
  for (const { name, run } of cases) it(name, run, 60_000);
});
