/** The rows of a report, the most expensive first. */
import type { PageContext } from '../context.ts';
import { type Child, el, link } from '../dom.ts';
import { countText, exactMoney, moneyColumn, shareOf, shortCount } from '../format.ts';
import { shareCell } from '../share-bar.ts';
import { type Column, table } from '../table.ts';
import type { Usage, UsageRow } from '../wire.ts';
import { groupingsOf } from './spend-groupings.ts';

/** The table with a bar for each row. */
export function spendTable({ data, total }: Usage, page: PageContext): HTMLElement {
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
