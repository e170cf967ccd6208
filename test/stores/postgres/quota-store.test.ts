// suite: services
/** Behaviour of the PostgreSQL quota store beyond the contract. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReserveInput } from '../../../src/ports/limits/quota-store.ts';
import {
  type PostgresQuotaStore,
  postgresQuotaStore,
} from '../../../src/stores/postgres/quota-store.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { type ControlledClock, controlClock, migrated } from './schema.ts';

const hourMs = 3_600_000;

describe.skipIf(!hasPostgres())('postgresQuotaStore', () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let clock: ControlledClock;
  let store: PostgresQuotaStore;

  beforeAll(async () => {
    server = await startPostgres();
    pool = await migrated(server.pool());
    clock = await controlClock(pool);
    store = postgresQuotaStore({ client: pool });
  });
  afterAll(() => server.stop());

  /** A hold of 5 in a new partition. */
  const held = async (change: Partial<ReserveInput> = {}): Promise<ReserveInput> => {
    const input: ReserveInput = {
      id: randomUUID(),
      partition: randomUUID(),
      lines: [{ subject: 'alice', period: '', amount: 5n, limit: 100n }],
      ttlMs: 30_000,
      onExpire: 'release',
      ...change,
    };
    expect(await store.reserve(input)).toMatchObject({ status: 'held' });
    return input;
  };

  it('a delayed renewal with a short lease does not shorten a long one', async () => {
    const { id, partition } = await held();
    const [long] = await store.extend([{ id, partition, ttlMs: 900_000 }]);

    const [late] = await store.extend([{ id, partition, ttlMs: 1_000 }]);

    expect(late).toEqual(long);
    await clock.advance(899_999);
    expect(await store.read('alice', '', partition)).toMatchObject({ held: 5n });
    await clock.advance(1);
    expect(await store.read('alice', '', partition)).toMatchObject({ held: 0n });
  });

  it('the results of a long batch over several partitions are in order of the inputs', async () => {
    const holds = [];
    const partition = randomUUID();
    for (let count = 0; count < 120; count += 1) {
      holds.push(await held(count % 3 === 0 ? {} : { partition, lines: lineOf(1n, 1_000n) }));
    }
    const unknown = randomUUID();

    const results = await store.extend(
      [...holds, { id: unknown, partition }].map((hold) => ({
        id: hold.id,
        partition: hold.partition,
        ttlMs: 40_000,
      })),
    );

    expect(results).toHaveLength(121);
    expect(results.slice(0, 120).every(({ status }) => status === 'held')).toBe(true);
    expect(results.at(-1)).toEqual({ status: 'gone', as: 'unknown' });
  });

  it('a sweep deletes an ended reservation after an hour, and not before', async () => {
    const { id, partition, lines } = await held();
    await store.settle({ id, partition, lines, basis: 'usage' });
    const known = async (): Promise<number> => {
      const text = 'SELECT id FROM tollgate.quota_reservations WHERE partition = $1';
      return (await pool.query(text, [partition])).rows.length;
    };

    await clock.advance(hourMs - 1);
    await store.sweep({ max: 10 });
    expect(await known()).toBe(1);
    await clock.advance(1);
    await store.sweep({ max: 10 });

    expect(await known()).toBe(0);
    expect(await store.read('alice', '', partition)).toMatchObject({ used: 5n, held: 0n });
  });

  it('one sweep deletes ten thousand ended reservations', async () => {
    const partition = randomUUID();
    await pool.query(
      `INSERT INTO tollgate.quota_reservations (partition, id, state, due_ms, ended_ms)
        SELECT $1, 'old_' || n, 'settled', 0, 0 FROM generate_series(1, 10001) n`,
      [partition],
    );

    await store.sweep({ max: 1 });

    const text = 'SELECT FROM tollgate.quota_reservations WHERE partition = $1';
    expect((await pool.query(text, [partition])).rows).toHaveLength(1);
    await store.sweep({ max: 1 });
    expect((await pool.query(text, [partition])).rows).toHaveLength(0);
  });

  it('an adjustment is recorded and counts once, however late it is repeated', async () => {
    const partition = randomUUID();
    const topUp = { id: randomUUID(), partition, subject: 'alice', period: '', addLimit: 50n };
    await store.adjust(topUp);
    await clock.advance(30 * 24 * hourMs);
    await store.sweep({ max: 10 });

    expect(await store.adjust(topUp)).toMatchObject({ extra: 50n });

    const { rows } = await pool.query(
      'SELECT subject, add_limit_nanos FROM tollgate.quota_adjustments WHERE id = $1',
      [topUp.id],
    );
    expect(rows).toEqual([{ subject: 'alice', add_limit_nanos: '50' }]);
  });

  it('an extra above 2^53 − 1 is refused, and the adjustment may be repeated', async () => {
    const row = { partition: randomUUID(), subject: 'alice', period: '' };
    const maxNanos = 9_007_199_254_740_991n;
    await store.adjust({ ...row, id: randomUUID(), addLimit: maxNanos });
    const id = randomUUID();

    await expect(store.adjust({ ...row, id, addLimit: 1n })).rejects.toThrow(RangeError);

    expect(await store.adjust({ ...row, id, addLimit: -1n })).toMatchObject({
      extra: maxNanos - 1n,
    });
  });

  it('a sweep does not wait for locks: it skips a locked subject and reports more', async () => {
    const hold = await held();
    await clock.advance(30_000);
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query("SELECT pg_advisory_xact_lock(tollgate.quota_lock_key($1, 'alice'))", [
      hold.partition,
    ]);

    const meanwhile = await store.sweep({ max: 10, partition: hold.partition });
    await other.query('COMMIT');
    other.release();

    expect(meanwhile).toEqual({ expired: 0, more: true });
    expect(await store.sweep({ max: 10, partition: hold.partition })).toEqual({
      expired: 1,
      more: false,
    });
  });

  it('each operation waits 5 s for a stuck lock and is then not_done', async () => {
    const text = `SELECT proname FROM pg_proc WHERE pronamespace = 'tollgate'::regnamespace
      AND 'lock_timeout=5s' = ANY (proconfig) ORDER BY proname`;
    const withTimeout = (await pool.query(text)).rows.map(({ proname }) => proname);
    expect(withTimeout).toEqual(
      ['adjust', 'batch', 'extend', 'read', 'sweep'].map((name) => `quota_${name}`),
    );
    const schema = 'hasty';
    const hasty = postgresQuotaStore({ client: await migrated(pool, schema), schema });
    for (const name of withTimeout) {
      await pool.query(`ALTER FUNCTION hasty.${name}(jsonb) SET lock_timeout = '1ms'`);
    }
    const lines = lineOf(1n, 100n);
    const hold = { id: randomUUID(), partition: 'p', lines, ttlMs: 30_000 };
    await hasty.reserve({ ...hold, onExpire: 'release' });
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query("SELECT pg_advisory_xact_lock(hasty.quota_lock_key('p', 'alice'))");

    const adjustment = { id: randomUUID(), partition: 'p', subject: 'alice', period: '' };
    const outcomes = await Promise.allSettled([
      hasty.reserve({ ...hold, id: randomUUID(), onExpire: 'release' }),
      hasty.extend([hold]),
      hasty.settle({ ...hold, basis: 'usage' }),
      hasty.release(hold),
      hasty.adjust({ ...adjustment, limit: 5n }),
    ]);
    await other.query('ROLLBACK');
    other.release();

    const given = { name: 'StoreUnavailable', outcome: 'not_done', cause: { code: '55P03' } };
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: given });
    }
    expect(await hasty.settle({ ...hold, basis: 'usage' })).toMatchObject({ status: 'settled' });
  });

  it('a settle whose reply was lost is reported as already done, and charged once', async () => {
    const { id, partition, lines } = await held();
    const losing = postgresQuotaStore({
      client: {
        query: async (text, values) => {
          await pool.query(text, values);
          throw Object.assign(new Error('gone'), { code: 'ECONNRESET' });
        },
      },
    });

    await expect(losing.settle({ id, partition, lines, basis: 'usage' })).rejects.toMatchObject({
      outcome: 'unknown',
    });

    expect(await store.settle({ id, partition, lines, basis: 'usage' })).toEqual({
      status: 'already',
      charged: [5n],
    });
    expect(await store.read('alice', '', partition)).toMatchObject({ used: 5n, held: 0n });
  });

  it('a reserve that arrives after it was given up and released holds nothing', async () => {
    const input = { ...(await held()), id: randomUUID() };
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const landed: Promise<unknown>[] = [];
    const slow = postgresQuotaStore({
      client: {
        query: (text, values) => {
          const query = gate.then(() => pool.query(text, values));
          landed.push(query);
          return query;
        },
      },
    });
    await expect(slow.reserve(input, { timeoutMs: 10 })).rejects.toMatchObject({
      outcome: 'unknown',
    });

    await store.release(input);
    go();
    await Promise.all(landed);

    expect(await store.read('alice', '', input.partition)).toMatchObject({ held: 5n, inFlight: 1 });
  });

  it('another isolation level is refused, since a count could miss a hold', async () => {
    const separate = server.pool(1);
    await separate.query('SET default_transaction_isolation = serializable');
    const strict = postgresQuotaStore({ client: separate });

    expect(await strict.check()).toMatchObject({
      ok: false,
      problems: [expect.stringContaining('default_transaction_isolation')],
    });
    await expect(
      strict.release({ id: randomUUID(), partition: 'p', lines: lineOf(1n, 1n) }),
    ).rejects.toMatchObject({ name: 'StoreUnavailable', outcome: 'not_done' });
  });

  it('check reports a server that may lose charges or is read-only', async () => {
    const separate = server.pool(1);
    await separate.query('SET synchronous_commit = off');
    await separate.query('SET default_transaction_read_only = on');

    const found = await postgresQuotaStore({ client: separate }).check();

    expect(found).toMatchObject({
      ok: false,
      problems: [expect.stringContaining('read-only'), expect.stringContaining('synchronous')],
    });
  });
});

function lineOf(amount: bigint, limit: bigint): ReserveInput['lines'] {
  return [{ subject: 'alice', period: '', amount, limit }];
}
