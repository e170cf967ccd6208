/** Removes, disables and rotates keys, after the operator has confirmed it. */
import type { PageContext } from '../context.ts';
import { FormProblem, openDialog } from '../dialog.ts';
import { el } from '../dom.ts';
import { choiceField, textField } from '../field.ts';
import { spanText } from '../format.ts';
import type { IssuedKey, Key } from '../wire.ts';
import { secretStep } from './key-secret.ts';

export function switchDialog(key: Key, page: PageContext, done: () => void): void {
  const { id, disabled } = key;
  const word = disabled ? 'Enable' : 'Disable';
  const effect = disabled
    ? 'Calls with this key are served again.'
    : `Calls with this key are refused with 401. Running calls end as usual. ${cacheText(page)}`;
  openDialog({
    title: `${word} ${id}?`,
    action: word,
    isDangerous: !disabled,
    content: el('p', {}, effect),
    run: async () => {
      await page.api.post(pathOf(key, disabled ? 'enable' : 'disable'), {});
      page.announce(`${id} is ${disabled ? 'enabled' : 'disabled'}.`);
      done();
      return undefined;
    },
  });
}

export function removeDialog(key: Key, page: PageContext, done: () => void): void {
  const { id } = key;
  const typed = textField('typed', `Type ${id} to confirm`, { required: true });
  openDialog({
    title: `Remove ${id} for good?`,
    action: 'Remove for good',
    isDangerous: true,
    content: [
      el('p', {}, [
        'Its usage records and its balance stay; stored replies can no longer be read. ',
        `Disable it instead if it may be needed again. ${cacheText(page)}`,
      ]),
      typed.node,
    ],
    run: async () => {
      if (typed.value() !== id) throw new FormProblem('typed', `This is not ${id}.`);
      await page.api.post(pathOf(key, 'remove'), {});
      page.announce(`${id} is removed.`);
      done();
      return undefined;
    },
  });
}

const hourMs = 3_600_000;

export function rotateDialog(key: Key, page: PageContext, done: () => void): void {
  const overlap = choiceField('overlapMs', 'The old secret stays valid', [
    [String(24 * hourMs), 'for a day'],
    [String(hourMs), 'for an hour'],
    [String(7 * 24 * hourMs), 'for a week'],
    ['0', 'not at all: it may be known to others'],
  ]);
  openDialog({
    title: `Rotate ${key.id}`,
    action: 'Issue the new secret',
    content: [
      el('p', {}, 'A new key with the same rights is charged to the same budget.'),
      overlap.node,
      el('p', { class: 'hint' }, cacheText(page)),
    ],
    run: async (dialog) => {
      const body = { overlapMs: Number(overlap.value()) };
      const issued = await page.api.post<IssuedKey>(pathOf(key, 'rotate'), body);
      done();
      return secretStep(issued, page, dialog);
    },
  });
}

export function pathOf({ id }: Key, action: string): string {
  return `/keys/${encodeURIComponent(id)}/${action}`;
}

/** A changed key does not take effect everywhere at once. */
function cacheText({ session: { keyCacheMs } }: PageContext): string {
  if (keyCacheMs === null) {
    return 'This process applies it at once; others may accept the key while they cache it.';
  }
  const span = spanText(keyCacheMs);
  return `This process applies it at once; others may accept the key for up to ${span}.`;
}
