/** Asks for confirmation before a change. A closed dialog is removed from the document. */
import { failureOf, messageOf } from './api.ts';
import { button, type Child, el, refill } from './dom.ts';

export interface DialogInput {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
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
  const node = el('dialog', { class: 'dialog', 'aria-label': input.title });
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
  for (const field of form.querySelectorAll('input, select')) {
    const isWrong = name !== undefined && field.getAttribute('name') === name;
    if (!isWrong) {
      field.removeAttribute('aria-invalid');
      continue;
    }
    field.setAttribute('aria-invalid', 'true');
    if (field instanceof HTMLElement) field.focus();
  }
}
