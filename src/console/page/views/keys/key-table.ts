/** The list of keys: whose they are, which are out of quota, which nearly, and their last use. */

import type { Balance, Key, KeyPage } from '../../api.ts';
import { fullnessOf, nearlyOut, quotaBar } from '../../chart.ts';
import type { PageContext } from '../../context.ts';
import { type Child, el, type IconName, icon, link, refill, timeOf } from '../../dom.ts';
import { agoText, countText, exactMoney, moneyColumn } from '../../format.ts';
import { type Column, table } from '../../panel.ts';

/** The keys of a page, or those of an owner, in a sheet that is narrower. */
export function keyTable(
  keys: readonly Key[],
  page: PageContext,
  { isOwned = false }: { readonly isOwned?: boolean } = {},
): HTMLElement {
  const { owner: _open, ...params } = page.route().params;
  const place = (id: string) => ({ view: 'keys', id, params }) as const;
  const money = moneyColumn(keys.map((key) => mainOf(key)?.limitNanos ?? null));
  const all: readonly Column<Key>[] = [
    {
      head: 'key',
      kind: 'main',
      cell: ({ id }) => link(page.href(place(id)), id, { class: 'id', 'data-focus': id }),
    },
    { head: 'owner', cell: (key) => whoseCell(key, page) },
    { head: 'state', cell: (key) => keyState(key, page.nowMs()) },
    { head: 'group', cell: ({ group }) => group },
    ...budgetColumns<Key>(mainOf, money),
    { head: 'running', kind: 'number', cell: (key) => countText(mainOf(key)?.runningCalls) },
    { head: 'last used', cell: ({ lastUsedMs }) => lastUsed(lastUsedMs, page.nowMs()) },
  ];
  return table<Key>({
    label: 'Keys',
    columns: isOwned
      ? all.filter(({ head }) => !['owner', 'group', 'running'].includes(head))
      : all,
    rows: keys,
    keyOf: ({ id }) => id,
    open: ({ id }) => page.go(place(id)),
  });
}

/** The budgets of a list, all with the decimals that the limits need. */
export function budgetColumns<T extends { readonly balances: readonly Balance[] | null }>(
  balanceOf: (row: T) => Balance | undefined,
  money: (nanos: string) => string,
): readonly Column<T>[] {
  return [
    {
      head: 'used',
      kind: 'budget',
      cell: (row) => {
        const balance = balanceOf(row);
        if (balance !== undefined) return budgetCell(balance, money);
        return row.balances === null ? 'unknown' : 'no limit';
      },
    },
    {
      head: 'left',
      kind: 'number',
      cell: (row) => {
        const balance = balanceOf(row);
        if (balance === undefined || !hasLimit(balance)) return '–';
        const left = balance.remainingNanos;
        return el('span', { title: exactMoney(left) }, money(left));
      },
    },
  ];
}

function budgetCell(balance: Balance, money: (nanos: string) => string): Child {
  const { usedNanos, heldNanos, limitNanos } = balance;
  const isLimited = hasLimit(balance);
  const limit = isLimited ? `of ${money(limitNanos)} ${periodText(balance)}` : 'used, no limit';
  return [
    isLimited ? quotaBar(balance) : undefined,
    el('span', { class: 'quota-text', title: `${exactMoney(usedNanos)} used` }, [
      `${money(usedNanos)} ${limit}`,
      heldNanos === '0' ? undefined : `, ${money(heldNanos)} held`,
    ]),
  ];
}

/** The budget of an owner without a limit has the largest amount as its limit. */
const noLimitNanos = 9_007_199_254_740_991n;

export function hasLimit({ limitNanos, extraNanos }: Balance): boolean {
  return BigInt(limitNanos) - BigInt(extraNanos) < noLimitNanos;
}

/** The owner and, below it, the labels that say whose key it is. */
function whoseCell({ owner, metadata }: Key, page: PageContext): Child {
  const labels = Object.values(metadata).join(', ');
  if (owner === null && labels === '') return '–';
  return [
    owner === null ? undefined : ownerLink(owner.id, page),
    labels === '' ? undefined : el('span', { class: 'labels-text' }, labels),
  ];
}

export function ownerLink(owner: string, page: PageContext): HTMLElement {
  const place = { view: 'keys', params: { ...page.route().params, owner } } as const;
  return link(page.href(place), owner, { class: 'id', 'data-focus': `owner ${owner}` });
}

function mainOf({ balances }: Pick<Key, 'balances'>): Balance | undefined {
  return balances?.find(({ isMain }) => isMain) ?? balances?.[0];
}

export function keyState(
  { disabled, owner, expiresAtMs, balances, isGroupServed }: Key,
  nowMs: number,
): HTMLElement {
  if (disabled) return stateBadge('off', 'off', 'disabled');
  if (owner?.disabled === true) return stateBadge('off', 'off', 'owner disabled');
  if (expiresAtMs !== null && expiresAtMs <= nowMs) return stateBadge('off', 'clock', 'expired');
  if (isGroupServed === false) return stateBadge('warn', 'warn', 'no model');
  return budgetState(balances);
}

export function budgetState(balances: readonly Balance[] | null): HTMLElement {
  const isOut = balances?.some(
    ({ limitNanos, remainingNanos }) => limitNanos !== '0' && remainingNanos === '0',
  );
  if (isOut) return stateBadge('bad', 'bad', 'out of quota');
  const isNear = balances?.some((balance) => fullnessOf(balance) >= nearlyOut);
  return isNear ? stateBadge('warn', 'warn', 'nearly out') : stateBadge('ok', 'ok', 'enabled');
}

export function stateBadge(tone: string, name: IconName, word: string): HTMLElement {
  return el('span', { class: `badge badge-${tone}` }, icon(name), word);
}

export function periodText({ period, anchorDay }: Pick<Balance, 'period' | 'anchorDay'>): string {
  const text = { total: 'in all', day: 'a day', week: 'a week', month: 'a month' }[period];
  return anchorDay === null ? text : `${text}, from day ${anchorDay}`;
}

export function lastUsed(ms: number | null, nowMs: number): Child {
  return ms === null ? '–' : timeOf(ms, agoText(ms, nowMs));
}

/** The keys whose id, owner, group or metadata has a text, filled in once they are known. */
export function keysFound(page: PageContext, text: string): HTMLElement {
  const node = el('div', { class: 'keys-found', role: 'status' });
  const load = async (): Promise<void> => {
    try {
      const { data, next } = await page.api.get<KeyPage>('/keys', { q: text, limit: '5' });
      if (data.length === 0) return;
      const all = page.href({ view: 'keys', params: { q: text } });
      refill(node, [
        el('p', {}, data.length === 1 ? 'It is the text of a key:' : 'It is the text of keys:'),
        keyTable(data, page, { isOwned: true }),
        next === null ? undefined : link(all, 'All of them'),
      ]);
    } catch {
      // The search was for a call.
    }
  };
  if (page.session.capabilities.listKeys) void load();
  return node;
}
