/** One owner: its budget, its keys, and what can be done with it. */
import { messageOf, type OwnerDetail } from '../../api.ts';
import { canManage, type PageContext } from '../../context.ts';
import { type LoadedDrawer, loadedDrawer } from '../../dialog.ts';
import { type Child, el, link } from '../../dom.ts';
import { empty, factList, failure } from '../../panel.ts';
import { metadataOf } from '../call-facts.ts';
import { balanceOf, limitDialog, topUpDialog } from './key-budget.ts';
import {
  action,
  cacheText,
  type Ends,
  endsOf,
  ratesText,
  removeDialog,
  switchDialog,
} from './key-drawer.ts';
import { keyTable } from './key-table.ts';
import { ownerDialog } from './owner-form.ts';
import { balancesOf, ownerState } from './owners.ts';

export function ownerDrawer(page: PageContext, changed: () => void): LoadedDrawer {
  const drawer: LoadedDrawer = loadedDrawer<OwnerDetail>(page, {
    label: 'Owner',
    view: 'keys',
    what: 'the owner',
    title: (id) => el('span', { class: 'id' }, id),
    load: (id, signal) => page.api.get(`/owners/${encodeURIComponent(id)}`, {}, signal),
    render: (owner, again) => partsOf(owner, page, endsOf(drawer, changed, again)),
    problem: (error, again) => failure(messageOf(error), again),
    leave: ({ view, id, params: { owner, ...params } }) => {
      if (view === 'keys' && id === undefined && owner !== undefined) page.go({ view, params });
    },
  });
  return drawer;
}

function partsOf(owner: OwnerDetail, page: PageContext, ends: Ends): HTMLElement {
  const [balance] = balancesOf(owner) ?? [];
  return el('article', { class: 'request' }, [
    ownerState(owner),
    actionsOf(owner, page, ends),
    el('section', { class: 'balances' }, [
      el('h3', {}, 'Budget'),
      balance === undefined
        ? el('p', { class: 'hint' }, 'The quota store failed, so the balance is unknown.')
        : balanceOf(balance),
    ]),
    factList('Owner', [
      ['name', owner.name ?? undefined],
      ['rates of all its keys', ratesText(owner.rates, 'none')],
    ]),
    metadataOf(owner.metadata),
    keysOf(owner, page),
    link(page.href({ view: 'spend', params: { by: 'key' } }), 'Spend by key'),
  ]);
}

function keysOf({ id, keys: { data, next } }: OwnerDetail, page: PageContext): HTMLElement {
  return el('section', { class: 'owned' }, [
    el(
      'h3',
      {},
      next === null ? `Its keys (${data.length})` : `The first ${data.length} of its keys`,
    ),
    data.length === 0
      ? empty(el('p', {}, 'No key names this owner yet. Set it when you issue or edit a key.'))
      : keyTable(data, page, { isOwned: true }),
    next === null
      ? undefined
      : link(page.href({ view: 'keys', params: { q: id } }), 'Find all its keys'),
  ]);
}

function actionsOf(owner: OwnerDetail, page: PageContext, { done, gone }: Ends): Child {
  if (!canManage(page) || !page.session.capabilities.changeOwners) return undefined;
  const { id, disabled } = owner;
  const path = `/owners/${encodeURIComponent(id)}`;
  const budget = { id, path, balances: balancesOf(owner), isOptional: true };
  const effect = disabled
    ? 'Calls with its keys are served again.'
    : 'Calls with its keys are refused.';
  const switchIt = (): void =>
    switchDialog(page, done, owner, `${effect} ${cacheText(page)}`, () =>
      page.api.post(`${path}/edit`, { disabled: !disabled }),
    );
  const remove = (): void =>
    removeDialog(
      page,
      gone,
      id,
      'No key may name it any more. Its balance and the usage of its keys stay.',
      () => page.api.post(`${path}/remove`, {}),
    );
  return el('div', { class: 'actions' }, [
    action('Edit', () => ownerDialog(page, done, owner), 'edit'),
    action('Top up', () => topUpDialog(budget, page, done), 'top-up'),
    action('Set limit', () => limitDialog(budget, page, done), 'limit'),
    action(disabled ? 'Enable' : 'Disable', switchIt, 'switch'),
    action('Remove', remove, 'remove', 'button danger'),
  ]);
}
