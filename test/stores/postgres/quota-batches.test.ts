// suite: services
/** Operations in batches have the effects and the answers of the same operations one by one. */
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { QuotaLine, QuotaStore, SettleResult } from '../../../src/ports/limits/quota-store.ts';
import type { PostgresClient } from '../../../src/stores/postgres/client.ts';
import { postgresQuotaStore } from '../../../src/stores/postgres/quota-store.ts';
import { type CutProxy, type Fault, startCutProxy } from '../../proof/cut-proxy.ts';
import { comparable, type Operation, send, withoutBalances } from '../../proof/operations.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { type Draw, drawn } from '../../support/seeds.ts';
import { oneByOneStore } from './one-by-one.ts';
import { type ControlledClock, controlClock, migrated } from './schema.ts';

const subjects = ['a', 'b', 'c'];
const periods = ['', '2026-11'];
const ttlMs = 100_000;

describe.skipIf(!hasPostgres())('batches in PostgreSQL', () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let clock: ControlledClock;

  beforeAll(async () => {
    server = await startPostgres();
    pool = await migrated(server.pool());
    clock = await controlClock(pool);
  });
  afterAll(() => server.stop());

  it.each([1, 2, 3, 4])('of random operations on a few subjects, sequence %i', async (sequence) => {
    const draw = drawn(sequence);
    const { client, sizes } = counting(pool);
    const [batched, single] = [
      postgresQuotaStore({ client }),
      postgresQuotaStore({ client: pool }),
    ];
    const reference = await oneByOneStore(pool);
    const [inBatches, oneByOne, before] = [randomUUID(), randomUUID(), randomUUID()];
    const lineCounts = new Map<string, number>();
    for (let round = 0; round < 40; round += 1) {
      const drafts = drawRound(draw, lineCounts);
      const together = await Promise.all(drafts.map((draft) => send(batched, draft(inBatches))));
      const oneAfterAnother = async (store: QuotaStore, partition: string) => {
        const answers: unknown[] = [];
        for (const [index, draft] of inOrder(drafts)) {
          answers[index] = await send(store, draft(partition));
        }
        return answers;
      };

      expect(texts(together)).toEqual(texts(await oneAfterAnother(single, oneByOne)));
      const stated = together.map(withoutBalances);
      expect(texts(stated)).toEqual(texts(await oneAfterAnother(reference, before)));
      const rows = await rowsIn(single, inBatches);
      expect(rows).toEqual(await rowsIn(single, oneByOne));
      expect(rows).toEqual(await rowsIn(single, before));
      noteHolds(drafts, together, lineCounts);
      if (draw(4) === 0) await clock.advance(ttlMs - draw(2));
    }
    expect(Math.max(...sizes)).toBeGreaterThan(4);
  });

  it.each([0, 2, 5])('with one operation that fails, the %i. of six', async (position) => {
    const { client, sizes } = counting(pool);
    const store = postgresQuotaStore({ client });
    const partition = randomUUID();
    await pool.query(
      `INSERT INTO tollgate.quota_rows (partition, subject, period, used_nanos)
        VALUES ($1, 'full', '', 9223372036854775807)`,
      [partition],
    );
    const holds = Array.from({ length: 6 }, () => holdIn(partition, 3n));
    for (const hold of holds) expect(await store.reserve(hold)).toMatchObject({ status: 'held' });
    const full = { subject: 'full', period: '', amount: 1n };

    const settled = await Promise.allSettled(
      holds.map(({ id, lines }, index) =>
        settle(store, { id, partition }, index === position ? [...lines, full] : lines),
      ),
    );

    for (const [index, outcome] of settled.entries()) {
      expect(outcome).toMatchObject(
        index === position
          ? { reason: { name: 'StoreUnavailable', outcome: 'not_done', code: '22003' } }
          : { value: { status: 'settled' } },
      );
    }
    expect(sizes.slice(-8)).toEqual([6, 6, 1, 1, 1, 1, 1, 1]);
    expect(await store.read('a', '', partition)).toMatchObject({ used: 15n, held: 3n });
  });

  it('an extend that the database refuses is an error of its own', async () => {
    const store = postgresQuotaStore({ client: pool });
    const partition = randomUUID();
    const holds = Array.from({ length: 3 }, () => holdIn(partition, 3n));
    for (const hold of holds) await store.reserve(hold);
    const extend = (index: number, add: readonly bigint[]) =>
      store.extend([{ id: holds[index]?.id ?? '', partition, ttlMs, add }]);

    const outcomes = await Promise.allSettled([
      extend(0, [1n]),
      extend(1, [1n, 1n]),
      extend(2, [2n]),
    ]);

    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(outcomes[1]).toMatchObject({ reason: expect.any(RangeError) });
    expect(await store.read('a', '', partition)).toMatchObject({ held: 12n });
  });

  it('through a client that wraps statements in transactions go one by one', async () => {
    const connection = await pool.connect();
    onTestFinished(() => connection.release());
    const query: PostgresClient['query'] = async (text, values) => {
      await connection.query('BEGIN');
      try {
        const result = await connection.query(text, values);
        await connection.query('COMMIT');
        return result;
      } catch (error) {
        await connection.query('ROLLBACK');
        throw error;
      }
    };
    const partition = randomUUID();
    const store = postgresQuotaStore({ client: { query } });

    const results = await settleAll(store, await heldBy(store, partition));

    expect(results.map(({ status }) => status)).toEqual(results.map(() => 'settled'));
    expect(await store.read('a', '', partition)).toMatchObject({ used: 15n, held: 0n });
  });

  it('are on the disk when they are answered', async () => {
    // The server's own process that writes the log asynchronously rests; it was woken once.
    await pool.query("ALTER SYSTEM SET wal_writer_delay = '10s'");
    await pool.query('SELECT pg_reload_conf()');
    const store = postgresQuotaStore({ client: pool });
    const isWritten: unknown[] = [];
    for (let round = 0; round < 5; round += 1) {
      await settleAll(store, await heldBy(store, randomUUID()));
      const text = 'SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn() AS written';
      isWritten.push((await pool.query(text)).rows[0].written);
    }

    // Once is enough, because other processes of the server may have written since.
    expect(isWritten.slice(1)).toContain(true);
  });

  it('over a connection that is cut at any byte, or loses the reply, charge once', async () => {
    const { far, near, proxy } = await brokenLine(server);
    const partition = randomUUID();
    proxy.set();
    await settleAll(far, await heldBy(near, partition));
    const whole = proxy.passed();
    const faults: Fault[] = [{ kind: 'lose' }];
    for (const side of ['request', 'reply'] as const) {
      for (
        let afterBytes = 0;
        afterBytes <= whole[side];
        afterBytes += Math.ceil(whole[side] / 12)
      ) {
        faults.push({ kind: 'cut', side, afterBytes });
      }
    }

    for (const fault of faults) await settleOnce(fault, { far, near, proxy });
  });
});

/** An operation in the partition that it is given. */
type Draft = (partition: string) => Operation;

/** Up to twelve operations on different holds, all of which have the subject `a`. */
function drawRound(draw: Draw, lineCounts: ReadonlyMap<string, number>): readonly Draft[] {
  const numbers = Array.from({ length: 14 }, (_, number) => number).filter(() => draw(3) > 0);
  return numbers.map((number) =>
    drawDraft(draw, `reservation-${number}-`.padEnd(16, '_'), lineCounts),
  );
}

function drawDraft(draw: Draw, id: string, lineCounts: ReadonlyMap<string, number>): Draft {
  const chosen = subjects.filter((subject) => subject === 'a' || draw(2) === 0);
  const lines = chosen.map((subject) => ({
    subject,
    period: periods[draw(periods.length)] ?? '',
    amount: BigInt(draw(30)),
  }));
  switch (draw(5)) {
    case 0:
    case 1: {
      const limits = [undefined, 60n, 150n, 150n][draw(4)];
      const cap = [undefined, undefined, 2, 5][draw(4)];
      const input = {
        id,
        ttlMs,
        lines: lines.map((line) => (limits === undefined ? line : { ...line, limit: limits })),
        onExpire: draw(2) === 0 ? 'release' : { charge: lines.map(({ amount }) => amount / 3n) },
        ...(cap === undefined ? {} : { maxConcurrentCalls: lines.map(() => cap) }),
      } as const;
      return (partition) => ({ op: 'reserve', input: { ...input, partition } });
    }
    case 2:
      return (partition) => ({ op: 'settle', input: { id, partition, lines, basis: 'usage' } });
    case 3:
      return (partition) => ({ op: 'release', input: { id, partition, lines } });
    default: {
      const add = Array.from({ length: lineCounts.get(id) ?? 1 }, () => BigInt(draw(20)));
      const idle = draw(3) === 0;
      return (partition) => ({ op: 'extend', input: [{ id, partition, ttlMs, add, idle }] });
    }
  }
}

/** In a batch, extends run first. */
function inOrder(drafts: readonly Draft[]): readonly (readonly [number, Draft])[] {
  const isExtend = (draft: Draft): boolean => draft('').op === 'extend';
  const indexed = [...drafts.entries()];
  return [
    ...indexed.filter(([, draft]) => isExtend(draft)),
    ...indexed.filter(([, draft]) => !isExtend(draft)),
  ];
}

/** An extend must have an amount for each line of its hold. */
function noteHolds(
  drafts: readonly Draft[],
  answers: readonly unknown[],
  lineCounts: Map<string, number>,
): void {
  for (const [index, draft] of drafts.entries()) {
    const operation = draft('');
    if (operation.op !== 'reserve' || !comparable(answers[index], false).includes('"held"'))
      continue;
    if (comparable(answers[index], false).includes('"replay":true')) continue;
    lineCounts.set(operation.input.id, operation.input.lines.length);
  }
}

function texts(answers: readonly unknown[]): readonly string[] {
  return answers.map((answer) => comparable(answer, true));
}

async function rowsIn(store: QuotaStore, partition: string): Promise<readonly string[]> {
  const rows: string[] = [];
  for (const subject of subjects) {
    for (const period of periods) {
      rows.push(comparable(await store.read(subject, period, partition), true));
    }
  }
  return rows;
}

/** Notes how many operations each batch has. */
function counting(pool: pg.Pool): { readonly client: PostgresClient; readonly sizes: number[] } {
  const sizes: number[] = [];
  return {
    sizes,
    client: {
      query: (text, values) => {
        const [json] = values ?? [];
        if (text.includes('batch')) sizes.push(JSON.parse(String(json)).items.length);
        return pool.query(text, values);
      },
    },
  };
}

function holdIn(partition: string, amount: bigint) {
  const lines = [{ subject: 'a', period: '', amount, limit: 1_000n }];
  return { id: randomUUID(), partition, lines, ttlMs, onExpire: 'release' } as const;
}

type Hold = ReturnType<typeof holdIn>;

async function settle(
  store: QuotaStore,
  { id, partition }: Pick<Hold, 'id' | 'partition'>,
  lines: readonly QuotaLine[],
): Promise<SettleResult> {
  return await store.settle({ id, partition, lines, basis: 'usage' });
}

interface Line {
  readonly far: QuotaStore;
  readonly near: QuotaStore;
  readonly proxy: CutProxy;
}

/** A store over one connection through a proxy, and another over direct ones. */
async function brokenLine(server: PostgresServer): Promise<Line> {
  const name = '.s.PGSQL.5432';
  const folder = join(server.host, 'proxy');
  await mkdir(folder, { recursive: true });
  const proxy = await startCutProxy({ at: join(folder, name), to: join(server.host, name) });
  const client = new pg.Pool({ ...server.connection, host: folder, max: 1 });
  client.on('error', () => {});
  onTestFinished(async () => {
    await proxy.close();
    await client.end();
  });
  const near = postgresQuotaStore({ client: server.pool() });
  return { far: postgresQuotaStore({ client }), near, proxy };
}

async function heldBy(store: QuotaStore, partition: string): Promise<readonly Hold[]> {
  const holds = Array.from({ length: 5 }, (_, index) => holdIn(partition, BigInt(index + 1)));
  await Promise.all(holds.map((hold) => store.reserve(hold)));
  return holds;
}

function settleAll(store: QuotaStore, holds: readonly Hold[]): Promise<readonly SettleResult[]> {
  return Promise.all(holds.map((hold) => settle(store, hold, hold.lines)));
}

/** The fault occurs once, so the batch succeeds when it is sent again. */
async function settleOnce(fault: Fault, { far, near, proxy }: Line): Promise<void> {
  const partition = randomUUID();
  const holds = await heldBy(near, partition);
  proxy.set();
  await far.read('a', '', partition);
  proxy.set(fault);

  const results = await settleAll(far, holds);
  await proxy.quiet();

  const where = JSON.stringify(fault);
  for (const { status } of results) expect(status, where).toMatch(/^(?:settled|already)$/);
  const charged = holds.map(({ lines }) => lines.map(({ amount }) => amount));
  expect(await settleAll(near, holds), where).toEqual(
    charged.map((amounts) => ({ status: 'already', charged: amounts })),
  );
  const sums = { used: 15n, held: 0n, inFlight: 0 };
  expect(await near.read('a', '', partition), where).toMatchObject(sums);
}
