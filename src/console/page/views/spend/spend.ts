/**
 * Spend: what was charged in a window, by one grouping and then by another, compared with the
 * window before; the window over time; and whether the usage log and the quota store agree.
 */
import type { BooksRow, Usage } from '../../api.ts';
import type { PageContext, View } from '../../context.ts';
import { type Child, el, icon, link } from '../../dom.ts';
import { exactMoney, moneyText, wordsOf } from '../../format.ts';
import { type Column, empty, type Panel, pager, panel, table } from '../../panel.ts';
import { previousWindow, type Window } from '../../range.ts';
import { chartPanel } from './spend-chart.ts';
import {
  groupingControls,
  groupingsOf,
  selectionOf,
  shownWindow,
  spanOf,
} from './spend-controls.ts';
import { spendTable, totals } from './spend-table.ts';

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
