// suite: services
/** The limiter in PostgreSQL decides like the model of token buckets, for all processes. */
import type pg from 'pg';
import { afterAll, beforeAll, describe } from 'vitest';
import { postgresRateLimiter } from '../../../src/stores/postgres/stores.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { rateLimiterCases } from '../rate-cases.ts';
import { addLater, type ControlledClock, controlClock, migrated } from './schema.ts';

describe.skipIf(!hasPostgres())('a rate limiter in PostgreSQL', () => {
  let server: PostgresServer;
  let pools: readonly [pg.Pool, pg.Pool];
  let clock: ControlledClock;
  let nowMs = 1_767_225_600_000;

  beforeAll(async () => {
    server = await startPostgres();
    pools = [await migrated(server.pool()), server.pool()];
    await addLater(pools[0]);
    clock = await controlClock(pools[0]);
  });
  afterAll(() => server.stop());

  rateLimiterCases(async () => {
    const [one, other] = pools;
    await one.query('TRUNCATE tollgate.rates');
    return {
      limiters: [postgresRateLimiter({ client: one }), postgresRateLimiter({ client: other })],
      now: () => nowMs,
      advance: async (ms) => {
        nowMs += ms;
        await clock.advance(ms);
      },
      buckets: async () =>
        (await one.query<{ bucket: string }>('SELECT bucket FROM tollgate.rates')).rows.map(
          ({ bucket }) => bucket,
        ),
    };
  });
});
