/** What every usage log in a database must do with reports and old records, over random records. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CallOutcome, UsageRecord, UsageSink } from '../../src/ports/usage-sink.ts';
import type {
  UsageGrouping,
  UsageQueries,
  UsageReportQuery,
  UsageRetention,
} from '../../src/stores/sql/usage-report.ts';
import { usageRecord } from '../../src/testing/index.ts';

/** A sink over an empty table. */
export type OpenUsageLog = () => UsageSink & UsageQueries & UsageRetention;

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 10, 20, 22);
const outcomes: readonly CallOutcome[] = ['complete', 'failed', 'caller_left'];
/** Names that a path in JSON or a statement would read in another way. */
const metadataNames = ['team', 'a.b', '$', 'a"b', "a'b", 'größe', '[0]', '*', 'a\\b', '__proto__'];
const groupings: readonly UsageGrouping[] = [
  ...(['key', 'group', 'model', 'channel', 'day', 'outcome'] as const),
  ...metadataNames.map((name) => `metadata.${name}` as const),
];

/** Adds the tests to the suite. */
export function usageCases(open: OpenUsageLog): void {
  const opened = (): ReturnType<OpenUsageLog> => {
    const log = open();
    onTestFinished(() => log.close());
    return log;
  };

  describe('reports', () => {
    const pairs = groupings.flatMap((first) => [
      [first],
      ...groupings.filter((second) => second !== first).map((second) => [first, second]),
    ]);

    it('by every grouping, and any two, are the sums of their records', async () => {
      const log = opened();
      const records = randomRecords(120);
      for (const record of records) await log.record(record);
      const span = { fromMs: startMs, toMs: startMs + 3 * dayMs };

      for (const [first = 'key', second] of pairs) {
        const by = second === undefined ? first : ([first, second] as const);
        const rows = await log.usageReport({ by, ...span });

        expect(
          sorted(rows.map(({ names, calls, chargeNanos }) => [...names, calls, chargeNanos])),
          String(by),
        ).toEqual(sorted(sumsOf(records, [first, second])));
      }
    });

    it('are narrowed by each member of the filter', async () => {
      const log = opened();
      const records = randomRecords(60);
      for (const record of records) await log.record(record);
      const filters = [
        ...[{ keyId: 'k1' }, { group: 'g0' }, { modelId: 'm1' }, { channelId: 'c1' }],
        ...[{ outcome: 'failed' }, { channelId: 'c0', outcome: 'complete', keyId: 'k0' }],
      ] as const;

      for (const filter of filters) {
        const matching = records.filter((record) =>
          Object.entries(filter).every(([name, value]) => Reflect.get(record, name) === value),
        );
        const query = { by: 'day', fromMs: 0, toMs: startMs + 9 * dayMs, ...filter } as const;
        const rows = await log.usageReport(query);
        const page = await log.usageRecords(filter, { limit: 1_000 });

        expect(rows.reduce((sum, { calls }) => sum + calls, 0)).toBe(matching.length);
        expect(page.records.map(({ requestId }) => requestId).sort()).toEqual(
          matching.map(({ requestId }) => requestId).sort(),
        );
        expect(matching.length).toBeGreaterThan(0);
      }
    });

    it.each([
      ...[[], ['key', 'key'], ['key', 'group', 'model'], 'metadata', 'spend', 5, null],
      ...[['key', "day' OR 1=1"], [undefined]],
    ])('by %j are refused', async (by) => {
      const log = opened();
      const query: UsageReportQuery = JSON.parse(JSON.stringify({ by, fromMs: 0, toMs: 1 }));

      await expect((async () => log.usageReport(query))()).rejects.toThrow(RangeError);
    });
  });

  describe('old records', () => {
    it('are deleted in batches, the oldest first, but for calls in doubt', async () => {
      const log = opened();
      const records = randomRecords(50);
      const doubt = usageRecord({
        ...{ requestId: 'doubt', outcome: 'unknown', booked: false, startedAtMs: startMs },
      });
      for (const record of [...records, doubt]) await log.record(record);
      const beforeMs = startMs + dayMs;
      const old = records.filter(({ startedAtMs }) => startedAtMs < beforeMs);
      await log.usageRecords({});

      const counts: number[] = [];
      for (let deleted = -1; deleted !== 0; counts.push(deleted)) {
        deleted = await log.deleteBefore(beforeMs, { limit: 7 });
        const { records: left } = await log.usageRecords({}, { limit: 1_000 });
        const oldest = left.filter(({ requestId }) => requestId !== 'doubt')[0]?.startedAtMs ?? 0;
        const gone = old.filter(
          ({ requestId }) => !left.some((one) => one.requestId === requestId),
        );
        expect(Math.max(...gone.map(({ startedAtMs }) => startedAtMs))).toBeLessThanOrEqual(oldest);
      }

      expect(old.length).toBeGreaterThan(7);
      expect(counts.reduce((sum, count) => sum + count)).toBe(old.length);
      expect(Math.max(...counts)).toBe(7);
      const { records: left } = await log.usageRecords({}, { limit: 1_000 });
      expect(left).toHaveLength(records.length - old.length + 1);
      expect(left).toContainEqual(doubt);
    });

    it('a call in doubt goes once it is resolved', async () => {
      const log = opened();
      const doubt = usageRecord({ outcome: 'unknown', booked: false, chargeNanos: 0n });
      await log.record(doubt);
      expect(await log.deleteBefore(Number.MAX_SAFE_INTEGER)).toBe(0);

      await log.record({ ...doubt, outcome: 'not_run', booked: true, revision: 2 });
      await log.usageRecords({});

      expect(await log.deleteBefore(Number.MAX_SAFE_INTEGER)).toBe(1);
    });

    it.each([
      [Number.NaN, 1],
      [1.5, 1],
      [1, 0],
      [1, 10_001],
      [1, 0.5],
    ])('before %d in batches of %d are refused', async (beforeMs, limit) => {
      const log = opened();

      await expect((async () => log.deleteBefore(beforeMs, { limit }))()).rejects.toThrow(
        RangeError,
      );
    });
  });
}

/** Records over four days; some without a channel or metadata. */
function randomRecords(count: number): readonly UsageRecord[] {
  return Array.from({ length: count }, (_, index) => {
    const pick = (modulus: number): number => ((index * 7_919 + 104_729) >> 3) % modulus;
    const channel = pick(3);
    return usageRecord({
      requestId: `req_${index}`,
      keyId: `k${pick(4)}`,
      group: `g${pick(2)}`,
      modelId: `m${pick(3)}`,
      channelId: channel === 2 ? undefined : `c${channel}`,
      outcome: outcomes[pick(outcomes.length)] ?? 'complete',
      metadata: pick(5) === 0 ? undefined : labels(index),
      startedAtMs: startMs + (index % 24) * 4 * 3_600_000 + index,
      chargeNanos: BigInt(pick(1_000)),
    });
  });
}

function labels(index: number): Readonly<Record<string, string>> {
  const used = metadataNames.filter((_, at) => (index >> (at % 5)) % 2 === 0);
  return Object.fromEntries(used.map((name, at) => [name, `v${(index + at) % 3}`]));
}

type Sum = readonly (string | number | bigint)[];

function sumsOf(
  records: readonly UsageRecord[],
  by: readonly (UsageGrouping | undefined)[],
): readonly Sum[] {
  const sums = new Map<
    string,
    { readonly names: readonly string[]; calls: number; nanos: bigint }
  >();
  for (const record of records) {
    if (record.startedAtMs >= startMs + 3 * dayMs) continue;
    const names = by.flatMap((one) => (one === undefined ? [] : [nameOf(record, one)]));
    const key = JSON.stringify(names);
    const sum = sums.get(key) ?? { names, calls: 0, nanos: 0n };
    sums.set(key, { ...sum, calls: sum.calls + 1, nanos: sum.nanos + record.chargeNanos });
  }
  return [...sums.values()].map(({ names, calls, nanos }) => [...names, calls, nanos]);
}

function nameOf(record: UsageRecord, grouping: UsageGrouping): string {
  switch (grouping) {
    case 'key':
      return record.keyId;
    case 'group':
      return record.group;
    case 'model':
      return record.modelId;
    case 'channel':
      return record.channelId ?? '';
    case 'outcome':
      return record.outcome;
    case 'day':
      return new Date(record.startedAtMs).toISOString().slice(0, 10);
    default: {
      const name = grouping.slice('metadata.'.length);
      const { metadata = {} } = record;
      return Object.hasOwn(metadata, name) ? (metadata[name] ?? '') : '';
    }
  }
}

/** Databases sort text in orders of their own. */
function sorted(sums: readonly Sum[]): readonly string[] {
  return sums.map((sum) => sum.join(' | ')).sort();
}
