/** The sums of the window beside those of the one before, and the rows of the grouping. */
import type { Usage, UsageRow } from '../../api.ts';
import { shareCell } from '../../chart.ts';
import type { PageContext } from '../../context.ts';
import { type Child, el, link } from '../../dom.ts';
import {
  countText,
  exactMoney,
  moneyText,
  percentText,
  shareOf,
  shortCount,
} from '../../format.ts';
import { type Column, table } from '../../panel.ts';
import { callsHref, groupingsOf, isTime } from './spend-controls.ts';

type Totals = Usage['total'];

/** The sums, each with how it compares with the window before. */
export function totals(total: Totals, before: Totals, beforeText: string): HTMLElement {
  const figure = (name: string, text: string, change: Child, title?: string): HTMLElement =>
    el('div', { class: 'amount' }, [
      el('b', { title }, text),
      el('span', { class: 'hint' }, name),
      change,
    ]);
  const amount = (name: string, of: (sums: Totals) => string | null): HTMLElement => {
    const nanos = of(total);
    const title = nanos === null ? undefined : exactMoney(nanos);
    return figure(name, moneyText(nanos), changeOf(nanos, of(before)), title);
  };
  const counted = (name: string, text: string, of: (sums: Totals) => number): HTMLElement =>
    figure(name, text, changeOf(of(total), of(before)), countText(of(total)));
  const tokensOf = (sums: Totals): number => sums.inputTokens + sums.outputTokens;
  return el('div', { class: 'totals' }, [
    amount('charged', ({ chargeNanos }) => chargeNanos),
    total.unbookedNanos === '0'
      ? undefined
      : figure('not charged', moneyText(total.unbookedNanos), undefined, notCharged),
    amount('your cost', ({ costNanos }) => costNanos),
    amount('margin', ({ marginNanos }) => marginNanos),
    counted('calls', countText(total.calls), ({ calls }) => calls),
    counted('tokens', shortCount(tokensOf(total)), tokensOf),
    el('p', { class: 'note compared' }, `Compared with ${beforeText}.`),
  ]);
}

const notCharged = 'The quota store has not accepted these charges, or not yet.';

/** `+12 %`; nothing where there is nothing to compare with. */
function changeOf(now: string | number | null, before: string | number | null): Child {
  const [value, old] = [Number(now), Number(before)];
  if (now === null || before === null || old === 0) return undefined;
  const percent = Math.round(((value - old) / Math.abs(old)) * 100);
  const sign = percent > 0 ? '+' : percent < 0 ? '−' : '±';
  return el('span', { class: 'change' }, `${sign}${countText(Math.abs(percent))} %`);
}

export function spendTable({ data, total }: Usage, page: PageContext): HTMLElement {
  const { by, second } = groupingsOf(page.route());
  const largest = data.reduce((most, { chargeNanos }) => {
    return BigInt(chargeNanos) > most ? BigInt(chargeNanos) : most;
  }, 0n);
  const amount = (head: string, of: (row: UsageRow) => string | null): Column<UsageRow> => ({
    head,
    kind: 'number',
    cell: (row) => {
      const nanos = of(row);
      if (nanos === null) return '–';
      return el('span', { title: exactMoney(nanos) }, moneyText(nanos, largest));
    },
  });
  const counts = (head: string, of: (row: UsageRow) => Child): Column<UsageRow> => ({
    head,
    kind: 'number',
    cell: of,
  });
  return table<UsageRow>({
    label: isTime(by) ? 'Spend, the latest first' : 'Spend, the most expensive first',
    columns: [
      nameColumn(by, 0, page),
      ...(second === undefined ? [] : [nameColumn(second, 1, page)]),
      {
        head: 'share',
        kind: 'share',
        cell: ({ chargeNanos }) => shareCell(shareOf(chargeNanos, total.chargeNanos), '--complete'),
      },
      amount('charged', ({ chargeNanos }) => chargeNanos),
      ...(total.costNanos === null
        ? []
        : [
            amount('cost', ({ costNanos }) => costNanos),
            amount('margin', ({ marginNanos }) => marginNanos),
          ]),
      counts('calls', ({ calls }) => countText(calls)),
      counts('tokens in', ({ inputTokens }) => tokens(inputTokens)),
      counts('cached', cached),
      counts('tokens out', ({ outputTokens }) => tokens(outputTokens)),
      counts('tokens/s', speed),
      ...(total.images === 0 ? [] : [counts('images', ({ images }) => countText(images))]),
    ],
    rows: data,
    keyOf: ({ names }) => names.join('\n'),
  });
}

function tokens(count: number): Child {
  return el('span', { title: countText(count) }, shortCount(count));
}

/** The share of the prompt tokens that the provider had in its cache. */
function cached({ inputTokens, cachedInputTokens }: UsageRow): Child {
  if (cachedInputTokens === 0) return '–';
  const title = `${countText(cachedInputTokens)} tokens from the cache of the provider`;
  return el('span', { title }, percentText(cachedInputTokens / inputTokens));
}

function speed({ outputTokens, outputMs }: UsageRow): Child {
  if (outputMs === 0) return '–';
  const rate = (outputTokens / outputMs) * 1_000;
  const title = 'Tokens of replies per second, from the start of a call to its end';
  return el('span', { title }, rate < 10 ? rate.toFixed(1) : countText(Math.round(rate)));
}

/** A name leads to the calls of its row, if calls can be listed by all its names. */
function nameColumn(grouping: string, index: number, page: PageContext): Column<UsageRow> {
  return {
    head: isTime(grouping) ? `${grouping} (UTC)` : grouping,
    ...(index === 0 ? { kind: 'main' } : {}),
    cell: ({ names }) => {
      const name = names[index] ?? '';
      if (name === '') return el('span', { class: 'hint' }, `without ${grouping}`);
      const { by, second } = groupingsOf(page.route());
      const groupings = second === undefined ? [by] : [by, second];
      const whole = groupings.map((one, at) => [one, names[at] ?? ''] as const);
      const href = callsHref(page, whole) ?? callsHref(page, [[grouping, name]]);
      const text = grouping === 'hour' ? name.replace('T', ' ').replace('Z', '') : name;
      if (href === undefined) return el('span', { class: 'id' }, text);
      return link(href, text, { class: 'id', 'data-focus': `${index} ${names.join(' ')}` });
    },
  };
}
