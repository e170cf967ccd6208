/** Shows short messages in a corner, also to screen readers. */
import { el } from './dom.ts';

/** How long a message stays. */
const shownMs = 6_000;

/** The corner, and a function that shows a message in it. */
export interface Toaster {
  readonly node: HTMLElement;
  announce(text: string): void;
}

/** Creates the corner. */
export function toaster(): Toaster {
  const node = el('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' });
  return {
    node,
    announce: (text) => {
      const toast = el('p', { class: 'toast' }, text);
      node.append(toast);
      setTimeout(() => toast.remove(), shownMs);
    },
  };
}
