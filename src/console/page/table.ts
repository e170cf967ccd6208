/** Tables that become cards on a narrow screen: each cell knows the name of its column. */
import { type Child, el } from './dom.ts';

export interface Column<T> {
  readonly head: string;
  /** Numbers stand to the right; `main` is the title of a card. */
  readonly kind?: 'number' | 'share' | 'main' | 'action' | 'wide';
  cell(row: T): Child;
}

export interface TableInput<T> {
  /** For screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  keyOf(row: T): string;
  /** What a click on a row does, in addition to the link in it. */
  open?(row: T): void;
  rowClass?(row: T): string | undefined;
}

export function table<T>(input: TableInput<T>): HTMLElement {
  const { label, columns, rows } = input;
  const head = columns.map(({ head: name, kind = 'text' }) =>
    el('th', { scope: 'col', class: kind }, name),
  );
  return el('div', { class: 'table-place' }, [
    el('table', { class: 'cards' }, [
      el('caption', { class: 'only-read' }, label),
      el('thead', {}, el('tr', {}, head)),
      el('tbody', {}, [rows.map((row) => rowOf(row, input))]),
    ]),
  ]);
}

function rowOf<T>(row: T, { columns, keyOf, open, rowClass }: TableInput<T>): HTMLElement {
  const cells = columns.map(({ head, kind = 'text', cell }) =>
    el('td', { class: kind, 'data-head': head }, cell(row)),
  );
  const node = el('tr', { 'data-key': keyOf(row), class: rowClass?.(row) }, cells);
  if (open !== undefined) {
    node.classList.add('opens');
    node.addEventListener('click', ({ target }) => {
      if (target instanceof Element && target.closest('a, button, input') === null) open(row);
    });
  }
  return node;
}
