// suite: services
/** Quota in PostgreSQL with many concurrent clients, and with a server that is killed. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { QuotaLine, QuotaStore } from '../../../src/ports/limits/quota-store.ts';
import type { PostgresClient } from '../../../src/stores/postgres/client.ts';
import {
  type PostgresQuotaStore,
  postgresQuotaStore,
} from '../../../src/stores/postgres/quota-store.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { numbers } from '../../support/seeds.ts';
import { migrated } from './schema.ts';

const seed = 20_261_121;
const partition = 'storm';
const ttlMs = 900_000;
const limit = 1_000_000n;

describe.skipIf(!hasPostgres())(`PostgreSQL under load, seed ${seed}`, () => {
  let server: PostgresServer;

  beforeAll(async () => {
    server = await startPostgres({ fsync: true });
    await migrated(server.pool(1));
  });
  afterAll(() => server.stop());

  const store = (connections: number): PostgresQuotaStore =>
    postgresQuotaStore({ client: server.pool(connections) });

  it.each([
    ['a process each', 64],
    ['four processes', 4],
  ])('sixty-four clients, %s, have no error, no hang and no deadlock', async (_how, processes) => {
    const failures: unknown[] = [];
    const stores = Array.from({ length: processes }, () => {
      const pool = server.pool(64 / processes);
      // Without this, a deadlock that the store resolves by a retry would not be noticed.
      const query: PostgresClient['query'] = (text, values) =>
        pool.query(text, values).catch((error: unknown) => {
          failures.push(error);
          throw error;
        });
      return postgresQuotaStore({ client: { query } });
    });
    await server.pool(1).query('TRUNCATE tollgate.quota_rows');

    const clients = Array.from({ length: 64 }, (_, index) => stores[index % processes]);
    const charges = await Promise.all(
      clients.map(async (own, index) =>
        own === undefined ? [] : storm(own, numbers(seed + index), 15),
      ),
    );

    const used = charges.flat().reduce((sum, charge) => sum + charge, 0n);
    const sums = await sumsOf(server);
    expect(sums).toEqual({ used: String(used), held: '0', inFlight: '0', leases: '0' });
    expect(failures).toEqual([]);
  });

  it('three pools that race for ten units hold exactly ten', async () => {
    const stores = [store(8), store(8), store(8)];
    const lines = [{ subject: 'race', period: '', amount: 10n, limit: 100n }];

    const results = await Promise.all(
      stores.flatMap((own) =>
        Array.from({ length: 20 }, () =>
          own.reserve({ id: randomUUID(), partition, lines, ttlMs, onExpire: 'release' }),
        ),
      ),
    );

    expect(results.filter(({ status }) => status === 'held')).toHaveLength(10);
    expect(await stores[0]?.read('race', '', partition)).toMatchObject({
      held: 100n,
      inFlight: 10,
    });
  });

  it('a cap over two periods is exact, though they share no row', async () => {
    const own = store(16);
    const periods = ['2026-11', '2026-12'];

    const results = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        own.reserve({
          id: randomUUID(),
          partition,
          lines: [{ subject: 'capped', period: periods[index % 2] ?? '', amount: 1n, limit }],
          ttlMs,
          onExpire: 'release',
          maxConcurrentCalls: [7],
        }),
      ),
    );

    expect(results.filter(({ status }) => status === 'held')).toHaveLength(7);
  });

  it('a server killed under load has every acknowledged charge once', async () => {
    const own = store(12);
    const acknowledged: string[] = [];
    const tried: string[] = [];
    const spend = async (): Promise<void> => {
      for (let count = 0; count < 60; count += 1) {
        const id = randomUUID();
        const lines = [{ subject: 'killed', period: '', amount: 7n, limit }];
        const input = { id, partition, lines, ttlMs, onExpire: 'release' } as const;
        await own.reserve(input);
        tried.push(id);
        await own.settle({ id, partition, lines, basis: 'usage' });
        acknowledged.push(id);
      }
    };
    const load = Array.from({ length: 12 }, () => spend().catch((error: unknown) => error));
    await until(() => acknowledged.length >= 100);

    await server.kill();
    const outcomes = await Promise.all(load);
    await server.restart();

    expect(outcomes.every((error) => nameOf(error) === 'StoreUnavailable')).toBe(true);
    expect(acknowledged.length).toBeLessThan(720);
    // Charges without acknowledgement are settled again, as a gateway does: each counts once.
    const lines = [{ subject: 'killed', period: '', amount: 7n }];
    for (const id of tried) await own.settle({ id, partition, lines, basis: 'usage' });
    for (const id of acknowledged) {
      const again = await own.settle({ id, partition, lines, basis: 'usage' });
      expect(again).toEqual({ status: 'already', charged: [7n] });
    }
    const state = await own.read('killed', '', partition);
    expect(state?.used).toBe(7n * BigInt(tried.length));
    const { rows } = await server.pool(1).query(
      `SELECT (SELECT held_nanos FROM tollgate.quota_rows WHERE subject = 'killed') = (
        SELECT coalesce(sum(amounts[1]), 0) FROM tollgate.quota_reservations
        WHERE state = 'held' AND subjects = '{killed}') AS complete`,
    );
    expect(rows).toEqual([{ complete: true }]);
  });
});

/** One client: holds on two or three of six subjects, with every possible ending. */
async function storm(
  own: QuotaStore,
  next: () => number,
  cycles: number,
): Promise<readonly bigint[]> {
  const charges: bigint[] = [];
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const lines = linesOf(next);
    const batch = [randomUUID(), randomUUID()];
    for (const id of batch) {
      await own.reserve({ id, partition, lines, ttlMs, onExpire: 'release' });
    }
    const add = lines.map(() => 1n);
    await own.extend(batch.map((id) => ({ id, partition, ttlMs, add })));
    const [first = '', second = ''] = batch;
    if (next() < 0.3) await own.sweep({ max: 10 });
    if (next() < 0.3) await own.read('s1', '', partition);
    await own.settle({ id: first, partition, lines, basis: 'usage' });
    charges.push(...lines.map(({ amount }) => amount));
    await own.release({ id: second, partition, lines });
  }
  return charges;
}

function linesOf(next: () => number): readonly QuotaLine[] {
  return ['s1', 's2', 's3', 's4', 's5', 's6']
    .filter((subject) => subject === 's1' || next() < 0.4)
    .map((subject) => ({ subject, period: '', amount: BigInt(1 + Math.floor(next() * 9)), limit }));
}

async function sumsOf(server: PostgresServer): Promise<unknown> {
  const { rows } = await server.pool(1).query(
    `SELECT sum(used_nanos)::text AS used, sum(held_nanos)::text AS held,
      sum(in_flight)::text AS "inFlight",
      (SELECT count(*)::text FROM tollgate.quota_leases) AS leases
    FROM tollgate.quota_rows`,
  );
  return rows[0];
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

function nameOf(error: unknown): string | undefined {
  return error instanceof Error ? error.name : undefined;
}
