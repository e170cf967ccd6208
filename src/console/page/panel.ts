/**
 * The parts of a view. One that loads its own data is loading, shown, empty or failed: a failed
 * panel has its own error and a way to try again, and the rest of the page still works. On a narrow
 * screen the rows of a table become cards, where each cell knows the name of its column.
 */
import { isAborted, messageOf } from './api.ts';
import { button, type Child, el, icon, refill } from './dom.ts';

export type Panel = ReturnType<typeof panel>;

interface PanelInput<T> {
  readonly title: string;
  /** What is loaded, as in `Loading calls …`. */
  readonly what: string;
  readonly tools?: Child;
  load(signal: AbortSignal): Promise<T>;
  render(data: T): Child;
}

/** Creates a panel, and loads it. */
export function panel<T>({ title, what, tools, load, render }: PanelInput<T>) {
  const body = el('div', { class: 'panel-body' });
  const node = section(title, tools, body);
  let running: AbortController | undefined;
  const run = async (): Promise<void> => {
    running?.abort();
    const current = new AbortController();
    running = current;
    node.setAttribute('aria-busy', 'true');
    try {
      const data = await load(current.signal);
      if (running === current) refill(body, render(data));
    } catch (error) {
      if (running !== current || isAborted(error)) return;
      refill(
        body,
        failure(messageOf(error), () => void run()),
      );
    } finally {
      if (running === current) node.removeAttribute('aria-busy');
    }
  };
  body.append(loading(what));
  void run();
  return {
    node,
    /** Loads again; what is shown stays until the new data is there. */
    load: (): void => void run(),
    close: (): void => running?.abort(),
  };
}

export function section(title: string, tools: Child, ...content: readonly Child[]): HTMLElement {
  const controls = el('div', { class: 'tools' }, tools);
  return el('section', { class: 'panel', 'aria-label': title }, [
    el('div', { class: 'panel-head' }, el('h2', {}, title), controls),
    ...content,
  ]);
}

export function titledSection(heading: HTMLElement, ...content: readonly Child[]): HTMLElement {
  return el('section', { class: 'panel' }, el('div', { class: 'panel-head' }, heading), ...content);
}

/** A placeholder in the form of the content; after 300 ms a sentence replaces it. */
export function loading(what: string): HTMLElement {
  const bars = ['a', 'b', 'c'].map((name) => el('span', { class: `skeleton skeleton-${name}` }));
  return el('div', { class: 'loading', role: 'status' }, [
    el('div', { class: 'skeletons', 'aria-hidden': 'true' }, bars),
    el('p', { class: 'loading-text' }, `Loading ${what} …`),
  ]);
}

export function failure(message: string, retry: () => void): HTMLElement {
  return el('div', { class: 'failure', role: 'alert' }, [
    icon('bad'),
    el('p', {}, message),
    button('Retry', retry, { 'data-focus': 'retry' }),
  ]);
}

export function empty(...content: readonly Child[]): HTMLElement {
  return el('div', { class: 'empty' }, ...content);
}

type Fact = readonly [name: string, value: Child];

export function factList(title: string, facts: readonly Fact[]): HTMLElement {
  const known = facts.filter(([, value]) => value !== undefined && value !== '');
  return el('section', { class: 'facts' }, [
    el('h3', {}, title),
    el('dl', {}, [
      known.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
    ]),
  ]);
}

export interface Column<T> {
  readonly head: string;
  /** Numbers stand to the right; `main` is the title of a card. */
  readonly kind?: 'number' | 'share' | 'budget' | 'main' | 'action' | 'wide';
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
  /** A class of the table, for its cards. */
  readonly look?: string;
  /** What rows that follow each other share, such as their day: a line before the first of them. */
  group?(row: T): string;
}

export function table<T>(input: TableInput<T>): HTMLElement {
  const { label, columns, rows, look, group } = input;
  const head = columns.map(({ head: name, kind = 'text' }) =>
    el('th', { scope: 'col', class: kind }, name),
  );
  return el('div', { class: 'table-place' }, [
    el('table', { class: look === undefined ? 'cards' : `cards cards-${look}` }, [
      el('caption', { class: 'only-read' }, label),
      el('thead', {}, el('tr', {}, head)),
      el('tbody', {}, [
        rows.map((row, index) => {
          const before = rows[index - 1];
          const name = group?.(row);
          const isFirst = before === undefined || group?.(before) !== name;
          return [isFirst ? dividerOf(name, columns.length) : undefined, rowOf(row, input)];
        }),
      ]),
    ]),
  ]);
}

function dividerOf(name: string | undefined, columns: number): Child {
  if (name === undefined) return undefined;
  const head = el('th', { colspan: String(columns), scope: 'rowgroup' }, name);
  return el('tr', { class: 'divider' }, head);
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
