// suite: services
/** The usage log in PostgreSQL: no unreported loss, each call once, and sums for bills. */
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { UsageRecord } from '../../../src/ports/usage-sink.ts';
import type { PostgresClient } from '../../../src/stores/postgres/client.ts';
import { postgresUsageSink } from '../../../src/stores/postgres/stores.ts';
import { usageRecord } from '../../../src/testing/contracts/usage-sink.ts';
import { fakeClock } from '../../../src/testing/fake-clock.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../../services/postgres.ts';
import { everyCount } from '../every-count.ts';
import { migrated } from './schema.ts';

const dayMs = 86_400_000;
const november = Date.UTC(2026, 10, 1);

describe.skipIf(!hasPostgres())('postgresUsageSink', () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = await migrated(server.pool());
  });
  beforeEach(() => pool.query('TRUNCATE tollgate.usage'));
  afterAll(() => server.stop());

  /** A client that fails while `isDown`, and counts its queries. */
  const gated = (): PostgresClient & { isDown: boolean; queries: number } => {
    const client = {
      isDown: false,
      queries: 0,
      query: async (text: string, values?: unknown[]) => {
        client.queries += 1;
        if (client.isDown) throw Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
        return pool.query(text, values);
      },
    };
    return client;
  };

  it('a record is read back unchanged in every member', async () => {
    const sink = postgresUsageSink({ client: pool });
    const records = [
      usageRecord({ requestId: 'whole', metadata: { team: 'a' }, durationMs: 1.5 }),
      usageRecord({ requestId: 'counted', ...everyCount }),
      usageRecord({
        requestId: 'bare',
        channelId: undefined,
        upstreamModel: undefined,
        attempts: [],
        firstByteMs: undefined,
        outcome: 'broken',
        reason: 'upstream_error',
        usage: undefined,
        price: { per: 'image', rows: [{ size: '1x1', nanos: 40_000_000n }] },
      }),
    ];
    for (const record of records) sink.record(record);

    const page = await sink.usageRecords({});

    expect(page).toEqual({ records, next: undefined });
    await sink.close();
  });

  it('writes buffered records in one statement at each interval', async () => {
    const clock = fakeClock();
    const client = gated();
    const sink = postgresUsageSink({ client, clock, flushMs: 100 });
    for (let index = 0; index < 300; index += 1) sink.record(numbered(index));

    clock.advance(100);

    await vi.waitFor(async () => expect(await countOf(pool)).toBe(300));
    expect(client.queries).toBe(1);
    await sink.close();
  });

  it('keeps and reports what could not be written, and refuses more when full', async () => {
    const clock = fakeClock();
    const client = gated();
    const failures: unknown[] = [];
    const onError = (error: unknown): number => failures.push(error);
    const sink = postgresUsageSink({
      client,
      clock,
      flushMs: 100,
      maxBufferedRecords: 2,
      onError,
    });
    client.isDown = true;
    sink.record(numbered(1));
    sink.record(numbered(2));

    clock.advance(100);

    await vi.waitFor(() => expect(failures).toHaveLength(1));
    expect(() => sink.record(numbered(3))).toThrow(/full/);
    client.isDown = false;
    await sink.close();
    expect(await countOf(pool)).toBe(2);
    expect(() => sink.record(numbered(4))).toThrow(/closed/);
  });

  it('a record that the database refuses is reported as lost and blocks no others', async () => {
    const lost: UsageRecord[] = [];
    const onLost = (record: UsageRecord): number => lost.push(record);
    const sink = postgresUsageSink({ client: pool, onLost });
    const bad = usageRecord({ requestId: 'bad', status: 2 ** 40 });
    for (let index = 0; index < 9; index += 1) sink.record(index === 4 ? bad : numbered(index));

    await sink.close();

    expect(lost).toEqual([bad]);
    expect(await countOf(pool)).toBe(8);
  });

  it('record throws for an invalid record', async () => {
    const sink = postgresUsageSink({ client: pool });

    expect(() => sink.record(usageRecord({ durationMs: Number.NaN }))).toThrow(RangeError);

    await sink.close();
    expect(await countOf(pool)).toBe(0);
  });

  it('records left when it is closed while the database is down are reported as lost', async () => {
    const down: PostgresClient = {
      query: () => Promise.reject(Object.assign(new Error('down'), { code: 'ECONNREFUSED' })),
    };
    const lost: UsageRecord[] = [];
    const reporting = postgresUsageSink({ client: down, onLost: (record) => lost.push(record) });
    const withoutListener = postgresUsageSink({ client: down });
    reporting.record(numbered(1));
    withoutListener.record(numbered(2));

    await reporting.close();

    expect(lost).toHaveLength(1);
    await expect(withoutListener.close()).rejects.toMatchObject({ name: 'StoreUnavailable' });
  });

  it('records not written 8 s after close began are reported as lost', async () => {
    const clock = fakeClock();
    const silent: PostgresClient = { query: () => new Promise(() => {}) };
    const lost: UsageRecord[] = [];
    const onLost = (record: UsageRecord): number => lost.push(record);
    const reporting = postgresUsageSink({ client: silent, clock, onLost });
    const withoutListener = postgresUsageSink({ client: silent, clock });
    const records = Array.from({ length: 501 }, (_, index) => numbered(index));
    for (const record of records) reporting.record(record);
    withoutListener.record(numbered(1));
    let isOver = false;
    const closing = reporting.close().finally(() => {
      isOver = true;
    });
    const rejected = expect(withoutListener.close()).rejects.toMatchObject({ outcome: 'unknown' });

    clock.advance(7_999);
    await new Promise(setImmediate);
    expect(isOver).toBe(false);
    clock.advance(1);

    await closing;
    await rejected;
    expect(lost).toEqual(records);
  });

  it('a record added at the moment a write ends is written by close', async () => {
    // Tries several numbers of microtask turns, one of which is that moment.
    for (let turns = 0; turns < 40; turns += 1) {
      const written: unknown[] = [];
      const client: PostgresClient = {
        query: async (_text, values) => {
          written.push(...JSON.parse(String(values?.[0])));
          return { rows: [] };
        },
      };
      const clock = fakeClock();
      const sink = postgresUsageSink({ client, clock, flushMs: 1 });
      sink.record(numbered(1));
      clock.advance(1);
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      sink.record(numbered(2));

      await sink.close();

      expect(written, `after ${turns} turns`).toMatchObject(
        [1, 2].map((index) => ({ request_id: `req_${index}` })),
      );
    }
  });

  it.each([
    ['throws', () => JSON.parse('')],
    ['rejects', () => Promise.reject(new Error('a mistake of the host'))],
  ])('a listener that %s neither ends nor blocks writing', async (_how, fail) => {
    const clock = fakeClock();
    const client = gated();
    const reports: string[] = [];
    const sink = postgresUsageSink({
      client,
      clock,
      flushMs: 100,
      onError: () => {
        reports.push('error');
        return fail();
      },
      onLost: ({ requestId }) => {
        reports.push(requestId);
        return fail();
      },
    });
    client.isDown = true;
    sink.record(usageRecord({ requestId: 'bad', status: 2 ** 40 }));
    sink.record(numbered(1));
    clock.advance(100);
    await vi.waitFor(() => expect(reports).toEqual(['error']));
    client.isDown = false;

    clock.advance(100);

    await vi.waitFor(async () => expect(await countOf(pool)).toBe(1));
    expect(reports).toEqual(['error', 'bad']);
    client.isDown = true;
    sink.record(numbered(2));
    sink.record(numbered(3));
    await sink.close();
    expect(reports).toEqual(['error', 'bad', 'req_2', 'req_3']);
  });

  it('a batch whose reply was lost is written again and counts once', async () => {
    let isLosing = true;
    const client: PostgresClient = {
      query: async (text, values) => {
        const result = await pool.query(text, values);
        if (isLosing) throw Object.assign(new Error('gone'), { code: 'ECONNRESET' });
        return result;
      },
    };
    const sink = postgresUsageSink({ client });
    sink.record(numbered(1));
    await expect(sink.usageRecords({})).rejects.toMatchObject({ outcome: 'unknown' });
    isLosing = false;

    await sink.close();

    expect(await countOf(pool)).toBe(1);
  });

  it('an unknown call takes the outcome it is resolved to and keeps it', async () => {
    const sink = postgresUsageSink({ client: pool });
    const doubt = { outcome: 'unknown', basis: 'policy', chargeNanos: 0n, booked: false } as const;
    const unknown = usageRecord(doubt);
    const resolved = {
      ...unknown,
      booked: true,
      revision: 2,
      outcome: 'complete',
      reason: 'resolved',
      chargeNanos: 9n,
    } as const;
    sink.record(unknown);
    expect((await sink.usageRecords({})).records).toEqual([unknown]);

    sink.record(unknown);
    sink.record(resolved);
    expect((await sink.usageRecords({})).records).toEqual([resolved]);
    sink.record(unknown);

    expect((await sink.usageRecords({})).records).toEqual([resolved]);
    await sink.close();
  });

  it('a call in doubt is written when record resolves, or record rejects', async () => {
    const sink = postgresUsageSink({ client: pool, flushMs: 3_600_000 });

    await sink.record(usageRecord({ outcome: 'unknown', booked: false }));

    expect(await countOf(pool)).toBe(1);
    await sink.close();
    const broken = postgresUsageSink({
      client: { query: () => Promise.reject(new Error('gone')) },
      onLost: () => {},
    });
    await expect(
      broken.record(usageRecord({ outcome: 'unknown', booked: false })),
    ).rejects.toMatchObject({ name: 'StoreUnavailable' });
    await broken.close();
  });

  it('a known outcome is kept within one batch too', async () => {
    const sink = postgresUsageSink({ client: pool });
    const known = usageRecord({ outcome: 'complete', revision: 2 });

    sink.record(known);
    sink.record(usageRecord({ outcome: 'unknown', basis: 'policy', chargeNanos: 0n }));

    expect((await sink.usageRecords({})).records).toEqual([known]);
    await sink.close();
  });

  it('sums by key, group, model and UTC day, within the given time and filter', async () => {
    const sink = postgresUsageSink({ client: pool });
    const usage = { inputTokens: 10, cachedInputTokens: 4, outputTokens: 5, images: 1 };
    const rows: readonly (readonly [string, string, number, bigint])[] = [
      ['alice', 'gpt-5', november, 9_007_199_254_740_991n],
      ['alice', 'gpt-5', november + dayMs - 1, 9_007_199_254_740_991n],
      ['alice', 'draw', november + dayMs, 3n],
      ['bob', 'gpt-5', november + dayMs, 4n],
      ['bob', 'gpt-5', november + 30 * dayMs, 5n],
    ];
    for (const [index, [keyId, modelId, startedAtMs, chargeNanos]] of rows.entries()) {
      const group = keyId === 'bob' ? 'trial' : 'staff';
      const requestId = `req_${index}`;
      sink.record(
        usageRecord({ requestId, keyId, group, modelId, startedAtMs, chargeNanos, usage }),
      );
    }
    const span = { fromMs: november, toMs: november + 30 * dayMs };
    const charges = async (
      query: Parameters<typeof sink.usageReport>[0],
    ): Promise<readonly unknown[]> =>
      (await sink.usageReport(query)).map(({ names, chargeNanos }) => [...names, chargeNanos]);

    expect(await sink.usageReport({ by: 'key', ...span })).toEqual([
      {
        names: ['alice'],
        calls: 3,
        inputTokens: 30,
        cachedInputTokens: 12,
        outputTokens: 15,
        outputMs: 42,
        images: 3,
        ...{ cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, reasoningTokens: 0 },
        ...{ audioInputTokens: 0, imageInputTokens: 0, videoInputTokens: 0 },
        ...{ audioOutputTokens: 0, imageOutputTokens: 0, costNanos: 0n, marginNanos: 0n },
        chargeNanos: 18_014_398_509_481_985n,
        unbookedNanos: 0n,
      },
      {
        names: ['bob'],
        calls: 1,
        inputTokens: 10,
        cachedInputTokens: 4,
        outputTokens: 5,
        outputMs: 14,
        images: 1,
        ...{ cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, reasoningTokens: 0 },
        ...{ audioInputTokens: 0, imageInputTokens: 0, videoInputTokens: 0 },
        ...{ audioOutputTokens: 0, imageOutputTokens: 0, costNanos: 0n, marginNanos: 0n },
        chargeNanos: 4n,
        unbookedNanos: 0n,
      },
    ]);
    expect(await charges({ by: 'group', ...span, keyId: 'bob' })).toEqual([['trial', 4n]]);
    expect(await charges({ by: 'model', ...span, group: 'staff' })).toEqual([
      ['draw', 3n],
      ['gpt-5', 18_014_398_509_481_982n],
    ]);
    expect(await charges({ by: 'day', ...span, modelId: 'gpt-5' })).toEqual([
      ['2026-11-01', 18_014_398_509_481_982n],
      ['2026-11-02', 4n],
    ]);
    expect(await charges({ by: 'key', fromMs: 0, toMs: 1 })).toEqual([]);
    await sink.close();
  });

  it('records are read page by page, each once', async () => {
    const sink = postgresUsageSink({ client: pool });
    for (let index = 0; index < 25; index += 1) sink.record(numbered(index));
    const seen: string[] = [];
    let after: string | undefined;

    do {
      const page = await sink.usageRecords(
        { keyId: 'key_alice' },
        { limit: 10, ...(after === undefined ? {} : { after }) },
      );
      seen.push(...page.records.map(({ requestId }) => requestId));
      after = page.next;
    } while (after !== undefined);

    expect(seen).toEqual(Array.from({ length: 25 }, (_, index) => `req_${index}`));
    await expect(sink.usageRecords({}, { limit: 0 })).rejects.toThrow(RangeError);
    await expect(sink.usageReport(JSON.parse('{"by":"secret"}'))).rejects.toThrow(RangeError);
    await sink.close();
  });
});

function numbered(index: number): UsageRecord {
  return usageRecord({ requestId: `req_${index}` });
}

async function countOf(pool: pg.Pool): Promise<number> {
  return (await pool.query('SELECT FROM tollgate.usage')).rows.length;
}
