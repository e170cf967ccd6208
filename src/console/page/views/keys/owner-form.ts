/** The dialogs that add and change an owner: its name, its period, its rates and its labels. */
import type { Owner } from '../../api.ts';
import type { PageContext } from '../../context.ts';
import { changeDialog } from '../../dialog.ts';
import { el } from '../../dom.ts';
import { amountField, textField } from '../../field.ts';
import { labelFields, periodFields, rateFields, withoutNulls } from './key-form.ts';

/** Adds an owner, or changes the one that is given. */
export function ownerDialog(page: PageContext, done: () => void, owner?: Owner): void {
  const id = textField('id', 'Id', {
    required: true,
    maxlength: '120',
    hint: 'Printable ASCII without spaces, such as the id of a team.',
  });
  const name = textField('name', 'Name', { maxlength: '256', value: owner?.name ?? '' });
  const limit = amountField('limitNanos', 'Limit of all its keys together', {
    placeholder: 'no limit',
  });
  const period = periodFields(owner);
  const rates = rateFields(owner?.rates ?? []);
  const labels = labelFields(owner?.metadata ?? {});
  const isNew = owner === undefined;
  changeDialog(page, done, {
    title: isNew ? 'Add an owner' : `Edit ${owner.id}`,
    action: isNew ? 'Add' : 'Save',
    content: [
      el('div', { class: 'field-row' }, isNew ? id.node : undefined, name.node),
      isNew ? limit.node : undefined,
      period.node,
      rates.node,
      labels.node,
    ],
    change: async () => {
      const members = {
        name: name.value() === '' ? null : name.value(),
        ...period.value(),
        rates: rates.value(),
        metadata: labels.value(),
      };
      const ownerId = owner?.id ?? id.value();
      if (owner === undefined) {
        const limitNanos = limit.value() === '' ? null : limit.nanos();
        await page.api.post('/owners', withoutNulls({ id: ownerId, limitNanos, ...members }));
      } else {
        await page.api.post(`/owners/${encodeURIComponent(ownerId)}/edit`, members);
      }
      return isNew ? `${ownerId} is added.` : `${ownerId} is changed.`;
    },
  });
}
