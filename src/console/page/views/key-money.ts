/** The limit of a key, and money that is added to it for its period. */
import { amountField } from '../amount-field.ts';
import type { PageContext } from '../context.ts';
import { openDialog } from '../dialog.ts';
import { choiceField, type Field, textField } from '../field.ts';
import { amountText, exactMoney } from '../format.ts';
import type { Key, ToppedUpKey } from '../wire.ts';
import { mainOf, periodText } from './key-table.ts';

/** Sets the limit of a subject. */
export function limitDialog(key: Key, page: PageContext, done: () => void): void {
  const main = mainOf(key);
  const base =
    main === undefined ? '' : exactMoney(BigInt(main.limitNanos) - BigInt(main.extraNanos));
  const subject = subjectField(key);
  const limit = amountField('limitNanos', 'Limit, in your currency unit', {
    required: true,
    value: base,
    hint: 'Applies from the next call on. Money added for this period comes on top.',
  });
  openDialog({
    title: `Set the limit of ${key.id}`,
    action: 'Set limit',
    content: [subject?.node, limit.node],
    run: async () => {
      const limitNanos = limit.nanos();
      const change = { limitNanos, subject: subject?.value() };
      await page.api.post(pathOf(key, 'limit'), change);
      page.announce(`The limit of ${key.id} is ${amountText(limitNanos)}.`);
      done();
      return undefined;
    },
  });
}

/** Adds money; the same id counts once, so that a second click adds nothing. */
export function topUpDialog(key: Key, page: PageContext, done: () => void): void {
  const subject = subjectField(key);
  const amount = amountField('amountNanos', 'Amount, in your currency unit', {
    isSigned: true,
    required: true,
    hint: 'For the current period. A negative amount takes money away.',
  });
  const id = textField('id', 'Reference', {
    required: true,
    maxlength: '200',
    value: `console-${randomText()}`,
    hint: 'Such as an invoice number. The same reference counts once.',
  });
  openDialog({
    title: `Top up ${key.id}`,
    action: 'Top up',
    content: [subject?.node, amount.node, id.node],
    run: async () => {
      const amountNanos = amount.nanos();
      const change = { id: id.value(), amountNanos, subject: subject?.value() };
      const { repeated } = await page.api.post<ToppedUpKey>(pathOf(key, 'top-up'), change);
      page.announce(
        repeated
          ? `${id.value()} was counted before: nothing was added.`
          : `${amountText(amountNanos)} was added to ${key.id}.`,
      );
      done();
      return undefined;
    },
  });
}

/** Only keys that are charged to several subjects need a choice. */
function subjectField({ balances }: Key): Field | undefined {
  if (balances === null || balances.length < 2) return undefined;
  const main = balances.find(({ isMain }) => isMain);
  return choiceField(
    'subject',
    'Subject',
    balances.map((balance) => [balance.subject, `${balance.subject}, ${periodText(balance)}`]),
    main?.subject,
  );
}

function pathOf({ id }: Key, action: string): string {
  return `/keys/${encodeURIComponent(id)}/${action}`;
}

function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
