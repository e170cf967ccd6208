/** The usage table as what it is for: bills, and the records behind them. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { type SqliteUsageSink, sqliteUsageSink } from '../../../src/stores/sqlite/index.ts';
import { usageRecord } from '../../../src/testing/index.ts';
import { kinds, scratch } from './handles.ts';

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 10, 20);
const most = 9_007_199_254_740_991n;

describe.each(kinds)('over $name', (kind) => {
  function opened(): SqliteUsageSink {
    const { db, cleanup } = scratch(kind);
    const sink = sqliteUsageSink({ db });
    onTestFinished(async () => {
      await sink.close();
      cleanup();
    });
    return sink;
  }

  it('a record comes back as it was, in every member', () => {
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
        rows: [{ size: '1x1', nanos: most }, { quality: 'low', nanos: 0n }, { nanos: 1n }],
      },
      attempts: [
        { channelId: 'a', status: undefined, reason: 'x', mayHaveRun: true, durationMs: 0.5 },
      ],
    });
    const free = usageRecord({ reservationId: 'reservation_0003', price: { per: 'nothing' } });

    for (const record of [plain, full, free]) sink.record(record);

    expect(sink.usageRecords({}).records).toEqual([plain, full, free]);
  });

  it('a report sums what a bill needs, to the last nano and past 2^53', () => {
    const sink = opened();
    const calls = [
      { keyId: 'ann', group: 'chat', modelId: 'm', startedAtMs: startMs, chargeNanos: most },
      { keyId: 'ann', group: 'chat', modelId: 'n', startedAtMs: startMs + 1, chargeNanos: most },
      { keyId: 'bob', group: 'chat', modelId: 'n', startedAtMs: startMs + dayMs, chargeNanos: 1n },
      { keyId: 'bob', group: 'image', modelId: 'n', startedAtMs: startMs + 2 * dayMs },
    ];
    for (const [index, call] of calls.entries()) {
      sink.record(usageRecord({ ...call, reservationId: `reservation_000${index}` }));
    }
    const span = { fromMs: startMs, toMs: startMs + 2 * dayMs };

    const byKey = sink.usageReport({ by: 'key', ...span });

    const tokens = { cachedInputTokens: 0, images: 0 };
    expect(byKey).toEqual([
      {
        name: 'ann',
        calls: 2,
        inputTokens: 6,
        outputTokens: 10,
        ...tokens,
        chargeNanos: 2n * most,
      },
      { name: 'bob', calls: 1, inputTokens: 3, outputTokens: 5, ...tokens, chargeNanos: 1n },
    ]);
    const names = (by: 'group' | 'model' | 'day'): readonly string[] =>
      sink.usageReport({ by, ...span }).map(({ name }) => name);
    expect(names('group')).toEqual(['chat']);
    expect(names('model')).toEqual(['m', 'n']);
    expect(names('day')).toEqual(['2026-11-20', '2026-11-21']);
    expect(sink.usageReport({ by: 'model', ...span, keyId: 'ann', modelId: 'n' })).toMatchObject([
      { name: 'n', calls: 1 },
    ]);
    expect(sink.usageReport({ by: 'key', ...span, group: 'nobody' })).toEqual([]);
  });

  it('a call that was unknown becomes what it was resolved to, and that stays', () => {
    const sink = opened();
    const unknown = usageRecord({ outcome: 'unknown', basis: 'policy', chargeNanos: 0n });
    const resolved = {
      ...unknown,
      outcome: 'complete',
      reason: 'resolved',
      chargeNanos: 9n,
    } as const;
    sink.record(unknown);
    expect(sink.usageRecords({}).records).toEqual([unknown]);

    sink.record(resolved);
    expect(sink.usageRecords({}).records).toEqual([resolved]);
    sink.record(unknown);
    sink.record({ ...resolved, outcome: 'not_run', chargeNanos: 0n });

    expect(sink.usageRecords({}).records).toEqual([resolved]);
    const span = { fromMs: 0, toMs: 4_102_444_800_000 };
    expect(sink.usageReport({ by: 'key', ...span })).toMatchObject([{ calls: 1, chargeNanos: 9n }]);
  });

  it('a call is known by its request and its reservation together, also within a batch', () => {
    const sink = opened();
    const known = usageRecord({ chargeNanos: 1n });
    const ofAnotherHold = usageRecord({ reservationId: 'reservation_0002', outcome: 'unknown' });
    const ofAnotherRequest = usageRecord({ requestId: 'req_2', chargeNanos: 3n });
    const resolved = { ...ofAnotherHold, outcome: 'complete', chargeNanos: 2n } as const;

    for (const record of [known, ofAnotherHold, ofAnotherRequest, resolved, resolved]) {
      sink.record(record);
    }
    sink.record({ ...known, outcome: 'unknown', chargeNanos: 0n });

    expect(sink.usageRecords({}).records).toEqual([known, resolved, ofAnotherRequest]);
  });

  it('pages follow one another without a gap or a repeat', () => {
    const sink = opened();
    const ids = Array.from({ length: 25 }, (_, index) => `req_${index}`);
    for (const [index, requestId] of ids.entries()) {
      // Five to a moment, so that a page ends inside one.
      sink.record(usageRecord({ requestId, startedAtMs: startMs + Math.floor(index / 5) }));
    }

    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = sink.usageRecords({}, { limit: 7, ...(after === undefined ? {} : { after }) });
      seen.push(...page.records.map(({ requestId }) => requestId));
      after = page.next;
    } while (after !== undefined);

    expect(seen).toEqual(ids);
    expect(sink.usageRecords({ fromMs: startMs + 4 }).records).toHaveLength(5);
    expect(sink.usageRecords({ toMs: startMs + 1 }).records).toHaveLength(5);
  });

  it('a record that is none is refused to whoever recorded it, and spoils no batch', () => {
    const sink = opened();
    const { keyId: _keyId, ...nameless } = usageRecord();
    const broken: ReturnType<typeof usageRecord> = { ...JSON.parse('{}'), ...nameless };
    sink.record(usageRecord());

    expect(() => sink.record(broken)).toThrow(RangeError);
    expect(() => sink.record(usageRecord({ durationMs: Number.NaN }))).toThrow(RangeError);
    expect(() => sink.record(usageRecord({ chargeNanos: -1n }))).toThrow(RangeError);

    expect(sink.usageRecords({}).records).toEqual([usageRecord()]);
  });

  it('what can’t be asked is refused', () => {
    const sink = opened();
    const by: 'key' = JSON.parse('"spend"');

    expect(() => sink.usageReport({ by, fromMs: 0, toMs: 1 })).toThrow(RangeError);
    expect(() => sink.usageReport({ by: 'key', fromMs: 0.5, toMs: 1 })).toThrow(RangeError);
    expect(() => sink.usageRecords({}, { limit: 1_001 })).toThrow(RangeError);
    expect(() => sink.usageRecords({}, { after: "1:1' OR 1=1" })).toThrow(RangeError);
  });
});
