// suite: slow host
/** The usage table: records, and sums for bills. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { reconcile } from '../../../src/stores/sql/reconcile.ts';
import { type SqliteUsageSink, sqliteUsageSink } from '../../../src/stores/sqlite/index.ts';
import { usageRecord } from '../../../src/testing/index.ts';
import { everyCount } from '../every-count.ts';
import { kinds, scratch } from './handles.ts';

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 10, 20);
const maxNanos = 9_007_199_254_740_991n;

describe.each(kinds)('over $name', (kind) => {
  function opened(): SqliteUsageSink {
    const { db, cleanup } = scratch(kind);
    const sink = sqliteUsageSink({ client: db });
    onTestFinished(async () => {
      await sink.close();
      cleanup();
    });
    return sink;
  }

  it('a record is read back unchanged in every member', async () => {
    const sink = opened();
    const plain = usageRecord();
    const full = usageRecord({
      reservationId: 'reservation_0002',
      metadata: { team: 'ü\u0000', constructor: 'x' },
      channelId: undefined,
      upstreamModel: undefined,
      firstByteMs: undefined,
      usage: undefined,
      reason: 'reset',
      durationMs: 12.345,
      lines: [],
      price: {
        per: 'image',
        rows: [{ size: '1x1', nanos: maxNanos }, { quality: 'low', nanos: 0n }, { nanos: 1n }],
      },
      attempts: [
        { channelId: 'a', status: undefined, reason: 'reset', mayHaveRun: true, durationMs: 0.5 },
      ],
    });
    const free = usageRecord({ reservationId: 'reservation_0003', price: { per: 'free' } });
    const counted = usageRecord({ reservationId: 'reservation_0004', ...everyCount });

    for (const record of [plain, full, free, counted]) sink.record(record);

    expect((await sink.usageRecords({})).records).toEqual([plain, full, free, counted]);
    expect(
      await sink.usageReport({ by: 'key', fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }),
    ).toMatchObject([
      { reasoningTokens: 13, videoInputTokens: 18, costNanos: 3n, marginNanos: 5n },
    ]);
  });

  it('a report has the sums for a bill, exact also above 2^53', async () => {
    const sink = opened();
    const calls = [
      { keyId: 'ann', group: 'chat', modelId: 'm', startedAtMs: startMs, chargeNanos: maxNanos },
      {
        keyId: 'ann',
        group: 'chat',
        modelId: 'n',
        startedAtMs: startMs + 1,
        chargeNanos: maxNanos,
      },
      { keyId: 'bob', group: 'chat', modelId: 'n', startedAtMs: startMs + dayMs, chargeNanos: 1n },
      { keyId: 'bob', group: 'image', modelId: 'n', startedAtMs: startMs + 2 * dayMs },
    ];
    for (const [index, call] of calls.entries()) {
      sink.record(usageRecord({ ...call, reservationId: `reservation_000${index}` }));
    }
    const span = { fromMs: startMs, toMs: startMs + 2 * dayMs };

    const byKey = await sink.usageReport({ by: 'key', ...span });

    const tokens = {
      ...{ cachedInputTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, images: 0 },
      ...{ audioInputTokens: 0, imageInputTokens: 0, videoInputTokens: 0, reasoningTokens: 0 },
      ...{ audioOutputTokens: 0, imageOutputTokens: 0, costNanos: 0n, marginNanos: 0n },
    };
    expect(byKey).toEqual([
      {
        names: ['ann'],
        calls: 2,
        inputTokens: 6,
        outputTokens: 10,
        outputMs: 28,
        ...tokens,
        chargeNanos: 2n * maxNanos,
        unbookedNanos: 0n,
      },
      {
        ...{ names: ['bob'], calls: 1, inputTokens: 3, outputTokens: 5, outputMs: 14, ...tokens },
        ...{ chargeNanos: 1n, unbookedNanos: 0n },
      },
    ]);
    const names = async (by: 'group' | 'model' | 'day'): Promise<readonly string[]> =>
      (await sink.usageReport({ by, ...span })).flatMap((row) => row.names);
    expect(await names('group')).toEqual(['chat']);
    expect(await names('model')).toEqual(['m', 'n']);
    expect(await names('day')).toEqual(['2026-11-20', '2026-11-21']);
    expect(
      await sink.usageReport({ by: 'model', ...span, keyId: 'ann', modelId: 'n' }),
    ).toMatchObject([{ names: ['n'], calls: 1 }]);
    expect(await sink.usageReport({ by: 'key', ...span, group: 'nobody' })).toEqual([]);
  });

  it('an unknown call takes the outcome it is resolved to and keeps it', async () => {
    const sink = opened();
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

    sink.record(resolved);
    expect((await sink.usageRecords({})).records).toEqual([resolved]);
    sink.record(unknown);
    sink.record({ ...resolved, outcome: 'not_run', chargeNanos: 0n });

    expect((await sink.usageRecords({})).records).toEqual([resolved]);
    const span = { fromMs: 0, toMs: 4_102_444_800_000 };
    expect(await sink.usageReport({ by: 'key', ...span })).toMatchObject([
      { calls: 1, chargeNanos: 9n },
    ]);
  });

  it('a call in doubt is on disk when record resolves', async () => {
    const { db, cleanup } = scratch(kind);
    onTestFinished(cleanup);
    const sink = sqliteUsageSink({ client: db, flushMs: 3_600_000 });

    sink.record(usageRecord({ requestId: 'req_plain' }));
    const rows = (): unknown => db.prepare('SELECT count(*) AS rows FROM tollgate_usage').all();
    expect(rows()).toEqual([expect.objectContaining({ rows: 0 })]);
    await sink.record(usageRecord({ requestId: 'req_doubt', outcome: 'unknown', booked: false }));

    expect(rows()).toEqual([expect.objectContaining({ rows: 2 })]);
  });

  it('charges are summed by subject and period, booked ones separately', async () => {
    const sink = opened();
    const lines = [
      { subject: 'ann', period: '2026-11', heldNanos: 100n },
      { subject: 'counter', period: '', heldNanos: 0n },
      { subject: 'team', period: '', heldNanos: 100n },
    ];
    sink.record(usageRecord({ lines, chargeNanos: 8n }));
    sink.record(usageRecord({ requestId: 'req_2', lines, chargeNanos: 3n, booked: false }));

    const sums = { partition: 'default', bookedNanos: 8n, unbookedNanos: 3n };
    expect(await sink.usageCharges()).toEqual([
      { ...sums, subject: 'ann', period: '2026-11' },
      { ...sums, subject: 'team', period: '' },
    ]);
    expect(await sink.usageCharges({ subject: 'team', period: '' })).toHaveLength(1);
    expect(await sink.usageCharges({ partition: 'other' })).toEqual([]);
    // The charge was accepted after all: counted once, and now booked.
    sink.record(usageRecord({ requestId: 'req_2', lines, chargeNanos: 3n, revision: 2 }));
    expect(await sink.usageCharges({ subject: 'ann' })).toEqual([
      { ...sums, subject: 'ann', period: '2026-11', bookedNanos: 11n, unbookedNanos: 0n },
    ]);
    const quota = { read: () => undefined };
    expect(await reconcile({ quota, usage: sink }, { subject: 'bob', period: '' })).toEqual([]);
    expect(await reconcile({ quota, usage: sink }, { subject: 'ann', period: '2026-11' })).toEqual([
      expect.objectContaining({ usedNanos: 0n, bookedNanos: 11n, unloggedNanos: -11n }),
    ]);
  });

  it('a call is identified by its request and reservation, also within a batch', async () => {
    const sink = opened();
    const known = usageRecord({ chargeNanos: 1n });
    const ofAnotherHold = usageRecord({ reservationId: 'reservation_0002', outcome: 'unknown' });
    const ofAnotherRequest = usageRecord({ requestId: 'req_2', chargeNanos: 3n });
    const ended = { outcome: 'complete', chargeNanos: 2n, revision: 2 } as const;
    const resolved = { ...ofAnotherHold, ...ended };

    for (const record of [known, ofAnotherHold, ofAnotherRequest, resolved, resolved]) {
      sink.record(record);
    }
    sink.record({ ...known, outcome: 'unknown', chargeNanos: 0n });

    expect((await sink.usageRecords({})).records).toEqual([known, resolved, ofAnotherRequest]);
  });

  it('pages follow one another without a gap or a repeat', async () => {
    const sink = opened();
    const ids = Array.from({ length: 25 }, (_, index) => `req_${index}`);
    for (const [index, requestId] of ids.entries()) {
      // Five per millisecond, so that a page ends between records of the same time.
      sink.record(usageRecord({ requestId, startedAtMs: startMs + Math.floor(index / 5) }));
    }

    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await sink.usageRecords(
        {},
        { limit: 7, ...(after === undefined ? {} : { after }) },
      );
      seen.push(...page.records.map(({ requestId }) => requestId));
      after = page.next;
    } while (after !== undefined);

    expect(seen).toEqual(ids);
    expect((await sink.usageRecords({ fromMs: startMs + 4 })).records).toHaveLength(5);
    expect((await sink.usageRecords({ toMs: startMs + 1 })).records).toHaveLength(5);
  });

  it('the calls of one request id are found, page by page, within the other filters', async () => {
    const sink = opened();
    // A caller may choose the id, so that another key's calls may have the same.
    const calls = [
      { requestId: 'req_1', reservationId: 'reservation_0001', keyId: 'ann', startedAtMs: startMs },
      { requestId: 'req_2', reservationId: 'reservation_0002', keyId: 'ann', startedAtMs: startMs },
      { requestId: 'req_1', reservationId: 'reservation_0003', keyId: 'bob', startedAtMs: startMs },
      { requestId: 'req_1', reservationId: 'reservation_0004', startedAtMs: startMs + 1 },
    ].map(usageRecord);
    const [first, , ofBob, later] = calls;
    for (const record of calls) sink.record(record);

    const all = await sink.usageRecords({ requestId: 'req_1' });
    const start = await sink.usageRecords({ requestId: 'req_1' }, { limit: 2 });

    expect(all.records).toEqual([first, ofBob, later]);
    expect(start.records).toEqual([first, ofBob]);
    expect(
      (await sink.usageRecords({ requestId: 'req_1' }, { after: start.next ?? 'none' })).records,
    ).toEqual([later]);
    expect((await sink.usageRecords({ requestId: 'req_1', keyId: 'bob' })).records).toEqual([
      ofBob,
    ]);
    expect((await sink.usageRecords({ requestId: 'req_1', fromMs: startMs + 1 })).records).toEqual([
      later,
    ]);
    expect((await sink.usageRecords({ requestId: "' OR 1=1 --" })).records).toEqual([]);
    await expect(sink.usageRecords({ requestId: JSON.parse('5') })).rejects.toThrow(RangeError);
  });

  it('record throws for an invalid record, which does not affect its batch', async () => {
    const sink = opened();
    const { keyId: _keyId, ...nameless } = usageRecord();
    const broken: ReturnType<typeof usageRecord> = { ...JSON.parse('{}'), ...nameless };
    sink.record(usageRecord());

    expect(() => sink.record(broken)).toThrow(RangeError);
    expect(() => sink.record(usageRecord({ durationMs: Number.NaN }))).toThrow(RangeError);
    expect(() => sink.record(usageRecord({ chargeNanos: -1n }))).toThrow(RangeError);

    expect((await sink.usageRecords({})).records).toEqual([usageRecord()]);
  });

  it('invalid queries are refused', async () => {
    const sink = opened();
    const by: 'key' = JSON.parse('"spend"');

    await expect(sink.usageReport({ by, fromMs: 0, toMs: 1 })).rejects.toThrow(RangeError);
    await expect(sink.usageReport({ by: 'key', fromMs: 0.5, toMs: 1 })).rejects.toThrow(RangeError);
    await expect(sink.usageRecords({}, { limit: 1_001 })).rejects.toThrow(RangeError);
    await expect(sink.usageRecords({}, { after: "1:1' OR 1=1" })).rejects.toThrow(RangeError);
  });
});
