/**
 * Stacked bars over time, with a line of text for the values of the bar under the pointer, and a
 * table of the same numbers; and the bars inside tables: a share, or a quota with what is used and
 * held.
 */
import uPlot from 'uplot';
import { button, el, link, refill } from './dom.ts';
import { moneyText, percentText, shareOf } from './format.ts';

interface BarSeries {
  readonly name: string;
  /** The CSS custom property of its colour: `--complete`. */
  readonly color: string;
}

interface ChartInput {
  /** A sentence for screen readers. */
  readonly label: string;
  /** From the bottom to the top. */
  readonly series: readonly BarSeries[];
  /** Lines, which are not added up, in place of bars. */
  readonly isLines?: boolean;
  /** Where a bar leads, and the part of it that a series is. */
  hrefOf?(ms: number, series?: number): string;
  readonly timeName: string;
  valueText(value: number): string;
  /** Text of a value at the axis. Default: `valueText`. */
  axisText?(value: number): string;
  tickText(ms: number): string;
  barText(ms: number): string;
}

export interface ChartData {
  readonly startsMs: readonly number[];
  /** By series, then by bar; NaN where it is not known. */
  readonly values: readonly (readonly number[])[];
}

const heightPx = 190;

export function barChart(input: ChartInput) {
  const readout = el('p', { class: 'readout' });
  const holder = el('div', { class: 'chart', role: 'img', 'aria-label': input.label });
  const table = el('div', { class: 'chart-table', hidden: true });
  const toggle = tableToggle(table);
  const node = el('div', {}, el('div', { class: 'chart-head' }, readout, toggle), holder, table);
  let data: ChartData = { startsMs: [], values: [] };
  let plot: uPlot | undefined;
  const show = (index: number | undefined): void => refill(readout, readoutOf(input, data, index));
  const observer = new ResizeObserver(() => {
    const width = Math.floor(holder.clientWidth);
    if (width === 0) return;
    plot ??= plotOf(input, width, holder, show);
    plot.setSize({ width, height: heightPx });
    plot.setData(drawn(input, data));
  });
  observer.observe(holder);
  holder.addEventListener('click', () => {
    const place = plot === undefined ? undefined : placeAt(plot, input, data);
    if (place !== undefined) location.hash = place;
  });
  holder.classList.toggle('opens', input.hrefOf !== undefined);
  const scheme = matchMedia('(prefers-color-scheme: dark)');
  const repaint = (): void => plot?.redraw(true, true);
  scheme.addEventListener('change', repaint);
  return {
    node,
    update: (next: ChartData): void => {
      data = next;
      plot?.setData(drawn(input, data));
      show(plot?.cursor.idx ?? undefined);
      refill(table, tableOf(input, data));
    },
    close: (): void => {
      observer.disconnect();
      scheme.removeEventListener('change', repaint);
      plot?.destroy();
    },
  };
}

function tableToggle(table: HTMLElement): HTMLElement {
  const toggle = button(
    'As a table',
    () => {
      table.hidden = !table.hidden;
      toggle.setAttribute('aria-expanded', String(!table.hidden));
    },
    { class: 'quiet', 'aria-expanded': 'false' },
  );
  return toggle;
}

/** Where the bar below the pointer leads, or the part of it. */
function placeAt(plot: uPlot, { hrefOf }: ChartInput, data: ChartData): string | undefined {
  const { idx, top = 0 } = plot.cursor;
  const start = idx === null || idx === undefined ? undefined : data.startsMs[idx];
  if (start === undefined || idx === undefined || idx === null) return undefined;
  const height = plot.posToVal(top, 'y');
  let sum = 0;
  const part = data.values.findIndex((line) => {
    sum += line[idx] || 0;
    return height <= sum;
  });
  return hrefOf?.(start, part === -1 ? undefined : part);
}

function drawn({ isLines = false }: ChartInput, data: ChartData): uPlot.AlignedData {
  if (!isLines) return stacked(data);
  const lines = data.values.map((line) => line.map((ms) => (Number.isNaN(ms) ? null : ms)));
  return [data.startsMs.map((ms) => ms / 1_000), ...lines.toReversed()];
}

/** uPlot draws series over each other, so the sums are drawn from the tallest down. */
function stacked({ startsMs, values }: ChartData): uPlot.AlignedData {
  const sums: number[][] = [];
  for (const series of values) {
    const below = sums[0];
    sums.unshift(series.map((value, index) => (value || 0) + (below?.[index] ?? 0)));
  }
  return [startsMs.map((ms) => ms / 1_000), ...sums];
}

function plotOf(
  input: ChartInput,
  width: number,
  holder: HTMLElement,
  show: (index: number | undefined) => void,
): uPlot {
  const bars = uPlot.paths.bars?.({ size: [0.72, 36, 1] });
  const series = input.series.toReversed().map(({ color }): uPlot.Series => {
    const paint = (): string => colorOf(holder, color);
    if (input.isLines === true)
      return { stroke: paint, width: 2, points: { size: 5, fill: paint } };
    return {
      fill: paint,
      stroke: paint,
      width: 0,
      points: { show: false },
      ...(bars === undefined ? {} : { paths: bars }),
    };
  });
  const options: uPlot.Options = {
    width,
    height: heightPx,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { range: rangeWithMargin }, y: { range: (_, __, max) => [0, Math.max(max, 1)] } },
    axes: axesOf(input, holder),
    series: [{}, ...series],
    hooks: { setCursor: [({ cursor }) => show(cursor.idx ?? undefined)] },
  };
  return new uPlot(options, [[], ...input.series.map(() => [])], holder);
}

/** Half a bar at each end, so that the first and the last one are whole. */
function rangeWithMargin(plot: uPlot, min: number, max: number): uPlot.Range.MinMax {
  const [starts] = plot.data;
  const step = (Number(starts[1] ?? 0) - Number(starts[0] ?? 0)) / 2;
  return step > 0 ? [min - step, max + step] : [min - 30, max + 30];
}

function axesOf(
  { tickText, valueText, axisText = valueText }: ChartInput,
  holder: HTMLElement,
): uPlot.Axis[] {
  const font = '11px system-ui, sans-serif';
  const shared = { font, stroke: () => colorOf(holder, '--muted'), ticks: { show: false } };
  return [
    {
      ...shared,
      size: 26,
      space: 64,
      grid: { show: false },
      values: (_, splits) => splits.map((seconds) => tickText(seconds * 1_000)),
    },
    {
      ...shared,
      size: 46,
      space: 40,
      grid: { stroke: () => colorOf(holder, '--line'), width: 1 },
      values: (_, splits) => splits.map((value) => axisText(value)),
    },
  ];
}

function colorOf(node: HTMLElement, property: string): string {
  return getComputedStyle(node).getPropertyValue(property).trim();
}

function readoutOf(
  { series, isLines = false, barText, valueText }: ChartInput,
  { startsMs, values }: ChartData,
  index: number | undefined,
): readonly HTMLElement[] {
  const start = index === undefined ? undefined : startsMs[index];
  const sumOf = (line: readonly number[]): number => line.reduce((sum, value) => sum + value, 0);
  const parts = series.map(({ name, color }, position) => {
    const line = values[position] ?? [];
    const isAll = start === undefined || index === undefined;
    const value = isAll ? sumOf(line) : (line[index] ?? 0);
    const swatch = el('span', { class: 'swatch', 'aria-hidden': 'true' });
    swatch.style.background = `var(${color})`;
    return el('span', { class: 'readout-part' }, [
      swatch,
      `${name} `,
      isAll && isLines ? undefined : el('b', {}, valueText(value)),
    ]);
  });
  return [
    el('span', { class: 'readout-time' }, start === undefined ? 'All' : barText(start)),
    ...parts,
  ];
}

function tableOf(
  { label, series, timeName, barText, valueText, hrefOf }: ChartInput,
  { startsMs, values }: ChartData,
): HTMLElement {
  const head = [timeName, ...series.map(({ name }) => name)];
  const rows = startsMs.map((ms, index) =>
    el('tr', {}, [
      el(
        'th',
        { scope: 'row' },
        hrefOf === undefined ? barText(ms) : link(hrefOf(ms), barText(ms)),
      ),
      values.map((line) => el('td', { class: 'number' }, valueText(line[index] ?? 0))),
    ]),
  );
  return el('table', {}, [
    el('caption', { class: 'only-read' }, label),
    el('thead', {}, [el('tr', {}, [head.map((name) => el('th', { scope: 'col' }, name))])]),
    el('tbody', {}, rows.toReversed()),
  ]);
}

/** A bar whose length is a share, 0 to 1. */
export function shareBar(share: number, color: string): HTMLElement {
  return el('span', { class: 'bar', 'aria-hidden': 'true' }, part(share, `fill${color}`));
}

export function shareCell(share: number, color: string): HTMLElement {
  const percent = el('span', { class: 'percent' }, `${Math.round(share * 100)} %`);
  return el('span', { class: 'shared' }, shareBar(share, color), percent);
}

/** A key needs attention if it has used this share of its limit. */
export const nearlyOut = 0.9;

interface QuotaAmounts {
  readonly usedNanos: string;
  readonly heldNanos: string;
  readonly limitNanos: string;
}

/** How full a quota is, 0 to 1. */
export function fullnessOf({ usedNanos, heldNanos, limitNanos }: QuotaAmounts): number {
  return shareOf(BigInt(usedNanos) + BigInt(heldNanos), limitNanos);
}

export function quotaBar(amounts: QuotaAmounts): HTMLElement {
  const { usedNanos, heldNanos, limitNanos } = amounts;
  const fullness = fullnessOf(amounts);
  const level = fullness >= 1 ? 'out' : fullness >= nearlyOut ? 'near' : 'well';
  const used = shareOf(usedNanos, limitNanos);
  const label =
    `${percentText(fullness)} of ${moneyText(limitNanos)}: ` +
    `${moneyText(usedNanos)} used, ${moneyText(heldNanos)} held`;
  return el(
    'span',
    { class: `bar quota ${level}`, role: 'img', 'aria-label': label, title: label },
    [part(used, 'fill-used'), part(Math.max(0, fullness - used), 'fill-held')],
  );
}

function part(share: number, name: string): HTMLElement {
  const node = el('span', { class: name });
  node.style.width = `${(Math.min(1, Math.max(0, share)) * 100).toFixed(2)}%`;
  return node;
}
