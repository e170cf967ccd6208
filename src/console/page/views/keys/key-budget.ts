/** The budget of a key or an owner: how it is shown, and the dialogs that change it. */
import type { Balance, ToppedUpKey } from '../../api.ts';
import { quotaBar } from '../../chart.ts';
import type { PageContext } from '../../context.ts';
import { changeDialog } from '../../dialog.ts';
import { el } from '../../dom.ts';
import { amountField, choiceField, type Field, textField } from '../../field.ts';
import { amountText, exactMoney, moneyColumn } from '../../format.ts';
import { hasLimit, periodText } from './key-table.ts';

/** What has a budget: `path` is that of the key or the owner in the interface. */
export interface Budgeted {
  readonly id: string;
  readonly path: string;
  /** Those that can be changed; null if the quota store failed. */
  readonly balances: readonly Balance[] | null;
  /** Whether it may be without a limit. */
  readonly isOptional: boolean;
}

export function balanceOf(balance: Balance): HTMLElement {
  const { subject, isMain, usedNanos, heldNanos, limitNanos, extraNanos, remainingNanos } = balance;
  const money = moneyColumn([limitNanos]);
  const isLimited = hasLimit(balance);
  return el('div', { class: 'balance' }, [
    el('p', { class: 'balance-head' }, [
      el('span', { class: 'id' }, subject),
      el('span', { class: 'hint' }, `${isMain ? 'own, ' : ''}${periodText(balance)}`),
      el(
        'b',
        { class: 'balance-left', title: exactMoney(isLimited ? remainingNanos : usedNanos) },
        [isLimited ? `${money(remainingNanos)} left` : `${money(usedNanos)} used`],
      ),
    ]),
    isLimited ? quotaBar(balance) : undefined,
    el('p', { class: 'hint' }, [
      `${money(usedNanos)} used, ${money(heldNanos)} held, `,
      isLimited ? `limit ${money(limitNanos)}` : 'no limit',
      extraNanos === '0' ? undefined : `, ${money(extraNanos)} of it added for this period`,
    ]),
  ]);
}

export function limitDialog(target: Budgeted, page: PageContext, done: () => void): void {
  const { id, path, isOptional } = target;
  const main = target.balances?.find(({ isMain }) => isMain) ?? target.balances?.[0];
  const base =
    main === undefined || !hasLimit(main)
      ? ''
      : exactMoney(BigInt(main.limitNanos) - BigInt(main.extraNanos));
  const subject = subjectField(target);
  const limit = amountField('limitNanos', 'Limit, in your currency unit', {
    required: !isOptional,
    value: base,
    placeholder: isOptional ? 'no limit' : undefined,
    hint: 'Applies from the next call on. Money added for this period comes on top.',
  });
  changeDialog(page, done, {
    title: `Set the limit of ${id}`,
    action: 'Set limit',
    content: [subject?.node, limit.node],
    change: async () => {
      const limitNanos = isOptional && limit.value() === '' ? null : limit.nanos();
      await page.api.post(`${path}/limit`, { limitNanos, subject: subject?.value() });
      return limitNanos === null
        ? `${id} has no limit any more.`
        : `The limit of ${id} is ${amountText(limitNanos)}.`;
    },
  });
}

/** Adds money; the same id counts once, so that a second click adds nothing. */
export function topUpDialog(target: Budgeted, page: PageContext, done: () => void): void {
  const subject = subjectField(target);
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
  changeDialog(page, done, {
    title: `Top up ${target.id}`,
    action: 'Top up',
    content: [subject?.node, amount.node, id.node],
    change: async () => {
      const amountNanos = amount.nanos();
      const change = { id: id.value(), amountNanos, subject: subject?.value() };
      const { repeated } = await page.api.post<ToppedUpKey>(`${target.path}/top-up`, change);
      return repeated
        ? `${id.value()} was counted before: nothing was added.`
        : `${amountText(amountNanos)} was added to ${target.id}.`;
    },
  });
}

/** Only keys that are charged to several subjects need a choice. */
function subjectField({ balances }: Budgeted): Field | undefined {
  if (balances === null || balances.length < 2) return undefined;
  const main = balances.find(({ isMain }) => isMain);
  return choiceField(
    'subject',
    'Subject',
    balances.map((balance) => [balance.subject, `${balance.subject}, ${periodText(balance)}`]),
    main?.subject,
  );
}

function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
