/**
 * Dialogs over a view: to confirm a change, or to show one thing that the URL names. A closed
 * dialog is removed from the document.
 */
import { failureOf, isAborted, messageOf } from './api.ts';
import type { PageContext } from './context.ts';
import { button, type Child, el, icon, refill } from './dom.ts';
import { loading } from './panel.ts';
import type { Route, ViewName } from './route.ts';

interface DialogInput {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  /** For forms with many fields. */
  readonly isWide?: boolean;
  readonly content: Child;
  /** Makes the change. What it returns is shown in place of the form; undefined closes. */
  run(dialog: OpenDialog): Promise<Child | undefined>;
}

export interface OpenDialog {
  close(): void;
  /** Whether Escape and the other usual ways may close it. */
  keepOpen(isKept: boolean): void;
}

/** A mistake in a form that the page finds before it sends the form. */
export class FormProblem extends Error {
  override readonly name = 'FormProblem';
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

export function openDialog(input: DialogInput): void {
  const look = input.isWide === true ? 'dialog wide' : 'dialog';
  const node = el('dialog', { class: look, 'aria-label': input.title });
  let isKept = false;
  node.addEventListener('cancel', (event) => {
    if (isKept) event.preventDefault();
  });
  node.addEventListener('close', () => node.remove());
  const dialog: OpenDialog = {
    close: () => node.close(),
    keepOpen: (wanted) => {
      isKept = wanted;
    },
  };
  node.append(el('h2', {}, input.title), formOf(input, node, dialog));
  document.body.append(node);
  node.showModal();
}

interface ChangeInput extends Omit<DialogInput, 'run'> {
  /** Makes the change, and says in a sentence what was done. */
  change(): Promise<string>;
}

/** A dialog that makes a change and closes. */
export function changeDialog(
  page: PageContext,
  done: () => void,
  { change, ...input }: ChangeInput,
): void {
  openDialog({
    ...input,
    run: async () => {
      page.announce(await change());
      done();
      return undefined;
    },
  });
}

function formOf(input: DialogInput, node: HTMLDialogElement, dialog: OpenDialog): HTMLElement {
  const problem = el('p', { class: 'problem', role: 'alert' });
  const look = input.isDangerous === true ? 'button main danger' : 'button main';
  const submit = el('button', { type: 'submit', class: look }, input.action);
  const form = el('form', { class: 'form' }, [
    input.content,
    problem,
    el('div', { class: 'dialog-end' }, button('Cancel', dialog.close), submit),
  ]);
  const run = async (): Promise<void> => {
    submit.disabled = true;
    refill(problem);
    markField(form, undefined);
    try {
      const next = await input.run(dialog);
      if (next === undefined) return dialog.close();
      refill(node, el('h2', {}, input.title), next);
      node.querySelector<HTMLElement>('input, button')?.focus();
    } catch (error) {
      refill(problem, problemText(error));
      markField(form, fieldIn(error));
    } finally {
      submit.disabled = false;
    }
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void run();
  });
  return form;
}

function isFormProblem(error: unknown): error is FormProblem {
  return error instanceof Object && 'name' in error && error.name === 'FormProblem';
}

export function problemText(error: unknown): string {
  return isFormProblem(error) ? error.message : messageOf(error);
}

function fieldIn(error: unknown): string | undefined {
  return isFormProblem(error) ? error.field : failureOf(error)?.field;
}

function markField(form: HTMLFormElement, name: string | undefined): void {
  for (const field of form.querySelectorAll('input, select, textarea')) {
    const isWrong = name !== undefined && field.getAttribute('name') === name;
    if (!isWrong) {
      field.removeAttribute('aria-invalid');
      continue;
    }
    field.setAttribute('aria-invalid', 'true');
    if (field instanceof HTMLElement) field.focus();
  }
}

interface LoadedDrawerInput<T> {
  /** For screen readers: `Request`. */
  readonly label: string;
  readonly view: ViewName;
  readonly what: string;
  title(id: string): Child;
  load(id: string, signal: AbortSignal): Promise<T>;
  render(found: T, again: () => void): Child;
  problem(error: unknown, again: () => void): Child;
  /** Changes the URL when the operator closes the sheet. Default: takes the id out of its path. */
  leave?(route: Route): void;
}

export type LoadedDrawer = ReturnType<typeof loadedDrawer>;

export function loadedDrawer<T>(page: PageContext, input: LoadedDrawerInput<T>) {
  let shown: string | undefined;
  let loads = new AbortController();
  const drawer = drawerOf(input.label, () => {
    loads.abort();
    shown = undefined;
    const { view, id, params } = page.route();
    if (input.leave !== undefined) input.leave(page.route());
    else if (view === input.view && id !== undefined) page.go({ view, params });
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
    /** What to show; undefined closes the sheet. */
    show: (id: string | undefined): void => {
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
