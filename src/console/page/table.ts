/**
 * Tables that become cards on a narrow screen, where each cell knows the name of its column; and
 * the pages of a long one.
 */
import { button, type Child, el, refill } from './dom.ts';

export interface Column<T> {
  readonly head: string;
  /** Numbers stand to the right; `main` is the title of a card. */
  readonly kind?: 'number' | 'share' | 'main' | 'action' | 'wide';
  cell(row: T): Child;
}

interface TableInput<T> {
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

/** Pages through a list. Cursors only lead forwards, so the earlier ones are remembered. */
export function pager(load: () => void) {
  const node = el('div', { class: 'pager' });
  let cursors: readonly (string | undefined)[] = [undefined];
  const go = (next: readonly (string | undefined)[]): void => {
    cursors = next;
    load();
  };
  return {
    node,
    /** Where the page begins; undefined for the first. */
    after: () => cursors.at(-1),
    /** A page was loaded, with the cursor of the next one. */
    show: (next: string | null): void => {
      const back = button('Previous', () => go(cursors.slice(0, -1)), {
        'data-focus': 'previous',
        disabled: cursors.length < 2,
      });
      const forth = button('Next', () => next !== null && go([...cursors, next]), {
        'data-focus': 'next',
        disabled: next === null,
      });
      const isOnly = cursors.length < 2 && next === null;
      const place = el('span', { class: 'hint' }, `page ${cursors.length}`);
      refill(node, isOnly ? undefined : [place, back, forth]);
    },
    reset: (): void => {
      cursors = [undefined];
    },
  };
}
