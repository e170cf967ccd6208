/**
 * A sheet at the side of the page, over the view that it belongs to. It is a modal dialog, so the
 * browser keeps the focus in it and brings it back where it was.
 */
import { button, type Child, el, refill } from './dom.ts';
import { icon } from './icons.ts';

/** A sheet that can be opened and closed. */
export interface Drawer {
  readonly node: HTMLDialogElement;
  open(title: Child, ...content: readonly Child[]): void;
  close(): void;
}

/** Creates a closed sheet; `onClose` is called when the operator closes it. */
export function drawerOf(label: string, onClose: () => void): Drawer {
  const node = el('dialog', { class: 'drawer', 'aria-label': label });
  node.addEventListener('close', () => {
    node.replaceChildren();
    onClose();
  });
  node.addEventListener('click', ({ target }) => {
    // The backdrop belongs to the dialog itself; the content covers the rest of it.
    if (target === node) node.close();
  });
  return {
    node,
    open: (title, ...content) => {
      const close = button(icon('close'), () => node.close(), {
        class: 'quiet close',
        'aria-label': 'Close',
        'data-focus': 'close',
      });
      refill(
        node,
        el(
          'div',
          { class: 'drawer-content' },
          el('div', { class: 'drawer-head' }, el('h2', {}, title), close),
          ...content,
        ),
      );
      // The operator may have left the view while its data was loading.
      if (!node.open && node.isConnected) node.showModal();
    },
    close: () => {
      if (node.open) node.close();
    },
  };
}
