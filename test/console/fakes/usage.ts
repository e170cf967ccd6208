/** Reports of a fake usage log: thirty days of models and keys. */
import type {
  Admin,
  UsageLatency,
  UsageReportPage,
  UsageSeries,
  UsageSeriesQuery,
  UsageTimesQuery,
} from '../../../src/admin/index.ts';
import { totalOf } from '../../../src/admin/usage/rows.ts';
import type { UsageReportRow } from '../../../src/stores/sql/usage/report.ts';
import { nowMs } from './data.ts';

const unit = 1_000_000_000n;
const dayMs = 86_400_000;

/** The reports; the log and the books differ in one subject unless `agree`. */
export function fakeUsage(
  real: Admin['usage'],
  { agree = false }: { readonly agree?: boolean } = {},
): Admin['usage'] {
  return {
    ...real,
    report: async ({ by }) => {
      const groupings = typeof by === 'string' ? [by] : by;
      return pageOf(groupings[0] === 'day' ? days() : rows(groupings.length));
    },
    series: async (query) => seriesOf(query),
    latencies: async (query) => ({ data: startsOf(query).map(latencyAt) }),
    books: async ({ period = '' }) => (agree ? [] : [{ ...difference, period }]),
  };
}

function rows(depth: number): readonly UsageReportRow[] {
  const models = ['claude-opus-4', 'gpt-5', 'gpt-5-mini', 'gpt-image-2', 'gemini-3-flash', ''];
  const keys = ['team-search', 'app-web'];
  return models.flatMap((model, index) =>
    keys.slice(0, depth).map((key, part) => {
      const share = BigInt(Math.round(2_000 / (index * index + 1) / (part + 1)));
      return row(depth === 1 ? [model] : [model, key], share, index + part);
    }),
  );
}

function days(): readonly UsageReportRow[] {
  const today = Math.floor(nowMs / dayMs) * dayMs;
  return Array.from({ length: 30 }, (_, index) => {
    const day = new Date(today - (29 - index) * dayMs);
    const isWeekend = day.getUTCDay() % 6 === 0;
    const charge = Math.round((isWeekend ? 210 : 640) + 90 * Math.sin(index / 2));
    return row([day.toISOString().slice(0, 10)], BigInt(charge), index);
  });
}

/** The hours or days of a query that have begun. */
function startsOf({ fromMs, toMs, step }: UsageTimesQuery): readonly number[] {
  const length = step === 'hour' ? 3_600_000 : dayMs;
  const first = Math.floor(fromMs / length) * length;
  const count = Math.ceil((Math.min(toMs, nowMs) - first) / length);
  return Array.from({ length: Math.max(0, count) }, (_, index) => first + index * length);
}

/** Models of different size, more in the day than at night, and other models. */
function seriesOf(query: UsageSeriesQuery): UsageSeries {
  const all =
    query.by === undefined
      ? []
      : rows(1)
          .slice(0, 3)
          .map(({ names }) => names[0] ?? '');
  const data = startsOf(query).flatMap((startMs, at) =>
    [...all, undefined].map((name, index) => {
      const share = BigInt(Math.round((80 + 50 * Math.sin(at / 2)) / (index + 1)));
      return {
        ...{ startMs, name, calls: 900 - index * 200, tokens: 4_000_000 - index * 900_000 },
        chargeNanos: share * unit + 120_000_000n,
      };
    }),
  );
  return { names: all, data };
}

function latencyAt(startMs: number, index: number): UsageLatency {
  const firstByteP50Ms = Math.round(420 + 90 * Math.sin(index / 2));
  const firstByteP95Ms = firstByteP50Ms * 4;
  const ends = { durationP50Ms: firstByteP50Ms * 8, durationP95Ms: firstByteP95Ms * 6 };
  return { startMs, firstByteP50Ms, firstByteP95Ms, ...ends };
}

function row(names: readonly string[], units: bigint, index: number): UsageReportRow {
  return {
    names,
    calls: 41_204 - index * 2_310,
    inputTokens: 88_412_000 - index * 7_300_000,
    cachedInputTokens: 12_000_000,
    cacheWrite5mTokens: 0,
    cacheWrite1hTokens: 0,
    audioInputTokens: 0,
    imageInputTokens: 0,
    videoInputTokens: 0,
    outputMs: 160_000_000 - index * 9_000_000,
    outputTokens: 9_120_400 - index * 810_000,
    reasoningTokens: 1_000_000,
    audioOutputTokens: 0,
    imageOutputTokens: 0,
    images: names[0] === 'gpt-image-2' ? 812 : 0,
    chargeNanos: units * unit + 340_000_000n,
    unbookedNanos: index === 29 ? 90n * unit : 0n,
    costNanos: (units * unit * 7n) / 10n,
    marginNanos: (units * unit * 3n) / 10n + 340_000_000n,
  };
}

function pageOf(data: readonly UsageReportRow[]): UsageReportPage {
  return { data, next: undefined, total: totalOf(data) };
}

const difference = {
  partition: 'default',
  subject: 'team-search',
  bookedNanos: 812n * unit,
  unbookedNanos: 1_204_000_000n,
  usedNanos: 812n * unit + 41_000_000n,
  unloggedNanos: 41_000_000n,
};
