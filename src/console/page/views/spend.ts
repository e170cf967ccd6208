/**
 * Spend: what was charged, by one grouping and then by another, for the time of the range; the last
 * month day by day; and whether the usage log and the quota store agree.
 */
import type { PageContext, View } from '../context.ts';
import { type Child, el, link } from '../dom.ts';
import { countText, exactMoney, moneyText } from '../format.ts';
import { icon } from '../icons.ts';
import { pager } from '../pager.ts';
import { empty, type Panel, panel } from '../panel.ts';
import { rangeMs } from '../route.ts';
import type { Usage } from '../wire.ts';
import { booksPanel } from './spend-books.ts';
import { dayPanel } from './spend-days.ts';
import { groupingControls, groupingsOf } from './spend-groupings.ts';
import { spendTable } from './spend-table.ts';

/** Opens the view. */
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
        return empty(el('p', {}, `There were no calls in the last ${page.route().range}.`));
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

/** The parameters of a report. */
function periodOf(page: PageContext): Record<string, string> {
  const { range } = page.route();
  const toMs = Math.ceil(page.nowMs());
  const { by, second } = groupingsOf(page.route());
  return {
    by: second === undefined ? by : `${by},${second}`,
    fromMs: String(toMs - rangeMs[range]),
    toMs: String(toMs),
  };
}

function csvLink(page: PageContext): HTMLElement {
  const url = page.api.urlOf('/usage.csv', periodOf(page));
  return link(url, [icon('download'), 'CSV'], { class: 'button', download: 'usage.csv' });
}

function totals({ total }: Usage): HTMLElement {
  const { calls, chargeNanos, unbookedNanos } = total;
  const amount = (name: string, nanos: string | null): HTMLElement =>
    el(
      'div',
      { class: 'amount' },
      el('b', { title: nanos === null ? undefined : exactMoney(nanos) }, moneyText(nanos)),
      el('span', { class: 'hint' }, name),
    );
  return el(
    'div',
    { class: 'totals' },
    amount('charged', chargeNanos),
    amount('of it not booked yet', unbookedNanos),
    amount('your cost', total.costNanos),
    amount('margin', total.marginNanos),
    el(
      'div',
      { class: 'amount' },
      el('b', {}, countText(calls)),
      el('span', { class: 'hint' }, 'calls'),
    ),
  );
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
