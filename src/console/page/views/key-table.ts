/** The list of keys: which are out of quota, which nearly, and when each was last used. */

import type { Balance, Key } from '../api.ts';
import { fullnessOf, nearlyOut, quotaBar } from '../chart.ts';
import type { PageContext } from '../context.ts';
import { type Child, el, type IconName, icon, link, timeOf } from '../dom.ts';
import { agoText, countText, exactMoney, moneyText } from '../format.ts';
import { table } from '../panel.ts';

export function keyTable(keys: readonly Key[], page: PageContext): HTMLElement {
  const place = (id: string) => ({ view: 'keys', id, params: page.route().params }) as const;
  return table<Key>({
    label: 'Keys by id',
    columns: [
      {
        head: 'key',
        kind: 'main',
        cell: ({ id }) => link(page.href(place(id)), id, { class: 'id', 'data-focus': id }),
      },
      { head: 'state', cell: (key) => keyState(key, page.nowMs()) },
      { head: 'group', cell: ({ group }) => group },
      { head: 'quota', kind: 'share', cell: quotaCell },
      { head: 'left', kind: 'number', cell: leftCell },
      { head: 'period', cell: (key) => periodText(mainOf(key)) },
      { head: 'running', kind: 'number', cell: (key) => countText(mainOf(key)?.runningCalls) },
      { head: 'last used', cell: ({ lastUsedMs }) => lastUsed(lastUsedMs, page.nowMs()) },
    ],
    rows: keys,
    keyOf: ({ id }) => id,
    open: ({ id }) => page.go(place(id)),
  });
}

export function mainOf({ balances }: Key): Balance | undefined {
  return balances?.find(({ isMain }) => isMain) ?? balances?.[0];
}

export function keyState(
  { disabled, expiresAtMs, balances, isGroupServed }: Key,
  nowMs: number,
): HTMLElement {
  if (disabled) return stateBadge('off', 'off', 'disabled');
  if (expiresAtMs !== null && expiresAtMs <= nowMs) return stateBadge('off', 'clock', 'expired');
  if (isGroupServed === false) return stateBadge('warn', 'warn', 'no model');
  const isOut = balances?.some(
    ({ limitNanos, remainingNanos }) => limitNanos !== '0' && remainingNanos === '0',
  );
  if (isOut) return stateBadge('bad', 'bad', 'out of quota');
  const isNear = balances?.some((balance) => fullnessOf(balance) >= nearlyOut);
  return isNear ? stateBadge('warn', 'warn', 'nearly out') : stateBadge('ok', 'ok', 'enabled');
}

function stateBadge(tone: string, name: IconName, word: string): HTMLElement {
  return el('span', { class: `badge badge-${tone}` }, icon(name), word);
}

function quotaCell(key: Key): Child {
  const balance = mainOf(key);
  if (balance === undefined) return key.balances === null ? 'unknown' : 'no quota';
  return [
    quotaBar(balance),
    el('span', { class: 'quota-text' }, [
      `${moneyText(balance.usedNanos)} of ${moneyText(balance.limitNanos)}`,
      balance.heldNanos === '0' ? undefined : `, ${moneyText(balance.heldNanos)} held`,
    ]),
  ];
}

function leftCell(key: Key): Child {
  const balance = mainOf(key);
  if (balance === undefined) return '–';
  const { remainingNanos } = balance;
  return el('span', { title: exactMoney(remainingNanos) }, moneyText(remainingNanos));
}

export function periodText(balance: Balance | undefined): string {
  if (balance === undefined) return '–';
  return { total: 'in all', day: 'a day', month: 'a month' }[balance.period];
}

export function lastUsed(ms: number | null, nowMs: number): Child {
  return ms === null ? '–' : timeOf(ms, agoText(ms, nowMs));
}
