/** A sheet with one thing that is loaded by its id, which the URL names while it is open. */
import { isAborted } from './api.ts';
import type { PageContext } from './context.ts';
import { button, type Child, el, refill } from './dom.ts';
import { icon } from './icons.ts';
import { loading } from './panel.ts';
import type { ViewName } from './route.ts';

export interface LoadedDrawerInput<T> {
  /** For screen readers: `Request`. */
  readonly label: string;
  readonly view: ViewName;
  readonly what: string;
  title(id: string): Child;
  load(id: string, signal: AbortSignal): Promise<T>;
  render(found: T, again: () => void): Child;
  problem(error: unknown, again: () => void): Child;
}

export interface LoadedDrawer {
  readonly node: HTMLElement;
  /** What to show; undefined closes the sheet. */
  show(id: string | undefined): void;
  close(): void;
}

export function loadedDrawer<T>(page: PageContext, input: LoadedDrawerInput<T>): LoadedDrawer {
  let shown: string | undefined;
  let loads = new AbortController();
  const drawer = drawerOf(input.label, () => {
    loads.abort();
    shown = undefined;
    const { view, id, params } = page.route();
    if (view === input.view && id !== undefined) page.go({ view, params });
  });
  const load = async (id: string): Promise<void> => {
    loads.abort();
    loads = new AbortController();
    const { signal } = loads;
    const again = (): void => {
      if (shown === id) void load(id);
    };
    if (!drawer.node.open) drawer.open(input.title(id), loading(input.what));
    try {
      const found = await input.load(id, signal);
      drawer.open(input.title(id), input.render(found, again));
    } catch (error) {
      if (signal.aborted || isAborted(error)) return;
      drawer.open(input.title(id), input.problem(error, again));
    }
  };
  return {
    node: drawer.node,
    show: (id) => {
      if (id === shown) return;
      shown = id;
      if (id === undefined) drawer.close();
      else void load(id);
    },
    close: drawer.close,
  };
}

/** Creates a closed sheet; `onClose` is called when the operator closes it. */
function drawerOf(label: string, onClose: () => void) {
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
    open: (title: Child, ...content: readonly Child[]): void => {
      const close = button(icon('close'), () => node.close(), {
        class: 'quiet close',
        'aria-label': 'Close',
        'data-focus': 'close',
      });
      refill(
        node,
        el('div', { class: 'drawer-content' }, [
          el('div', { class: 'drawer-head' }, el('h2', {}, title), close),
          ...content,
        ]),
      );
      // The operator may have left the view while its data was loading.
      if (!node.open && node.isConnected) node.showModal();
    },
    close: (): void => {
      if (node.open) node.close();
    },
  };
}
