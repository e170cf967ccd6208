/** What every usage log in a database must do with reports and old records, over random records. */
import { describe, expect, it, onTestFinished } from 'vitest';
import type { CallOutcome, UsageRecord, UsageSink } from '../../src/ports/usage-sink.ts';
import { firstByteBoundsMs } from '../../src/stores/sql/usage/first-bytes.ts';
import {
  columnGroupings,
  type UsageGrouping,
  type UsageQueries,
  type UsageReportQuery,
  type UsageRetention,
} from '../../src/stores/sql/usage/report.ts';
import { usageRecord } from '../../src/testing/index.ts';
import { usageIdCases } from './id-cases.ts';

/** An empty log that keeps at least 1,000 records. */
export type OpenUsageLog = () => UsageSink & UsageQueries;
/** A sink over an empty table. */
export type OpenUsageTable = () => UsageSink & UsageQueries & UsageRetention;

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 10, 20, 22);
const outcomes: readonly CallOutcome[] = ['complete', 'broken', 'caller_left'];
/** Names that a path in JSON or a statement would read in another way. */
const metadataNames = ['team', 'a.b', '$', 'a"b', "a'b", 'größe', '[0]', '*', 'a\\b', '__proto__'];
const groupings: readonly UsageGrouping[] = [
  ...columnGroupings,
  ...metadataNames.map((name) => `metadata.${name}` as const),
];

function opening<Log extends UsageSink>(open: () => Log): () => Log {
  return () => {
    const log = open();
    onTestFinished(() => log.close());
    return log;
  };
}

/** Adds the tests of queries to the suite. */
export function usageQueryCases(open: OpenUsageLog): void {
  const opened = opening(open);
  usageIdCases(open);

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
        ...[{ outcome: 'broken' }, { channelId: 'c0', outcome: 'complete', keyId: 'k0' }],
        ...metadataNames.map((name) => ({ metadata: { name, value: 'v1' } })),
        { keyId: 'k1', metadata: { name: 'team', value: 'v0' } },
      ] as const;

      for (const filter of filters) {
        const matching = records.filter((record) =>
          Object.entries(filter).every(([name, value]) =>
            typeof value === 'string'
              ? Reflect.get(record, name) === value
              : nameOf(record, `metadata.${value.name}`) === value.value,
          ),
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

  describe('pages', () => {
    const timesOf = (records: readonly UsageRecord[]) =>
      records.map(({ startedAtMs, requestId }) => `${startedAtMs} ${requestId}`);

    it.each([
      [1, {}],
      [7, {}],
      [100, {}],
      [3, { keyId: 'k1' }],
      [4, { fromMs: startMs + dayMs, toMs: startMs + 3 * dayMs }],
      [2, { requestId: 'req_7' }],
      [2, { metadata: { name: 'team', value: 'v0' } }],
    ])('of %d with the filter %j have every record once, in both orders', async (limit, filter) => {
      const log = opened();
      for (const record of randomRecords(60)) await log.record(record);
      const all = (await log.usageRecords(filter, { limit: 1_000 })).records;

      for (const newestFirst of [false, true]) {
        const found: UsageRecord[] = [];
        let after: string | undefined;
        do {
          const start = after === undefined ? {} : { after };
          const page = await log.usageRecords(filter, { limit, newestFirst, ...start });
          expect(page.records.length).toBeLessThanOrEqual(limit);
          found.push(...page.records);
          after = page.next;
        } while (after !== undefined);

        expect(timesOf(newestFirst ? found.toReversed() : found)).toEqual(timesOf(all));
      }
      expect(all.length).toBeGreaterThan(0);
      expect(timesOf(all)).toEqual(timesOf(all.toSorted((a, b) => a.startedAtMs - b.startedAtMs)));
    });

    it('show each call once, as its latest revision has it', async () => {
      const log = opened();
      const doubt = usageRecord({ outcome: 'unknown', booked: false, chargeNanos: 0n });
      await log.record(doubt);
      await log.record({ ...doubt, booked: true, revision: 2, chargeNanos: 5n });

      const { records } = await log.usageRecords({}, { newestFirst: true });

      expect(records).toMatchObject([{ revision: 2, chargeNanos: 5n }]);
    });
  });

  describe('first bytes', () => {
    it('are counted in their buckets', async () => {
      const log = opened();
      const times = [undefined, 0, 4.5, 5, 5.1, 99.9, 100, 120_000, 120_001, 9e9];
      for (const [index, firstByteMs] of times.entries()) {
        const ids = { requestId: `r${index}`, startedAtMs: startMs + index };
        await log.record(usageRecord({ ...ids, firstByteMs }));
      }
      const span = { fromMs: startMs, toMs: startMs + times.length };
      const counts = await log.usageFirstBytes(span);

      const expected = inBuckets(times.filter((ms) => ms !== undefined));
      expect(counts).toEqual(expected);
      const narrow = await log.usageFirstBytes({ ...span, toMs: startMs + 3 });
      expect(narrow.reduce((sum, count) => sum + count)).toBe(2);
      expect(await log.usageFirstBytes({ keyId: 'nobody' })).toEqual(expected.map(() => 0));
    });
  });

  describe('latencies', () => {
    it('by every grouping, and any two, have each call in the buckets of its times', async () => {
      const log = opened();
      const records = randomRecords(80);
      for (const record of records) await log.record(record);
      const span = { fromMs: startMs, toMs: startMs + 9 * dayMs };

      for (const by of [...groupings, ['day', 'model'], ['metadata.team', 'hour']] as const) {
        const names = typeof by === 'string' ? [by] : by;
        const rows = await log.usageLatencies({ by, ...span });

        for (const row of rows) {
          const found = records.filter((record) =>
            names.every((name, index) => nameOf(record, name) === row.names[index]),
          );
          const times = found.flatMap(({ firstByteMs: ms }) => (ms === undefined ? [] : [ms]));
          expect(row.firstByteCounts, String(by)).toEqual(inBuckets(times));
          expect(row.durationCounts).toEqual(inBuckets(found.map(({ durationMs }) => durationMs)));
        }
        expect(rows.map((row) => row.names)).toEqual(
          (await log.usageReport({ by, ...span })).map((row) => row.names),
        );
      }
      expect(await log.usageLatencies({ by: 'key', ...span, keyId: 'nobody' })).toEqual([]);
    });
  });

  describe('the latest calls', () => {
    it('are found for each key, in the order of the question', async () => {
      const log = opened();
      const records = randomRecords(40);
      for (const record of records) await log.record(record);

      const keyIds = ['k2', 'nobody', 'k0', 'k2'];

      expect(await log.usageLastCalls(keyIds)).toEqual(
        keyIds.map((id) =>
          records
            .filter(({ keyId }) => keyId === id)
            .reduce<number | undefined>(
              (latest, { startedAtMs }) => Math.max(latest ?? 0, startedAtMs),
              undefined,
            ),
        ),
      );
      expect(await log.usageLastCalls([])).toEqual([]);
      const many = Array.from({ length: 1_001 }, () => 'k');
      await expect((async () => log.usageLastCalls(many))()).rejects.toThrow(RangeError);
    });
  });
}

/** Adds all tests to the suite. */
export function usageCases(open: OpenUsageTable): void {
  usageQueryCases(open);
  const opened = opening(open);

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

function inBuckets(times: readonly number[]): readonly number[] {
  return [...firstByteBoundsMs, Number.POSITIVE_INFINITY].map((bound, index, all) => {
    const above = all[index - 1] ?? -1;
    return times.filter((ms) => ms > above && ms <= bound).length;
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
      firstByteMs: pick(7) === 0 ? undefined : pick(4_001) / 2,
      durationMs: pick(130_000) + 0.25,
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
    case 'hour':
    case 'day':
    case 'month': {
      const digits = { hour: 13, day: 10, month: 7 }[grouping];
      const name = new Date(record.startedAtMs).toISOString().slice(0, digits);
      return grouping === 'hour' ? `${name}:00Z` : name;
    }
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
