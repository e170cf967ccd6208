/**
 * Stacked bars over time, with a line of text for the values of the bar under the pointer, and a
 * table of the same numbers; and the bars inside tables: a share, or a quota with what is used and
 * held.
 */
import { button, el, link, refill } from './dom.ts';
import { moneyText, percentText, shareOf } from './format.ts';
import { type ChartData, Plot, type PlotPlace } from './plot.ts';

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

export function barChart(input: ChartInput) {
  const readout = el('p', { class: 'readout' });
  const holder = el('div', { class: 'chart', role: 'img', 'aria-label': input.label });
  const table = el('div', { class: 'chart-table', hidden: true });
  const toggle = tableToggle(table);
  const node = el('div', {}, el('div', { class: 'chart-head' }, readout, toggle), holder, table);
  let data: ChartData = { startsMs: [], values: [] };
  const show = (index: number | undefined): void => refill(readout, readoutOf(input, data, index));
  const plot = new Plot({
    ...{ isLines: input.isLines === true, colors: input.series.map(({ color }) => color) },
    axisText: input.axisText ?? input.valueText,
    tickText: input.tickText,
    pointed: show,
  });
  holder.append(plot.node);
  const draw = (): void => {
    const { paddingLeft, paddingRight } = getComputedStyle(holder);
    const room =
      holder.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
    if (room > 0) plot.draw(Math.floor(room), data);
  };
  const observer = new ResizeObserver(draw);
  observer.observe(holder);
  holder.addEventListener('click', (event) => {
    const place = plot.placeAt(event);
    const href = place === undefined ? undefined : hrefAt(place, input, data);
    if (href !== undefined) location.hash = href;
  });
  holder.classList.toggle('opens', input.hrefOf !== undefined);
  return {
    node,
    update: (next: ChartData): void => {
      data = next;
      draw();
      show(plot.index);
      refill(table, tableOf(input, data));
    },
    close: (): void => observer.disconnect(),
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

/** Where a bar leads, or the part of it at this height. */
function hrefAt(
  { index, value }: PlotPlace,
  { hrefOf }: ChartInput,
  { startsMs, values }: ChartData,
): string | undefined {
  const start = startsMs[index];
  if (start === undefined) return undefined;
  let sum = 0;
  const part = values.findIndex((line) => {
    sum += line[index] || 0;
    return value <= sum;
  });
  return hrefOf?.(start, part === -1 ? undefined : part);
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
