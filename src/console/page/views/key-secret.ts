/**
 * The secret of a new key, shown once: it is stored nowhere else, and gone when the dialog is
 * closed.
 */
import type { PageContext } from '../context.ts';
import { copyText } from '../copy.ts';
import type { OpenDialog } from '../dialog.ts';
import { button, el } from '../dom.ts';
import type { IssuedKey } from '../wire.ts';

/** It can be closed only after the operator confirms that the secret is stored. */
export function secretStep(
  { secret, key, warning }: IssuedKey,
  page: PageContext,
  dialog: OpenDialog,
): HTMLElement {
  dialog.keepOpen(true);
  const done = button('Done', dialog.close, { class: 'button main', disabled: true });
  const stored = el('input', { type: 'checkbox', id: 'stored' });
  stored.addEventListener('change', () => {
    done.disabled = !stored.checked;
    dialog.keepOpen(!stored.checked);
  });
  const copy = button('Copy', () => copyText(secret, 'The secret', page.announce));
  return el('div', { class: 'form' }, [
    el('p', {}, 'The secret of ', el('b', { class: 'id' }, key.id), ' is shown this once:'),
    el('div', { class: 'secret' }, [
      el('output', { class: 'id', 'aria-label': 'Secret' }, secret),
      copy,
    ]),
    warning === null ? undefined : el('p', { class: 'problem' }, warning),
    el(
      'p',
      { class: 'hint' },
      'The gateway keeps only a digest of it. If it is lost, rotate the key.',
    ),
    el('p', { class: 'check' }, stored, el('label', { for: 'stored' }, 'I have stored it')),
    el('div', { class: 'dialog-end' }, done),
  ]);
}
