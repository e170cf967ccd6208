/** The chart of the window: bars by the hour or the day, divided by the grouping, or latencies. */
import type { Latencies, Series } from '../../api.ts';
import { barChart } from '../../chart.ts';
import type { PageContext } from '../../context.ts';
import { el } from '../../dom.ts';
import { countText, durationText, moneyText, shortCount, utcDayText } from '../../format.ts';
import { empty, type Panel, panel } from '../../panel.ts';
import type { ChartData } from '../../plot.ts';
import { dayMs, dayOf, dayStart, type Window } from '../../range.ts';
import {
  callsHref,
  groupingsOf,
  isTime,
  type Measure,
  measureControl,
  measureOf,
  selectionOf,
  shownWindow,
  spanOf,
} from './spend-controls.ts';

const hourMs = 3_600_000;
const nanosPerUnit = 1e9;

interface Shown {
  readonly window: Window;
  readonly measure: Measure;
  readonly stepMs: number;
  readonly by: string | undefined;
  readonly series?: Series;
  readonly latencies?: Latencies;
}

export function chartPanel(page: PageContext): Panel & { show(): void } {
  const control = measureControl(page);
  let chart: ReturnType<typeof barChart> | undefined;
  const inner = panel<Shown>({
    title: 'Over time, UTC',
    what: 'the chart',
    tools: control.node,
    load: (signal) => load(page, signal),
    render: (shown) => {
      chart?.close();
      chart = undefined;
      const { series, latencies, window } = shown;
      if ((series?.data ?? latencies?.data ?? []).length === 0) {
        return empty(el('p', {}, `No calls: ${window.text}.`));
      }
      chart = latencies === undefined ? bars(shown, page) : lines(shown, page);
      return chart.node;
    },
  });
  return {
    ...inner,
    show: () => control.show(page.route()),
    close: () => {
      inner.close();
      chart?.close();
    },
  };
}

async function load(page: PageContext, signal: AbortSignal): Promise<Shown> {
  const route = page.route();
  const window = shownWindow(page);
  const measure = measureOf(route);
  const { by: first } = groupingsOf(route);
  const by = isTime(first) ? undefined : first;
  const isShort = window.toMs - window.fromMs <= 2 * dayMs;
  const step = isShort ? 'hour' : 'day';
  const shown = { window, measure, by, stepMs: isShort ? hourMs : dayMs };
  const query = { ...selectionOf(route), ...spanOf(window), step };
  if (measure === 'first-byte' || measure === 'duration') {
    return {
      ...shown,
      latencies: await page.api.get<Latencies>('/usage/latencies', query, signal),
    };
  }
  const parts = { ...query, by, measure };
  return { ...shown, series: await page.api.get<Series>('/usage/series', parts, signal) };
}

/** Where the bars begin; the report has none for a time without calls. */
function startsOf({ window: { fromMs, toMs }, stepMs }: Shown): readonly number[] {
  const first = stepMs === dayMs ? dayStart(fromMs) : Math.floor(fromMs / hourMs) * hourMs;
  return Array.from({ length: Math.ceil((toMs - first) / stepMs) }, (_, at) => first + at * stepMs);
}

function timesOf({ stepMs }: Shown) {
  const clock = (ms: number): string => new Date(ms).toISOString().slice(11, 16);
  const isDay = stepMs === dayMs;
  return {
    timeName: isDay ? 'day' : 'hour',
    tickText: isDay ? utcDayText : clock,
    barText: isDay ? utcDayText : (ms: number) => `${utcDayText(ms)} ${clock(ms)}`,
  };
}

function bars(shown: Shown, page: PageContext) {
  const { series = { names: [], data: [] }, measure, by } = shown;
  const { names, data } = series;
  const unnamed =
    by === undefined ? [undefined] : data.some(({ name }) => name === null) ? [null] : [];
  const parts = [...names, ...unnamed];
  const others = by === undefined ? textOf(measure) : 'others';
  const chart = barChart({
    label: `${textOf(measure)} over time, ${shown.window.text}`,
    series: parts.map((name, index) => ({
      name: typeof name === 'string' ? name || `without ${by}` : others,
      color:
        typeof name === 'string' ? `--part-${index + 1}` : by === undefined ? '--part-1' : '--left',
    })),
    ...timesOf(shown),
    ...(measure === 'charge'
      ? {
          valueText: moneyOf,
          axisText: (value) => moneyText(BigInt(Math.round(value * nanosPerUnit))),
        }
      : { valueText: countText, axisText: shortCount }),
    hrefOf: (ms, part) => {
      const name = part === undefined ? undefined : parts[part];
      const day = ['day', dayOf(ms)] as const;
      const named = by === undefined || typeof name !== 'string' ? [] : [[by, name] as const];
      return callsHref(page, [day, ...named]) ?? callsHref(page, [day]) ?? '';
    },
  });
  const found = new Map(data.map((row) => [`${row.startMs} ${row.name}`, row]));
  const values = parts.map((name) =>
    startsOf(shown).map((ms) => {
      const row = found.get(`${ms} ${name ?? null}`);
      if (row === undefined) return 0;
      if (measure === 'calls') return row.calls;
      return measure === 'tokens' ? row.tokens : Number(row.chargeNanos) / nanosPerUnit;
    }),
  );
  chart.update({ startsMs: startsOf(shown), values });
  return chart;
}

function moneyOf(units: number): string {
  return moneyText(BigInt(Math.round(units * nanosPerUnit)));
}

function textOf(measure: Measure): string {
  return measure === 'charge' ? 'charged' : measure;
}

function lines(shown: Shown, page: PageContext) {
  const { measure, latencies } = shown;
  const isFirst = measure === 'first-byte';
  const chart = barChart({
    label: `${isFirst ? 'Time to the first byte' : 'Duration of calls'}, ${shown.window.text}`,
    series: [
      { name: 'p50', color: '--part-1' },
      { name: 'p95', color: '--part-3' },
    ],
    isLines: true,
    ...timesOf(shown),
    valueText: (ms) => (Number.isNaN(ms) ? '–' : durationText(ms)),
    hrefOf: (ms) => callsHref(page, [['day', dayOf(ms)]]) ?? '',
  });
  const found = new Map(latencies?.data.map((row) => [row.startMs, row]));
  const startsMs = startsOf(shown);
  const valuesOf = (name: 'P50Ms' | 'P95Ms'): readonly number[] =>
    startsMs.map(
      (ms) => found.get(ms)?.[`${isFirst ? 'firstByte' : 'duration'}${name}`] ?? Number.NaN,
    );
  const data: ChartData = { startsMs, values: [valuesOf('P50Ms'), valuesOf('P95Ms')] };
  chart.update(data);
  return chart;
}
