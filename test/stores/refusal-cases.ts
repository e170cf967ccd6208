/** What every log of refusals must do with reports and old counts, over random counts. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RecordedRefusals, RefusalLog } from '../../src/ports/refusal-log.ts';
import type { UsageSink } from '../../src/ports/usage-sink.ts';
import {
  type RefusalFilter,
  type RefusalGrouping,
  type RefusalQueries,
  refusalGroupings,
} from '../../src/stores/sql/refusal-report.ts';
import type { UsageQueries, UsageRetention } from '../../src/stores/sql/usage/report.ts';
import { recordedRefusals, usageRecord } from '../../src/testing/index.ts';

type Log = RefusalLog & RefusalQueries & UsageSink;
type Table = Log & UsageQueries & UsageRetention;

const dayMs = 86_400_000;
const startMs = Date.UTC(2026, 10, 20, 22);
const span = { fromMs: startMs, toMs: startMs + 3 * dayMs };

const randomCount: fc.Arbitrary<Partial<RecordedRefusals>> = fc.record({
  atMs: fc.nat(3 * 24 * 60 - 1).map((minute) => startMs + minute * 60_000),
  keyId: fc.constantFrom('ada', "o'hara", '(other)', undefined),
  group: fc.constantFrom('staff', 'größe', undefined),
  modelId: fc.constantFrom('gpt-5', 'a%_"', undefined),
  protocol: fc.constantFrom('chat' as const, 'native' as const, undefined),
  code: fc.constantFrom('rate_limited' as const, 'insufficient_quota' as const),
  reason: fc.constantFrom('rate' as const, 'insufficient' as const, undefined),
  detail: fc.constantFrom('messages[].content', '/v1/files', undefined),
  refusals: fc.integer({ min: 1, max: 1_000_000 }),
});

function randomCounts(length: number): readonly RecordedRefusals[] {
  const changes = fc.sample(fc.array(randomCount, { minLength: length, maxLength: length }), 1);
  return (changes[0] ?? []).map((change, index) =>
    recordedRefusals({ ...change, id: `a_random_minute.${String(index).padStart(4, '0')}` }),
  );
}

const nameOf: Readonly<Record<RefusalGrouping, (count: RecordedRefusals) => string>> = {
  key: ({ keyId = '' }) => keyId,
  group: ({ group = '' }) => group,
  model: ({ modelId = '' }) => modelId,
  protocol: ({ protocol = '' }) => protocol,
  code: ({ code }) => code,
  reason: ({ reason = '' }) => reason,
  detail: ({ detail = '' }) => detail,
  day: ({ atMs }) => new Date(atMs).toISOString().slice(0, 10),
};

/** The rows of a report, as their names and their sum. */
function sumsOf(
  counts: readonly RecordedRefusals[],
  by: readonly RefusalGrouping[],
): readonly string[] {
  const sums = new Map<string, number>();
  for (const count of counts) {
    const names = JSON.stringify(by.map((grouping) => nameOf[grouping](count)));
    sums.set(names, (sums.get(names) ?? 0) + count.refusals);
  }
  return [...sums].map(([names, refusals]) => `${names} ${refusals}`).toSorted();
}

const pairs = refusalGroupings.flatMap((first) => [
  [first] as const,
  ...refusalGroupings.filter((other) => other !== first).map((other) => [first, other] as const),
]);

/** Adds the tests of reports to the suite. */
export function refusalCases(open: () => Log): void {
  const opened = opening(open);

  describe('reports on refusals', () => {
    const read = async (log: Log, by: (typeof pairs)[number], filter: RefusalFilter = {}) => {
      const [first, second] = by;
      const grouping = second === undefined ? first : ([first, second] as const);
      const rows = await log.refusalReport({ ...span, ...filter, by: grouping });
      return rows.map(({ names, refusals }) => `${JSON.stringify(names)} ${refusals}`).toSorted();
    };

    it('by every grouping, and any two, are the sums of the counts', async () => {
      const log = opened();
      const counts = randomCounts(200);
      await log.recordRefusals(counts);

      for (const by of pairs) expect(await read(log, by)).toEqual(sumsOf(counts, by));
    });

    it('are narrowed by each name, and by time', async () => {
      const log = opened();
      const counts = randomCounts(200);
      await log.recordRefusals(counts);
      const filters: readonly RefusalFilter[] = [
        { keyId: "o'hara" },
        { group: 'größe' },
        { modelId: 'a%_"' },
        { protocol: 'native' },
        { code: 'rate_limited' },
        { reason: 'insufficient' },
        { keyId: 'ada', reason: 'rate', code: 'insufficient_quota' },
        { keyId: 'nobody' },
      ];

      for (const filter of filters) {
        const selected = counts.filter((count) =>
          Object.entries(filter).every(([name, value]) => Reflect.get(count, name) === value),
        );
        expect(await read(log, ['reason', 'key'], filter)).toEqual(
          sumsOf(selected, ['reason', 'key']),
        );
      }
      const [one] = counts;
      const atMs = one?.atMs ?? 0;
      const minute = { fromMs: atMs, toMs: atMs + 1 };
      const selected = counts.filter((count) => count.atMs === atMs);
      expect(await read(log, ['code'], minute)).toEqual(sumsOf(selected, ['code']));
      expect(await read(log, ['code'], { fromMs: atMs + 1, toMs: atMs + 1 })).toEqual([]);
    });

    it('are sorted by their names', async () => {
      const log = opened();
      await log.recordRefusals(randomCounts(50));

      const rows = await log.refusalReport({ ...span, by: ['code', 'reason'] });

      const names = rows.map((row) => row.names.join(' '));
      expect(names).toEqual(names.toSorted());
    });

    it.each([
      ['no grouping', { by: [] }, /by must be one grouping or two/],
      ['three groupings', { by: ['key', 'code', 'day'] }, /by must be one grouping or two/],
      ['the same grouping twice', { by: ['key', 'key'] }, /must differ/],
      ['another grouping', { by: 'channel' }, /by must be key, group, model, protocol/],
      ['no time', { by: 'key', fromMs: undefined }, /fromMs and toMs must be/],
      ['a key that is no text', { by: 'key', keyId: 7 }, /keyId must be text/],
    ])('refuse %s', async (_what, change, message) => {
      const log = opened();
      const query = JSON.parse(JSON.stringify({ ...span, ...change }));

      await expect((async () => log.refusalReport(query))()).rejects.toThrow(message);
    });
  });
}

/** Adds all tests to the suite. */
export function refusalTableCases(open: () => Table): void {
  refusalCases(open);
  const opened = opening(open);

  it('old counts of refusals are deleted in batches, after the records of old calls', async () => {
    const log = opened();
    const counts = randomCounts(40);
    await log.recordRefusals(counts);
    for (let call = 0; call < 5; call += 1) {
      await log.record(usageRecord({ requestId: `r${call}`, startedAtMs: startMs + call }));
    }
    // Writes what is buffered.
    await log.usageReport({ ...span, by: 'key' });
    const beforeMs = startMs + dayMs;
    const old = counts.filter(({ atMs }) => atMs < beforeMs);
    const kept = counts.filter(({ atMs }) => atMs >= beforeMs);
    expect([old.length > 3, kept.length > 3]).toEqual([true, true]);

    const deleted: number[] = [];
    for (;;) {
      const batch = await log.deleteBefore(beforeMs, { limit: 4 });
      deleted.push(batch);
      if (batch === 0) break;
    }

    expect(Math.max(...deleted)).toBe(4);
    expect(deleted.reduce((sum, batch) => sum + batch)).toBe(5 + old.length);
    const rows = await log.refusalReport({ ...span, by: 'code' });
    expect(rows.reduce((sum, { refusals }) => sum + refusals, 0)).toBe(
      kept.reduce((sum, { refusals }) => sum + refusals, 0),
    );
  });
}

function opening<Opened extends UsageSink>(open: () => Opened): () => Opened {
  return () => {
    const log = open();
    onTestFinished(() => log.close());
    return log;
  };
}
