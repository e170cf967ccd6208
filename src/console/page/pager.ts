/** Pages through a list. Cursors only lead forwards, so the earlier ones are remembered. */
import { button, el, refill } from './dom.ts';

export interface Pager {
  readonly node: HTMLElement;
  /** Where the page begins; undefined for the first. */
  after(): string | undefined;
  /** A page was loaded, with the cursor of the next one. */
  show(next: string | null): void;
  reset(): void;
}

export function pager(load: () => void): Pager {
  const node = el('div', { class: 'pager' });
  let cursors: readonly (string | undefined)[] = [undefined];
  const go = (next: readonly (string | undefined)[]): void => {
    cursors = next;
    load();
  };
  return {
    node,
    after: () => cursors.at(-1),
    show: (next) => {
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
    reset: () => {
      cursors = [undefined];
    },
  };
}
