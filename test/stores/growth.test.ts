// suite: services
/**
 * What a store keeps of calls is bounded by the calls of the time for which it must be kept: after
 * each such time, the same number of calls leaves the same number of records, in every table and
 * key of the database, however the calls ended.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { MaybePromise } from '../../src/ports/call-options.ts';
import type { QuotaStore } from '../../src/ports/limits/quota-store.ts';
import type { IdempotencyStore } from '../../src/ports/replies/idempotency-store.ts';
import { postgresQuotaStore } from '../../src/stores/postgres/quota-store.ts';
import { postgresIdempotencyStore } from '../../src/stores/postgres/stores.ts';
import { scriptOf, scriptRunner } from '../../src/stores/redis/client.ts';
import { idempotencyStoreOver } from '../../src/stores/redis/idempotency-store.ts';
import { quotaStoreOver } from '../../src/stores/redis/quota-operations.ts';
import { sqliteIdempotencyStore, sqliteQuotaStore } from '../../src/stores/sqlite/index.ts';
import { fakeClock } from '../../src/testing/fake-clock.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../services/postgres.ts';
import { describeRedis } from '../services/redis.ts';
import { controlClock, migrated } from './postgres/schema.ts';
import { newPrefix, type OpenClient, onClock, clients as redisClients } from './redis/clients.ts';
import { fileKinds, scratch } from './sqlite/handles.ts';

interface Database {
  readonly quota: QuotaStore;
  readonly claims: IdempotencyStore;
  readonly clock: { advance(ms: number): MaybePromise<void> };
  /** The records in all tables; the keys that have no end. */
  size(): MaybePromise<number>;
}

/** As many of each ending. */
const callsEachTime = 60;
const leaseMs = 60_000;
const keepMs = 3_600_000;
const partition = 'default';
const lines = [{ subject: 'alice', period: '', amount: 5n, limit: 1_000_000n }];
let made = 0;

async function call({ quota, claims }: Database, ending: number): Promise<void> {
  made += 1;
  const id = `reservation-${String(made).padStart(8, '0')}`;
  const hold = { id, partition, lines };
  const name = id.padEnd(64, '0');
  await claims.claim({
    ...{ name, fingerprint: name, keyId: 'key', operation: 'images', claimId: id, requestId: id },
    ...{ leaseMs, keepMs, ifTaken: 'answer' },
  });
  await quota.reserve({ ...hold, ttlMs: leaseMs, onExpire: { charge: [1n] } });
  const end = [
    () => quota.settle({ ...hold, basis: 'usage' }),
    () => quota.release(hold),
    () => claims.finish({ name, claimId: id, state: 'done', httpStatus: 200, keepMs }),
    () => claims.abandon({ name, claimId: id }),
    // Its process was killed: the lease and the claim end by themselves.
    () => undefined,
  ];
  await end[ending % end.length]?.();
  if (ending % 2 === 0) await quota.settle({ ...hold, basis: 'usage' });
}

async function staysBounded(database: Database): Promise<void> {
  const sizes: number[] = [];
  for (let time = 0; time < 6; time += 1) {
    for (let one = 0; one < callsEachTime; one += 1) await call(database, one + time);
    sizes.push(await database.size());
    // A gateway sweeps all the time.
    for (let sweep = 0; sweep < 3; sweep += 1) {
      await database.clock.advance(leaseMs + keepMs);
      await database.quota.sweep({ max: 1_000 });
    }
  }
  const [, second = 0] = sizes;
  expect(Math.max(...sizes.slice(1)), String(sizes)).toBeLessThanOrEqual(second + 5);
}

describe('after the time for which they must be kept, calls leave nothing', () => {
  it.each(fileKinds)('in SQLite over $name', async (kind) => {
    const { db, cleanup } = scratch(kind);
    onTestFinished(cleanup);
    const clock = fakeClock();
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const names = JSON.stringify(tables).match(/tollgate_\w+/g) ?? [];
    expect(names.length).toBeGreaterThan(5);
    const count = (name: string): number =>
      [db.prepare(`SELECT 1 FROM ${name}`).all()].flat().length;

    await staysBounded({
      quota: sqliteQuotaStore({ client: db, clock }),
      claims: sqliteIdempotencyStore({ client: db, clock }),
      clock,
      size: () => names.reduce((sum, name) => sum + count(name), 0),
    });
  });

  describe.skipIf(!hasPostgres())('in PostgreSQL', () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    it('in all tables', async () => {
      const client = await migrated(server.pool());
      const clock = await controlClock(client);
      const { rows } = await client.query<{ tablename: string }>(
        "SELECT tablename FROM pg_tables WHERE schemaname = 'tollgate'",
      );
      const counts = rows.map(({ tablename }) => `(SELECT count(*) FROM tollgate.${tablename})`);
      expect(counts.length).toBeGreaterThan(5);

      await staysBounded({
        quota: postgresQuotaStore({ client }),
        claims: postgresIdempotencyStore({ client }),
        clock,
        size: async () => {
          const found = await client.query<{ sum: string }>(`SELECT ${counts.join(' + ')} AS sum`);
          return Number(found.rows[0]?.sum);
        },
      });
    });
  });
});

describeRedis('after the time for which they must be kept, calls leave in Redis', (server) => {
  it.each(redisClients)('no key without an end, over %s', async (_name, open) => {
    const opened: OpenClient = await open(server().path);
    onTestFinished(() => opened.close());
    const clock = fakeClock(Date.now());
    const run = onClock(scriptRunner(opened.client), clock);
    const prefix = newPrefix();
    const ttls = `
local endless = 0
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  if redis.call('PTTL', key) == -1 then endless = endless + 1 end
end
return { tostring(endless) }`;
    const script = scriptOf(ttls);

    await staysBounded({
      quota: quotaStoreOver(run, { prefix, endedTtlMs: keepMs, durability: 'durable' }),
      claims: idempotencyStoreOver(run, { prefix }),
      clock,
      size: async () => {
        const counted = { script, keys: [prefix], args: [`${prefix}*`] };
        return Number(await run(counted, new AbortController().signal));
      },
    });
  });
});
