/**
 * One key: its balances, its rights, and what can be done with it. What can not be undone needs a
 * confirmation.
 */
import {
  type Balance,
  type IssuedKey,
  type Key,
  messageOf,
  type RefusalReason,
  type ToppedUpKey,
} from '../api.ts';
import { quotaBar } from '../chart.ts';
import { canManage, type PageContext } from '../context.ts';
import { FormProblem, type LoadedDrawer, loadedDrawer, openDialog } from '../dialog.ts';
import { button, type Child, el, link, timeOf } from '../dom.ts';
import { amountField, choiceField, type Field, textField } from '../field.ts';
import { amountText, clockText, exactMoney, moneyText, spanText } from '../format.ts';
import { factList, failure } from '../panel.ts';
import { windowOf } from '../range.ts';
import { metadataOf, refusalList } from './call-facts.ts';
import { secretStep } from './key-issue.ts';
import { keyState, lastUsed, mainOf, periodText } from './key-table.ts';

export function keyDrawer(page: PageContext, changed: () => void): LoadedDrawer {
  const drawer = loadedDrawer<ShownKey>(page, {
    label: 'Key',
    view: 'keys',
    what: 'the key',
    title: (id) => el('span', { class: 'id' }, id),
    load: (id, signal) => load(id, page, signal),
    render: (shown, again) =>
      partsOf(shown, page, {
        done: () => {
          changed();
          again();
        },
        gone: () => {
          changed();
          drawer.close();
        },
      }),
    problem: (error, again) => failure(messageOf(error), again),
  });
  return drawer;
}

interface ShownKey {
  readonly key: Key;
  readonly refused: readonly RefusalReason[];
}

async function load(id: string, page: PageContext, signal: AbortSignal): Promise<ShownKey> {
  // The reason may be older than the range in which other views are looked at.
  const fromMs = String(windowOf('30d', page.nowMs()).fromMs);
  const [key, { data: refused }] = await Promise.all([
    page.api.get<Key>(`/keys/${encodeURIComponent(id)}`, {}, signal),
    page.api.get<{ readonly data: readonly RefusalReason[] }>(
      '/refusals/reasons',
      { keyId: id, fromMs },
      signal,
    ),
  ]);
  return { key, refused };
}

interface Ends {
  done(): void;
  gone(): void;
}

function partsOf({ key, refused }: ShownKey, page: PageContext, ends: Ends): HTMLElement {
  return el('article', { class: 'request' }, [
    keyState(key, page.nowMs()),
    key.isGroupServed === false
      ? el('p', { class: 'why' }, `No model serves the group ${key.group}.`)
      : undefined,
    actionsOf(key, page, ends),
    el('section', { class: 'balances' }, el('h3', {}, 'Quota'), balancesOf(key)),
    refusedLately(key, refused, page, ends),
    factsOf(key, page),
    link(page.href({ view: 'calls', params: { key: key.id } }), 'Calls of this key'),
  ]);
}

function balancesOf({ balances }: Key): Child {
  if (balances === null) {
    return el('p', { class: 'hint' }, 'The quota store failed, so the balances are unknown.');
  }
  return balances.length === 0
    ? el('p', { class: 'hint' }, 'This key is charged to no subject: it has no limit.')
    : balances.map(balanceOf);
}

function refusedLately(
  key: Key,
  refused: readonly RefusalReason[],
  page: PageContext,
  { done }: Ends,
): Child {
  if (refused.length === 0) return undefined;
  const canTopUp = canManage(page) && key.balances?.length !== 0;
  return el('section', { class: 'balances' }, [
    el('h3', {}, 'Refused in the last 30 days'),
    link(
      page.href({ view: 'calls', params: { key: key.id, outcome: 'refused' }, range: '30d' }),
      'The requests',
    ),
    refusalList(refused, page, ({ code }) =>
      code === 'insufficient_quota' && canTopUp
        ? button('Top up', () => topUpDialog(key, page, done), { 'data-focus': 'refused-top-up' })
        : undefined,
    ),
  ]);
}

function actionsOf(key: Key, page: PageContext, { done, gone }: Ends): Child {
  const { changeKeys, removeKeys, issueKeys } = page.session.capabilities;
  if (!canManage(page)) return undefined;
  const hasQuota = key.balances?.length !== 0;
  const action = (label: string, open: () => void, name: string, look = 'button'): HTMLElement =>
    button(label, open, { class: look, 'data-focus': name });
  return el('div', { class: 'actions' }, [
    hasQuota ? action('Top up', () => topUpDialog(key, page, done), 'top-up') : undefined,
    hasQuota ? action('Set limit', () => limitDialog(key, page, done), 'limit') : undefined,
    changeKeys && issueKeys
      ? action('Rotate', () => rotateDialog(key, page, done), 'rotate')
      : undefined,
    changeKeys
      ? action(key.disabled ? 'Enable' : 'Disable', () => switchDialog(key, page, done), 'switch')
      : undefined,
    removeKeys
      ? action('Remove', () => removeDialog(key, page, gone), 'remove', 'button danger')
      : undefined,
  ]);
}

function balanceOf(balance: Balance): HTMLElement {
  const { subject, isMain, usedNanos, heldNanos, limitNanos, extraNanos, remainingNanos } = balance;
  return el('div', { class: 'balance' }, [
    el('p', { class: 'balance-head' }, [
      el('span', { class: 'id' }, subject),
      el('span', { class: 'hint' }, `${isMain ? 'own, ' : ''}${periodText(balance)}`),
      el(
        'b',
        { class: 'balance-left', title: exactMoney(remainingNanos) },
        `${moneyText(remainingNanos)} left`,
      ),
    ]),
    quotaBar(balance),
    el('p', { class: 'hint' }, [
      `${moneyText(usedNanos)} used, ${moneyText(heldNanos)} held, limit ${moneyText(limitNanos)}`,
      extraNanos === '0' ? undefined : `, ${moneyText(extraNanos)} of it added for this period`,
    ]),
  ]);
}

function factsOf(key: Key, page: PageContext): Child {
  const { group, expiresAtMs, maxConcurrentCalls, lastUsedMs, metadata } = key;
  const nowMs = page.nowMs();
  return [
    factList('Key', [
      ['group', group],
      ['last used', lastUsed(lastUsedMs, nowMs)],
      [
        'expires',
        expiresAtMs === null ? 'never' : timeOf(expiresAtMs, clockText(expiresAtMs, nowMs)),
      ],
      ['calls at once', maxConcurrentCalls === null ? 'any' : `${maxConcurrentCalls} at most`],
    ]),
    metadataOf(metadata),
  ];
}

function limitDialog(key: Key, page: PageContext, done: () => void): void {
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
function topUpDialog(key: Key, page: PageContext, done: () => void): void {
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

function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

function switchDialog(key: Key, page: PageContext, done: () => void): void {
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

function removeDialog(key: Key, page: PageContext, done: () => void): void {
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

function rotateDialog(key: Key, page: PageContext, done: () => void): void {
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

function pathOf({ id }: Key, action: string): string {
  return `/keys/${encodeURIComponent(id)}/${action}`;
}

/** A changed key does not take effect everywhere at once. */
function cacheText({ session: { keyCacheMs } }: PageContext): string {
  if (keyCacheMs === null) {
    return 'This process applies it at once; others may accept the key while they cache it.';
  }
  if (keyCacheMs === 0) return 'It applies from the next call on.';
  const span = spanText(keyCacheMs);
  return `This process applies it at once; others may accept the key for up to ${span}.`;
}
