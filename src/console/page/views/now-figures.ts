/** The four figures of Now, each with a small line of its recent values. */
import type { Bucket, Now } from '../api.ts';
import { type Child, el, svg } from '../dom.ts';
import {
  countText,
  durationText,
  exactMoney,
  minuteText,
  moneyText,
  rateOf,
  sinceText,
  utcDayText,
} from '../format.ts';

export function figuresOf(now: Now): readonly HTMLElement[] {
  return [callsFigure(now), errorFigure(now), firstByteFigure(now), spendFigure(now)];
}

const dayMs = 86_400_000;

interface Figure {
  readonly label: string;
  readonly value: Child;
  readonly more: Child;
  readonly line: readonly (number | undefined)[];
  readonly name: string;
}

function figure({ label, value, more, line, name }: Figure): HTMLElement {
  return el('section', { class: `figure figure-${name}`, 'aria-label': label }, [
    el('h2', {}, label),
    el('p', { class: 'figure-value' }, value),
    el('p', { class: 'figure-more' }, more),
    sparkline(line),
  ]);
}

/** The first minute, hour or day, or when the process began to count. */
export function sinceMsOf({ source, buckets, startedAtMs, nowMs }: Now): number {
  const firstMs = buckets[0]?.startMs ?? nowMs;
  return source === 'process' ? Math.max(firstMs, startedAtMs) : firstMs;
}

function totalOf({ complete, refused, failed, left }: Bucket): number {
  return complete + (refused ?? 0) + failed + left;
}

export function sumOf(
  { buckets }: Pick<Now, 'buckets'>,
  name: 'complete' | 'refused' | 'failed' | 'left',
): number | null {
  if (buckets.some((bucket) => bucket[name] === null)) return null;
  return buckets.reduce((sum, bucket) => sum + (bucket[name] ?? 0), 0);
}

/** The current bucket is incomplete, so the rate is that of the bucket before. */
function callsFigure(now: Now): HTMLElement {
  const { buckets, bucketMs, dayBefore, nowMs } = now;
  const last = buckets.at(-2) ?? buckets.at(-1);
  const count = last === undefined ? 0 : totalOf(last);
  const [rate, unit] = rateOf(count, bucketMs);
  const total = buckets.reduce((sum, bucket) => sum + totalOf(bucket), 0);
  return figure({
    name: 'calls',
    label: sumOf(now, 'refused') === null ? 'Calls' : 'Requests',
    value: [rate, el('span', { class: 'unit' }, unit)],
    more: [
      el('b', {}, countText(count)),
      ` ${bucketText(last?.startMs ?? nowMs, bucketMs)}, `,
      el('b', {}, countText(total)),
      ` ${sinceText(sinceMsOf(now), nowMs)}`,
      dayBefore === null ? undefined : `; a day before ${beforeText(dayBefore)}`,
    ],
    line: buckets.slice(0, -1).map(totalOf),
  });
}

/** The log knows all processes, and its calls are those that held something. */
function beforeText(before: NonNullable<Now['dayBefore']>): string {
  return `${countText(callsOf(before))} calls in all processes`;
}

function bucketText(ms: number, lengthMs: number): string {
  if (lengthMs >= dayMs) return `on ${utcDayText(ms)} (UTC)`;
  return `from ${minuteText(ms)} to ${minuteText(ms + lengthMs)}`;
}

/** Failed of all calls; a refused request is no call, and most are mistakes of callers. */
function errorFigure(now: Now): HTMLElement {
  const { buckets, dayBefore, nowMs } = now;
  const sums = (['complete', 'failed', 'left'] as const).map((name) => sumOf(now, name) ?? 0);
  const [complete = 0, failed = 0, left = 0] = sums;
  const parts = (['failed', 'refused', 'left'] as const).map((name) =>
    el('span', { class: 'part' }, [
      el('span', { class: `swatch swatch--${name}`, 'aria-hidden': 'true' }),
      `${countText(sumOf(now, name))} ${name}`,
    ]),
  );
  return figure({
    name: 'errors',
    label: `Error rate ${sinceText(sinceMsOf(now), nowMs)}`,
    value: shareText(failed, complete + failed + left),
    more: [
      parts,
      dayBefore === null
        ? undefined
        : el(
            'span',
            { class: 'part' },
            `${shareText(dayBefore.failed, callsOf(dayBefore))} a day before`,
          ),
    ],
    line: buckets.map((bucket) => {
      const calls = callsOf(bucket);
      return calls === 0 ? undefined : bucket.failed / calls;
    }),
  });
}

/** Rounded up, so that no failure reads as none. */
function shareText(part: number, whole: number): string {
  if (whole === 0) return '–';
  return `${(Math.ceil((1_000 * part) / whole) / 10).toFixed(1)} %`;
}

function callsOf({ complete, failed, left }: Pick<Bucket, 'complete' | 'failed' | 'left'>): number {
  return complete + failed + left;
}

function firstByteFigure(now: Now): HTMLElement {
  const { buckets, firstByteP50Ms, firstByteP95Ms, dayBefore, nowMs } = now;
  return figure({
    name: 'first-byte',
    label: `First byte ${sinceText(sinceMsOf(now), nowMs)}`,
    value: durationText(firstByteP50Ms),
    more: [
      'median; p95 ',
      el('b', {}, durationText(firstByteP95Ms)),
      dayBefore === null || dayBefore.firstByteP95Ms === null
        ? undefined
        : `, ${durationText(dayBefore.firstByteP95Ms)} a day before`,
    ],
    line: buckets.map(({ firstByteP50Ms: value }) => value ?? undefined),
  });
}

function spendFigure(now: Now): HTMLElement {
  const { buckets, today, nowMs } = now;
  const line = buckets.slice(0, -1).map(({ chargeNanos }) => Number(chargeNanos));
  if (today === null) {
    const charges = buckets.reduce((sum, bucket) => sum + BigInt(bucket.chargeNanos), 0n);
    const label = `Spend ${sinceText(sinceMsOf(now), nowMs)}`;
    const more = 'by this process';
    return figure({ name: 'spend', label, value: moneyText(charges), more, line });
  }
  const { chargeNanos, unbookedNanos } = today;
  const booked = BigInt(chargeNanos) - BigInt(unbookedNanos);
  const waiting = BigInt(unbookedNanos);
  return figure({
    name: 'spend',
    label: 'Spend today (UTC)',
    value: el('span', { title: exactMoney(chargeNanos) }, moneyText(chargeNanos)),
    more:
      waiting === 0n
        ? 'all of it booked'
        : [`${moneyText(booked)} booked, `, el('b', {}, moneyText(waiting)), ' not yet'],
    line,
  });
}

const width = 120;
const height = 32;

/** The line and the area below it. Values that are not known leave a gap. */
function sparkline(values: readonly (number | undefined)[]): SVGSVGElement {
  const highest = Math.max(0, ...values.map((value) => value ?? 0));
  const runs = runsOf(values);
  const node = svg('svg', {
    ...{ viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none' },
    ...{ class: 'sparkline', 'aria-hidden': 'true' },
  });
  for (const run of runs) {
    const points = run.map(({ index, value }) => pointOf(index, value, values.length, highest));
    const line = `M${points.join('L')}`;
    const [first = '', last = ''] = [points[0], points.at(-1)];
    const area = `${line}L${last.split(',')[0]},${height}L${first.split(',')[0]},${height}Z`;
    node.append(pathOf(area, 'spark-area'), pathOf(line, 'spark-line'));
  }
  return node;
}

interface Point {
  readonly index: number;
  readonly value: number;
}

/** The stretches without a gap. */
function runsOf(values: readonly (number | undefined)[]): readonly (readonly Point[])[] {
  const runs: Point[][] = [];
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    const last = runs.at(-1);
    if (last?.at(-1)?.index === index - 1) last.push({ index, value });
    else runs.push([{ index, value }]);
  }
  return runs;
}

function pointOf(index: number, value: number, length: number, highest: number): string {
  const x = length < 2 ? 0 : (index * width) / (length - 1);
  const y = highest === 0 ? height - 1 : height - 1 - (value / highest) * (height - 3);
  return `${x.toFixed(1)},${y.toFixed(1)}`;
}

function pathOf(d: string, name: string): SVGPathElement {
  return svg('path', { d, class: name, 'vector-effect': 'non-scaling-stroke' });
}
