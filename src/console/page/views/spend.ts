/**
 * Spend: what was charged, by one grouping and then by another, for the time of the range; the last
 * month day by day; and whether the usage log and the quota store agree.
 */

import type { BooksRow, Usage, UsageRow } from '../api.ts';
import { barChart, shareCell } from '../chart.ts';
import type { PageContext, View } from '../context.ts';
import { type Child, el, icon, link } from '../dom.ts';
import {
  countText,
  exactMoney,
  moneyColumn,
  moneyText,
  shareOf,
  shortCount,
  utcDayText,
} from '../format.ts';
import { type Column, empty, type Panel, pager, panel, table } from '../panel.ts';
import { windowOf } from '../range.ts';
import type { Route } from '../route.ts';

export function spendView(page: PageContext): View {
  if (!page.session.capabilities.usageReports) return { node: cannotReport(), show: () => {} };
  const controls = groupingControls(page);
  const pages = pager(() => report.load());
  const csv = el('span', {});
  const report = reportPanel(page, [controls.node, csv, pages.node], pages);
  const days = dayPanel(page);
  const books = booksPanel(page);
  let shown = '';
  return {
    node: el('div', { class: 'spend' }, report.node, days.node, books.node),
    show: (route) => {
      controls.show(route);
      csv.replaceChildren(csvLink(page));
      const key = JSON.stringify([route.range, route.params]);
      if (shown !== '' && shown !== key) {
        pages.reset();
        report.load();
      }
      shown = key;
    },
    close: () => {
      for (const part of [report, days, books]) part.close();
    },
  };
}

function reportPanel(page: PageContext, tools: Child, pages: ReturnType<typeof pager>): Panel {
  return panel<Usage>({
    title: 'Spend',
    what: 'the report',
    tools,
    load: (signal) =>
      page.api.get('/usage', { ...periodOf(page), sort: 'charge', after: pages.after() }, signal),
    render: (usage) => {
      pages.show(usage.next);
      if (usage.data.length === 0) {
        return empty(el('p', {}, `No calls: ${windowOf(page.route().range, page.nowMs()).text}.`));
      }
      return [totals(usage), spendTable(usage, page), periodNote(page)];
    },
  });
}

function cannotReport(): HTMLElement {
  return empty(
    el('p', {}, 'The usage sink of this gateway can’t make reports. '),
    el('p', {}, 'Use sqliteUsageSink or postgresUsageSink.'),
  );
}

function periodOf(page: PageContext): Record<string, string> {
  const { range } = page.route();
  const { fromMs, toMs } = windowOf(range, page.nowMs());
  const { by, second } = groupingsOf(page.route());
  return {
    by: second === undefined ? by : `${by},${second}`,
    fromMs: String(fromMs),
    toMs: String(toMs),
  };
}

function csvLink(page: PageContext): HTMLElement {
  const url = page.api.urlOf('/usage.csv', periodOf(page));
  return link(url, [icon('download'), 'CSV'], { class: 'button', download: 'usage.csv' });
}

function totals({ total }: Usage): HTMLElement {
  const { calls, chargeNanos, unbookedNanos } = total;
  const figure = (name: string, text: string, title?: string): HTMLElement =>
    el('div', { class: 'amount' }, el('b', { title }, text), el('span', { class: 'hint' }, name));
  const amount = (name: string, nanos: string | null): HTMLElement =>
    figure(name, moneyText(nanos), nanos === null ? undefined : exactMoney(nanos));
  return el('div', { class: 'totals' }, [
    amount('charged', chargeNanos),
    amount('of it not booked yet', unbookedNanos),
    amount('your cost', total.costNanos),
    amount('margin', total.marginNanos),
    figure('calls', countText(calls)),
  ]);
}

function periodNote(page: PageContext): HTMLElement {
  const { fromMs = '0', toMs = '0' } = periodOf(page);
  const text = (ms: string): string =>
    new Date(Number(ms)).toISOString().slice(0, 16).replace('T', ' ');
  return el(
    'p',
    { class: 'note' },
    `${text(fromMs)} to ${text(toMs)} UTC, from the usage log of all processes. Amounts are in ` +
      'your currency unit; cost and margin count the calls whose channel states its cost.',
  );
}

function booksPanel(page: PageContext): Panel {
  const today = new Date(page.nowMs()).toISOString().slice(0, 10);
  const month = today.slice(0, 7);
  const period = el('select', { 'aria-label': 'Period of the books' }, [
    el('option', { value: month }, `month ${month}`),
    el('option', { value: today }, `day ${today}`),
    el('option', { value: 'total' }, 'limits without a period'),
  ]);
  const books = panel<{ readonly data: readonly BooksRow[] }>({
    title: 'Usage log and quota store',
    what: 'the books',
    tools: period,
    load: (signal) => {
      const path = period.value === 'total' ? '/books?period=' : `/books?period=${period.value}`;
      return page.api.get(path, {}, signal);
    },
    render: ({ data }) => (data.length === 0 ? agreed() : [differences(data), note()]),
  });
  period.addEventListener('change', books.load);
  return books;
}

function agreed(): Child {
  return empty(
    icon('ok'),
    el('p', {}, 'The usage log and the quota store agree on every charge of this period.'),
  );
}

function differences(rows: readonly BooksRow[]): HTMLElement {
  const amount = (head: string, of: (row: BooksRow) => string): Column<BooksRow> => ({
    head,
    kind: 'number',
    cell: (row) => el('span', { title: exactMoney(of(row)) }, moneyText(of(row))),
  });
  return table<BooksRow>({
    label: 'Where the usage log and the quota store differ',
    columns: [
      {
        head: 'subject',
        kind: 'main',
        cell: ({ subject }) => el('span', { class: 'id' }, subject),
      },
      { head: 'partition', cell: ({ partition }) => partition },
      amount('quota store', ({ usedNanos }) => usedNanos),
      amount('log, booked', ({ bookedNanos }) => bookedNanos),
      amount('log, not booked yet', ({ unbookedNanos }) => unbookedNanos),
      amount('in no record', ({ unloggedNanos }) => unloggedNanos),
    ],
    rows,
    keyOf: ({ partition, subject, period }) => [partition, subject, period].join('\n'),
  });
}

function note(): HTMLElement {
  return el(
    'p',
    { class: 'note' },
    'In no record: a gateway was killed before it wrote the record of a charge. Not booked ' +
      'yet: a store was down; the charge is delivered when it is back.',
  );
}

const dayMs = 86_400_000;
const dayCount = 30;
const nanosPerUnit = 1e9;

/** The chart; it does not depend on the range. */
function dayPanel(page: PageContext): Panel {
  const chart = barChart({
    label: 'Charged per day, in UTC',
    series: [
      { name: 'booked', color: '--complete' },
      { name: 'not booked yet', color: '--refused' },
    ],
    timeName: 'day',
    valueText: (value) => moneyText(BigInt(Math.round(value * nanosPerUnit))),
    axisText: (value) => countText(value),
    tickText: utcDayText,
    barText: utcDayText,
  });
  const inner = panel<Usage>({
    title: 'Charged per day, UTC',
    what: 'the last thirty days',
    load: (signal) => {
      const toMs = (Math.floor(page.nowMs() / dayMs) + 1) * dayMs;
      const fromMs = toMs - dayCount * dayMs;
      const query = { by: 'day', fromMs: String(fromMs), toMs: String(toMs), sort: 'name' };
      return page.api.get('/usage', query, signal);
    },
    render: (usage) => {
      if (usage.data.length === 0) return empty(el('p', {}, 'There were no calls in thirty days.'));
      chart.update(dataOf(usage, page.nowMs()));
      return chart.node;
    },
  });
  return {
    ...inner,
    close: () => {
      inner.close();
      chart.close();
    },
  };
}

/** The report has no rows for days without calls. */
function dataOf({ data }: Usage, nowMs: number) {
  const rows = new Map(data.map((row) => [row.names[0], row]));
  const todayMs = Math.floor(nowMs / dayMs) * dayMs;
  const startsMs = Array.from(
    { length: dayCount },
    (_, index) => todayMs - (dayCount - 1 - index) * dayMs,
  );
  const found = startsMs.map((ms) => rows.get(new Date(ms).toISOString().slice(0, 10)));
  const units = (nanos: bigint): number => Number(nanos) / nanosPerUnit;
  return {
    startsMs,
    values: [
      found.map((row) =>
        row === undefined ? 0 : units(BigInt(row.chargeNanos) - BigInt(row.unbookedNanos)),
      ),
      found.map((row) => (row === undefined ? 0 : units(BigInt(row.unbookedNanos)))),
    ],
  };
}

function spendTable({ data, total }: Usage, page: PageContext): HTMLElement {
  const { by, second } = groupingsOf(page.route());
  const money = moneyColumn(data.map(({ chargeNanos }) => chargeNanos));
  const amount = (head: string, of: (row: UsageRow) => string | null): Column<UsageRow> => ({
    head,
    kind: 'number',
    cell: (row) => {
      const nanos = of(row);
      return el('span', { title: nanos === null ? undefined : exactMoney(nanos) }, money(nanos));
    },
  });
  return table<UsageRow>({
    label: 'Spend, the most expensive first',
    columns: [
      nameColumn(by, 0, page),
      ...(second === undefined ? [] : [nameColumn(second, 1, page)]),
      {
        head: 'share',
        kind: 'share',
        cell: ({ chargeNanos }) => shareCell(shareOf(chargeNanos, total.chargeNanos), '--complete'),
      },
      amount('charged', ({ chargeNanos }) => chargeNanos),
      amount('cost', (row) => row.costNanos),
      amount('margin', (row) => row.marginNanos),
      { head: 'calls', kind: 'number', cell: ({ calls }) => countText(calls) },
      { head: 'tokens in', kind: 'number', cell: ({ inputTokens }) => tokens(inputTokens) },
      { head: 'tokens out', kind: 'number', cell: ({ outputTokens }) => tokens(outputTokens) },
      { head: 'images', kind: 'number', cell: ({ images }) => countText(images) },
    ],
    rows: data,
    keyOf: ({ names }) => names.join('\n'),
  });
}

function tokens(count: number): Child {
  return el('span', { title: countText(count) }, shortCount(count));
}

/** A name links to its calls, if calls can be filtered by it. */
function nameColumn(grouping: string, index: number, page: PageContext): Column<UsageRow> {
  const filters = ['key', 'model', 'channel', 'outcome'];
  return {
    head: grouping,
    ...(index === 0 ? { kind: 'main' } : {}),
    cell: ({ names }) => {
      const name = names[index] ?? '';
      if (name === '') return el('span', { class: 'hint' }, `without ${grouping}`);
      if (!filters.includes(grouping)) return el('span', { class: 'id' }, name);
      const href = page.href({ view: 'calls', params: { [grouping]: name } });
      return link(href, name, { class: 'id', 'data-focus': `${index} ${names.join(' ')}` });
    },
  };
}

const usual = ['model', 'key', 'group', 'channel', 'day', 'outcome'] as const;
const metadata = 'metadata.';

function groupingsOf({ params }: Route) {
  const by = known(params.by) ?? 'model';
  const second = known(params.second);
  return { by, second: second === by ? undefined : second };
}

function known(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const isMetadata = name.startsWith(metadata) && name.length > metadata.length;
  return isMetadata ? name : usual.find((grouping) => grouping === name);
}

function groupingControls(page: PageContext): Pick<View, 'node' | 'show'> {
  const by = grouping('by', 'by');
  const second = grouping('second', 'then by');
  const apply = (): void =>
    page.go({ view: 'spend', params: { by: by.value(), second: second.value() } });
  by.onChange(apply);
  second.onChange(apply);
  return {
    node: el('div', { class: 'groupings' }, by.node, second.node),
    show: (route) => {
      const shown = groupingsOf(route);
      by.show(shown.by);
      second.show(shown.second ?? '');
    },
  };
}

function grouping(name: string, label: string) {
  const select = el('select', { id: `grouping-${name}` }, [
    name === 'second' ? el('option', { value: '' }, 'nothing else') : undefined,
    usual.map((value) => el('option', { value }, value)),
    el('option', { value: metadata }, 'metadata …'),
  ]);
  const field = el('input', {
    'aria-label': `Name of the metadata, ${label}`,
    placeholder: 'name',
    maxlength: '128',
    autocomplete: 'off',
    hidden: true,
  });
  return {
    node: el('span', { class: 'grouping' }, el('label', { for: select.id }, label), select, field),
    value: () => (select.value === metadata ? `${metadata}${field.value.trim()}` : select.value),
    show: (value: string) => {
      const isMetadata = value.startsWith(metadata);
      select.value = isMetadata ? metadata : value;
      field.hidden = !isMetadata;
      field.value = isMetadata ? value.slice(metadata.length) : '';
    },
    onChange: (apply: () => void) => {
      field.addEventListener('change', apply);
      select.addEventListener('change', () => {
        field.hidden = select.value !== metadata;
        if (field.hidden) apply();
        else field.focus();
      });
    },
  };
}
