/** Issues a key: its limit and its rights, and then its secret, which is shown once. */

import type { IssuedKey } from '../../api.ts';
import type { PageContext } from '../../context.ts';
import { type OpenDialog, openDialog } from '../../dialog.ts';
import { button, copyText, el } from '../../dom.ts';
import { amountField, textField } from '../../field.ts';
import { noRights, periodFields, rightsForm, withoutNulls } from './key-form.ts';

export function issueDialog(page: PageContext, done: () => void): void {
  const id = textField('id', 'Id', {
    maxlength: '64',
    placeholder: 'chosen for you',
    hint: 'Letters, digits and . _ -',
  });
  const limit = amountField('limitNanos', 'Limit, in your currency unit', {
    placeholder: '25.00',
    hint: 'A key with an owner may have none of its own.',
  });
  const period = periodFields();
  const form = rightsForm(page, noRights);
  openDialog({
    title: 'Issue a key',
    action: 'Issue',
    isWide: true,
    content: [el('div', { class: 'field-row' }, id.node, limit.node), period.node, form.node],
    run: async (dialog) => {
      const rights = form.rights();
      const hasOwner = rights.owner !== null && limit.value() === '';
      const budget = hasOwner ? {} : { limitNanos: limit.nanos(), ...period.value() };
      const key = { id: id.value() === '' ? null : id.value(), ...budget, ...rights };
      const issued = await page.api.post<IssuedKey>('/keys', withoutNulls(key));
      done();
      return secretStep(issued, page, dialog, form.model());
    },
  });
}

/**
 * It can be closed only after the operator confirms that the secret is stored.
 *
 * @param model that the key may use, for an example
 */
export function secretStep(
  { secret, key, warning }: IssuedKey,
  page: PageContext,
  dialog: OpenDialog,
  model = 'MODEL',
): HTMLElement {
  const example = curlLines(model);
  const copy = (text: string, what: string): HTMLElement =>
    button('Copy', () => copyText(text, what, page.announce), {
      'aria-label': what === 'The secret' ? undefined : 'Copy the example',
    });
  return el('div', { class: 'form' }, [
    el('p', {}, 'The secret of ', el('b', { class: 'id' }, key.id), ' is shown this once:'),
    el('div', { class: 'secret' }, [
      el('output', { class: 'id', 'aria-label': 'Secret' }, secret),
      copy(secret, 'The secret'),
    ]),
    warning === null ? undefined : el('p', { class: 'problem' }, warning),
    el('p', {}, 'Try it: paste the secret when the first line waits for it.'),
    el('div', { class: 'secret' }, [
      el('pre', { class: 'code', tabindex: '0' }, el('code', {}, example)),
      copy(example, 'The example'),
    ]),
    el(
      'p',
      { class: 'hint' },
      'The gateway keeps only a digest of the secret. If it is lost, rotate the key.',
    ),
    ...confirmed('I have stored it', dialog),
  ]);
}

/** A box to tick before the dialog can be closed. */
export function confirmed(text: string, dialog: OpenDialog): readonly HTMLElement[] {
  dialog.keepOpen(true);
  const done = button('Done', dialog.close, { class: 'button main', disabled: true });
  const stored = el('input', { type: 'checkbox', id: 'stored' });
  stored.addEventListener('change', () => {
    done.disabled = !stored.checked;
    dialog.keepOpen(!stored.checked);
  });
  return [
    el('p', { class: 'check' }, stored, el('label', { for: 'stored' }, text)),
    el('div', { class: 'dialog-end' }, done),
  ];
}

/** The secret is no part of the lines, because a shell keeps its history. */
function curlLines(model: string): string {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] };
  const json = JSON.stringify(body).replaceAll("'", "'\\''");
  return [
    'read -rs KEY',
    `curl ${location.origin}/v1/chat/completions -H "authorization: Bearer $KEY" \\`,
    `  -H 'content-type: application/json' -d '${json}'`,
  ].join('\n');
}
