/** Whether the usage log and the quota store agree. */
import type { BooksRow } from '../../api.ts';
import type { PageContext } from '../../context.ts';
import { type Child, el, icon } from '../../dom.ts';
import { exactMoney, moneyText } from '../../format.ts';
import { type Column, empty, type Panel, panel, table } from '../../panel.ts';

export function booksPanel(page: PageContext): Panel {
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
      amount('log, not charged', ({ unbookedNanos }) => unbookedNanos),
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
    'In no record: a gateway was killed before it wrote the record of a charge. Not ' +
      'charged: a store was down; the charge is delivered when it is back.',
  );
}
