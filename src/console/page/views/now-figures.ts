/** The four figures of Now, each with a line of its recent values. */
import { type Child, el } from '../dom.ts';
import { countText, durationText, exactMoney, moneyText, percentText } from '../format.ts';
import { sparkline } from '../sparkline.ts';
import type { Bucket, Now } from '../wire.ts';

/** Calls, success, first byte and spend. */
export function figuresOf(now: Now): readonly HTMLElement[] {
  return [callsFigure(now), successFigure(now), firstByteFigure(now), spendFigure(now)];
}

const hourMs = 3_600_000;

interface Figure {
  readonly label: string;
  readonly value: Child;
  readonly more: Child;
  readonly line: readonly (number | undefined)[];
  readonly name: string;
}

function figure({ label, value, more, line, name }: Figure): HTMLElement {
  return el(
    'section',
    { class: `figure figure-${name}`, 'aria-label': label },
    el('h2', {}, label),
    el('p', { class: 'figure-value' }, value),
    el('p', { class: 'figure-more' }, more),
    sparkline(line),
  );
}

function totalOf({ complete, refused, failed, left }: Bucket): number {
  return complete + refused + failed + left;
}

/** The current bucket is incomplete, so the rate is that of the bucket before. */
function callsFigure({ buckets, bucketMs }: Now): HTMLElement {
  const last = buckets.at(-2) ?? buckets.at(-1);
  const count = last === undefined ? 0 : totalOf(last);
  const rate = count / (bucketMs / 1_000);
  const total = buckets.reduce((sum, bucket) => sum + totalOf(bucket), 0);
  return figure({
    name: 'calls',
    label: 'Requests',
    value: [rateText(rate), unit('/s')],
    more: [
      el('b', {}, countText(count)),
      ` in the last ${bucketMs < hourMs ? 'minute' : bucketMs < 24 * hourMs ? 'hour' : 'day'}, `,
      el('b', {}, countText(total)),
      ' in all',
    ],
    line: buckets.slice(0, -1).map(totalOf),
  });
}

function rateText(rate: number): string {
  if (rate >= 10) return countText(Math.round(rate));
  return rate.toFixed(rate > 0 && rate < 1 ? 2 : 1);
}

function successFigure({ buckets }: Now): HTMLElement {
  const sum = (name: 'complete' | 'refused' | 'failed' | 'left'): number =>
    buckets.reduce((total, bucket) => total + bucket[name], 0);
  const total = buckets.reduce((all, bucket) => all + totalOf(bucket), 0);
  const parts = (['refused', 'failed', 'left'] as const).map((name) =>
    el(
      'span',
      { class: 'part' },
      el('span', { class: `swatch swatch--${name}`, 'aria-hidden': 'true' }),
      `${countText(sum(name))} ${name}`,
    ),
  );
  return figure({
    name: 'success',
    label: 'Complete',
    value: total === 0 ? '–' : percentText(sum('complete') / total),
    more: parts,
    line: buckets.map((bucket) => shareOfComplete(bucket)),
  });
}

function shareOfComplete(bucket: Bucket): number | undefined {
  const total = totalOf(bucket);
  return total === 0 ? undefined : bucket.complete / total;
}

function firstByteFigure({ buckets, firstByteP50Ms, firstByteP95Ms }: Now): HTMLElement {
  return figure({
    name: 'first-byte',
    label: 'First byte',
    value: durationText(firstByteP50Ms),
    more: ['median; 95 % within ', el('b', {}, durationText(firstByteP95Ms))],
    line: buckets.map(({ firstByteP50Ms: value }) => value ?? undefined),
  });
}

function spendFigure({ buckets, today }: Now): HTMLElement {
  const line = buckets.slice(0, -1).map(({ chargeNanos }) => Number(chargeNanos));
  if (today === null) {
    const charges = buckets.reduce((sum, bucket) => sum + BigInt(bucket.chargeNanos), 0n);
    const more = 'in this time, by this process';
    return figure({ name: 'spend', label: 'Spend', value: moneyText(charges), more, line });
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

function unit(text: string): HTMLElement {
  return el('span', { class: 'unit' }, text);
}
