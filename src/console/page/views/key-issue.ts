/** Issues a key: asks for its group, its limit and its expiry, and shows its secret once. */

import type { IssuedKey, Model } from '../api.ts';
import type { PageContext } from '../context.ts';
import { FormProblem, type OpenDialog, openDialog } from '../dialog.ts';
import { button, copyText, el } from '../dom.ts';
import { amountField, choiceField, type Field, textField } from '../field.ts';

export function issueDialog(page: PageContext, done: () => void): void {
  const fields = issueFields();
  const { id, group, limit, period, expires, concurrent } = fields;
  void offerGroups(group, page);
  openDialog({
    title: 'Issue a key',
    action: 'Issue',
    content: [
      el('div', { class: 'field-row' }, id.node, group.node),
      el('div', { class: 'field-row' }, limit.node, period.node),
      el('div', { class: 'field-row' }, expires.node, concurrent.node),
    ],
    run: async (dialog) => {
      const issued = await page.api.post<IssuedKey>('/keys', bodyOf(fields, page.nowMs()));
      done();
      return secretStep(issued, page, dialog);
    },
  });
}

function issueFields() {
  return {
    id: textField('id', 'Id', {
      maxlength: '64',
      placeholder: 'chosen for you',
      hint: 'Letters, digits and . _ -',
    }),
    group: textField('group', 'Group', { required: true, maxlength: '256', list: 'groups' }),
    limit: amountField('limitNanos', 'Limit, in your currency unit', {
      required: true,
      placeholder: '25.00',
    }),
    period: choiceField('period', 'The limit is for', [
      ['month', 'each month, UTC'],
      ['day', 'each day, UTC'],
      ['total', 'all time'],
    ]),
    expires: textField('expiresAtMs', 'Last day, UTC', { type: 'date' }),
    concurrent: textField('maxConcurrentCalls', 'Calls at once', {
      inputmode: 'numeric',
      placeholder: 'any number',
    }),
  };
}

/** Offers the groups of the models; any other may be written too. */
async function offerGroups({ node, input }: Field, { api }: PageContext): Promise<void> {
  try {
    const { data } = await api.get<{ readonly data: readonly Model[] }>('/channels');
    const groups = [...new Set(data.flatMap((model) => model.groups))];
    const options = groups.map((value) => el('option', { value }));
    node.append(el('datalist', { id: 'groups' }, options));
    if (input.value === '') input.value = groups[0] ?? '';
  } catch {
    // The field works without an offer.
  }
}

const dayMs = 86_400_000;

function bodyOf(fields: ReturnType<typeof issueFields>, nowMs: number) {
  const { id, group, limit, period, expires, concurrent } = fields;
  const limitNanos = limit.nanos();
  const calls = concurrent.value();
  if (calls !== '' && !/^[1-9]\d{0,6}$/.test(calls)) {
    throw new FormProblem('maxConcurrentCalls', 'Write a whole number of 1 or more.');
  }
  // The key is valid until the end of the chosen day.
  const expiresAtMs = expires.value() === '' ? undefined : Date.parse(expires.value()) + dayMs;
  if (expiresAtMs !== undefined && !(expiresAtMs > nowMs)) {
    throw new FormProblem('expiresAtMs', 'Choose today or a later day.');
  }
  return {
    id: id.value() === '' ? undefined : id.value(),
    group: group.value(),
    limitNanos,
    period: period.value(),
    expiresAtMs,
    maxConcurrentCalls: calls === '' ? undefined : Number(calls),
  };
}

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
