/** Draws stacked bars or lines over time with two axes, and says which bar is under the pointer. */
import { svg } from './dom.ts';

export interface PlotInput {
  /** The CSS custom property of each series' colour, from the bottom to the top. */
  readonly colors: readonly string[];
  /** Lines, which are not added up, in place of bars. */
  readonly isLines: boolean;
  axisText(value: number): string;
  tickText(ms: number): string;
  /** The pointer is over another bar, or over none. */
  pointed(index: number | undefined): void;
}

export interface ChartData {
  readonly startsMs: readonly number[];
  /** By series, then by bar; NaN where it is not known. */
  readonly values: readonly (readonly number[])[];
}

/** Where a press was: the bar, and how high in units of the values. */
export interface PlotPlace {
  readonly index: number;
  readonly value: number;
}

const heightPx = 190;
const left = 46;
const right = 6;
const top = 10;
const bottom = 26;
const depth = heightPx - top - bottom;

/** The sizes of a drawing. */
interface Frame {
  readonly width: number;
  /** The width of a bar and of the room beside it. */
  readonly slot: number;
  readonly count: number;
  /** The value at the top. */
  readonly highest: number;
}

export class Plot {
  readonly node: SVGSVGElement = svg('svg', { class: 'plot' });
  readonly #input: PlotInput;
  readonly #cursor = svg('path', { class: 'plot-cursor' });
  #data: ChartData = { startsMs: [], values: [] };
  #frame: Frame = { width: 0, slot: 1, count: 0, highest: 1 };
  #index: number | undefined;

  constructor(input: PlotInput) {
    this.#input = input;
    this.node.setAttribute('height', String(heightPx));
    this.node.addEventListener('mousemove', (event) => this.#point(this.placeAt(event)?.index));
    this.node.addEventListener('mouseleave', () => this.#point(undefined));
  }

  /** The bar under the pointer. */
  get index(): number | undefined {
    return this.#index;
  }

  draw(width: number, data: ChartData): void {
    const count = data.startsMs.length;
    const { isLines } = this.#input;
    const tops = isLines ? data.values.flat().map(known) : (sumsOf(data).at(-1) ?? []);
    const slot = Math.max(0, width - left - right) / Math.max(1, count);
    this.#data = data;
    this.#frame = { width, slot, count, highest: Math.max(1, ...tops) };
    this.node.setAttribute('width', String(width));
    const parts = isLines ? this.#lines() : this.#bars();
    this.node.replaceChildren(...this.#grid(), ...parts, ...this.#ticks(), this.#cursor);
    this.#point(this.#index);
  }

  placeAt({ clientX, clientY }: MouseEvent): PlotPlace | undefined {
    const box = this.node.getBoundingClientRect();
    const { slot, count, highest } = this.#frame;
    const index = Math.floor((clientX - box.left - left) / slot);
    if (index < 0 || index >= count) return undefined;
    return { index, value: ((top + depth - (clientY - box.top)) / depth) * highest };
  }

  #point(index: number | undefined): void {
    const isThere = index !== undefined && index < this.#frame.count;
    const next = isThere ? index : undefined;
    const line = next === undefined ? '' : `M${this.#x(next)},${top}v${depth}`;
    this.#cursor.setAttribute('d', line);
    if (next === this.#index) return;
    this.#index = next;
    this.#input.pointed(next);
  }

  /** The middle of a bar. */
  #x(index: number): string {
    return tenths(left + (index + 0.5) * this.#frame.slot);
  }

  #y(value: number): number {
    return top + depth * (1 - value / this.#frame.highest);
  }

  #bars(): readonly SVGElement[] {
    const { slot } = this.#frame;
    const width = Math.min(36, slot * 0.72);
    const across = tenths(width);
    const sums = sumsOf(this.#data);
    return sums.map((line, series) => {
      const below = sums[series - 1];
      const path = line.map((sum, index) => {
        const from = this.#y(below?.[index] ?? 0);
        const rise = this.#y(sum) - from;
        const x = left + (index + 0.5) * slot - width / 2;
        return rise === 0
          ? ''
          : `M${tenths(x)},${tenths(from)}h${across}v${tenths(rise)}h-${across}Z`;
      });
      return svg('path', { d: path.join(''), fill: this.#colorOf(series) });
    });
  }

  /** What is not known leaves a gap. */
  #lines(): readonly SVGElement[] {
    return this.#data.values.flatMap((line, series) => {
      const color = this.#colorOf(series);
      const points = line.map((value, index) =>
        Number.isNaN(value) ? undefined : `${this.#x(index)},${tenths(this.#y(value))}`,
      );
      const path = points.map((point, index) => {
        if (point === undefined) return '';
        return `${points[index - 1] === undefined ? 'M' : 'L'}${point}`;
      });
      const dots = points.map((point) => (point === undefined ? '' : `M${point}h0`));
      return [
        svg('path', { d: path.join(''), class: 'plot-line', stroke: color }),
        svg('path', { d: dots.join(''), class: 'plot-dots', stroke: color }),
      ];
    });
  }

  #colorOf(series: number): string {
    return `var(${this.#input.colors[series]})`;
  }

  #grid(): readonly SVGElement[] {
    const { highest, width } = this.#frame;
    const step = roundStep((highest * 40) / depth);
    const count = Math.floor(highest / step + 1e-9) + 1;
    return Array.from({ length: count }, (_, at) => at * step).flatMap((value) => {
      const y = this.#y(value);
      const label = { x: String(left - 8), y: String(y + 4), 'text-anchor': 'end' };
      return [
        svg('path', { class: 'plot-grid', d: `M${left},${Math.round(y) + 0.5}H${width - right}` }),
        svg('text', label, this.#input.axisText(value)),
      ];
    });
  }

  /** The times below the bars, at round hours and days where there is room. */
  #ticks(): readonly SVGElement[] {
    const { startsMs } = this.#data;
    const { slot, width } = this.#frame;
    const stepMs = (startsMs[1] ?? 0) - (startsMs[0] ?? 0);
    const every = roundTime(stepMs, Math.ceil(64 / slot));
    return startsMs.flatMap((ms, index) => {
      if (stepMs > 0 && ms % every !== 0) return [];
      const x = Math.min(Number(this.#x(index)), width - 20);
      const place = { x: String(x), y: String(heightPx - 8), 'text-anchor': 'middle' };
      return [svg('text', place, this.#input.tickText(ms))];
    });
  }
}

/** Coordinates without needless digits. */
function tenths(value: number): string {
  return value.toFixed(1);
}

function known(value: number): number {
  return value || 0;
}

/** The upper end of each part of a bar, by series. */
function sumsOf({ values }: ChartData): readonly (readonly number[])[] {
  const sums: number[][] = [];
  for (const line of values) {
    const below = sums.at(-1);
    sums.push(line.map((value, index) => known(value) + (below?.[index] ?? 0)));
  }
  return sums;
}

/** 1, 2 or 5 with as many zeros as it takes to be at least this. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((times) => times * power >= least) ?? 10) * power;
}

const minuteMs = 60_000;
const roundMinutes = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1_440, 2_880, 10_080, 40_320];

/** A round time of at least so many bars, of which each bar's is a part. */
function roundTime(stepMs: number, bars: number): number {
  const least = stepMs * bars;
  const times = roundMinutes.map((minutes) => minutes * minuteMs);
  return times.find((ms) => ms >= least && ms % stepMs === 0) ?? least;
}
