/**
 * Spend: what was charged in a window, by one grouping and then by another, compared with the
 * window before; the window over time; and whether the usage log and the quota store agree.
 */
import type { BooksRow, Usage, UsageRow } from '../../api.ts';
import { shareCell } from '../../chart.ts';
import type { PageContext, View } from '../../context.ts';
import { type Child, el, icon, link } from '../../dom.ts';
import {
  countText,
  exactMoney,
  moneyText,
  percentText,
  shareOf,
  shortCount,
  wordsOf,
} from '../../format.ts';
import { type Column, empty, type Panel, pager, panel, table } from '../../panel.ts';
import { previousWindow, type Window } from '../../range.ts';
import { chartPanel } from './spend-chart.ts';
import {
  callsHref,
  groupingControls,
  groupingsOf,
  isTime,
  selectionOf,
  shownWindow,
  spanOf,
} from './spend-controls.ts';

export function spendView(page: PageContext): View {
  if (!page.session.capabilities.usageReports) return { node: cannotReport(), show: () => {} };
  const controls = groupingControls(page);
  const pages = pager(() => report.load());
  const csv = el('span', {});
  const filters = el('div', { class: 'choices' });
  const report = reportPanel(page, [controls.node, csv, pages.node], pages);
  const chart = chartPanel(page);
  const books = booksPanel(page);
  let shown = keyOf(page);
  return {
    node: el('div', { class: 'spend' }, filters, report.node, chart.node, books.node),
    show: (route) => {
      controls.show(route);
      chart.show();
      csv.replaceChildren(csvLink(page));
      const chosen = filterLinks(page);
      filters.hidden = chosen.length === 0;
      filters.replaceChildren(...chosen);
      const key = keyOf(page);
      if (shown.report !== key.report) {
        pages.reset();
        report.load();
      }
      if (shown.report !== key.report || shown.measure !== key.measure) chart.load();
      shown = key;
    },
    close: () => {
      for (const part of [report, chart, books]) part.close();
    },
  };
}

function keyOf(page: PageContext) {
  const { range, params } = page.route();
  const { measure, ...rest } = params;
  return { measure, report: JSON.stringify([range, rest]) };
}

interface Compared {
  readonly usage: Usage;
  readonly before: Usage;
  readonly window: Window;
  readonly beforeText: string;
}

function reportPanel(page: PageContext, tools: Child, pages: ReturnType<typeof pager>): Panel {
  return panel<Compared>({
    title: 'Spend',
    what: 'the report',
    tools,
    load: (signal) => load(page, pages.after(), signal),
    render: ({ usage, before, window, beforeText }) => {
      pages.show(usage.next);
      if (usage.data.length === 0) return empty(el('p', {}, `No calls: ${window.text}.`));
      return [
        totals(usage.total, before.total, beforeText),
        spendTable(usage, page),
        windowNote(window),
      ];
    },
  });
}

async function load(
  page: PageContext,
  after: string | undefined,
  signal: AbortSignal,
): Promise<Compared> {
  const window = shownWindow(page);
  const earlier = previousWindow(page.route().range, page.nowMs());
  const query = reportQuery(page);
  const [usage, before] = await Promise.all([
    page.api.get<Usage>('/usage', { ...query, after }, signal),
    page.api.get<Usage>('/usage', { ...query, ...spanOf(earlier), limit: '1' }, signal),
  ]);
  return { usage, before, window, beforeText: earlier.text };
}

function reportQuery(page: PageContext): Record<string, string | undefined> {
  const route = page.route();
  const { by, second } = groupingsOf(route);
  return {
    ...selectionOf(route),
    ...spanOf(shownWindow(page)),
    by: second === undefined ? by : `${by},${second}`,
  };
}

function cannotReport(): HTMLElement {
  return empty(
    el('p', {}, 'The usage sink of this gateway can’t make reports. '),
    el('p', {}, 'Use sqliteUsageSink or postgresUsageSink.'),
  );
}

function csvLink(page: PageContext): HTMLElement {
  const url = page.api.urlOf('/usage.csv', reportQuery(page));
  const title = `All rows of ${shownWindow(page).text}, in nanos and in units`;
  return link(url, [icon('download'), 'CSV'], { class: 'button', download: 'usage.csv', title });
}

/** The filters of the report, each of which can be taken away. */
function filterLinks(page: PageContext): readonly HTMLElement[] {
  const { params } = page.route();
  return ['key', 'model', 'channel', 'outcome', 'group'].flatMap((name) => {
    const { [name]: value, ...others } = params;
    if (value === undefined || value === '') return [];
    const label = `${name} ${wordsOf(value)}`;
    const href = page.href({ view: 'spend', params: others });
    return [
      link(href, [label, icon('close')], { class: 'button', 'aria-label': `Without ${label}` }),
    ];
  });
}

function windowNote({ text, fromMs, toMs }: Window): HTMLElement {
  const time = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return el(
    'p',
    { class: 'note' },
    `${first}: ${time(fromMs)} to ${time(toMs)} UTC, from the usage log of all processes. ` +
      'Cost and margin count the calls whose channel states its cost.',
  );
}

/** Whether the usage log and the quota store agree. */
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
    render: ({ data }) => (data.length === 0 ? booksAgree() : [booksTable(data), booksNote()]),
  });
  period.addEventListener('change', books.load);
  return books;
}

function booksAgree(): Child {
  return empty(
    icon('ok'),
    el('p', {}, 'The usage log and the quota store agree on every charge of this period.'),
  );
}

function booksTable(rows: readonly BooksRow[]): HTMLElement {
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
      amount('log, not charged', ({ unbookedNanos }) => unbookedNanos),
      amount('in no record', ({ unloggedNanos }) => unloggedNanos),
    ],
    rows,
    keyOf: ({ partition, subject, period }) => [partition, subject, period].join('\n'),
  });
}

function booksNote(): HTMLElement {
  return el(
    'p',
    { class: 'note' },
    'In no record: a gateway was killed before it wrote the record of a charge. Not ' +
      'charged: a store was down; the charge is delivered when it is back.',
  );
}

type Totals = Usage['total'];

/** The sums, each with how it compares with the window before. */
function totals(total: Totals, before: Totals, beforeText: string): HTMLElement {
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

function spendTable({ data, total }: Usage, page: PageContext): HTMLElement {
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
