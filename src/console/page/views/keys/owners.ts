/** The list of owners, by the search of the keys: how much of its budget each has used. */
import type { Balance, Owner, OwnerPage } from '../../api.ts';
import { canManage, type PageContext } from '../../context.ts';
import { button, el, icon } from '../../dom.ts';
import { moneyColumn } from '../../format.ts';
import { empty, type Panel, pager, panel, table } from '../../panel.ts';
import { budgetColumns, budgetState, ownerLink, stateBadge } from './key-table.ts';
import { ownerDialog } from './owner-form.ts';

/** A page of the list is short: the keys are below it. */
const shownOwners = '5';

export function ownerPanel(page: PageContext): Panel & { readonly loadFirst: () => void } {
  const pages = pager(() => list.load());
  const list = panel<OwnerPage>({
    title: 'Owners',
    what: 'owners',
    tools: [pages.node, addButton(page, () => list.load())],
    load: (signal) => {
      const { q } = page.route().params;
      return page.api.get('/owners', { q, after: pages.after(), limit: shownOwners }, signal);
    },
    render: ({ data, next }) => {
      pages.show(next);
      if (data.length > 0) return ownerTable(data, page);
      const none =
        page.route().params.q === undefined
          ? 'No owners yet. An owner is a team or a user whose keys share a budget.'
          : 'No owner matches this search.';
      return empty(el('p', {}, none));
    },
  });
  const loadFirst = (): void => {
    pages.reset();
    list.load();
  };
  return { ...list, loadFirst };
}

function addButton(page: PageContext, done: () => void) {
  if (!canManage(page) || !page.session.capabilities.changeOwners) return undefined;
  return button([icon('plus'), 'Add an owner'], () => ownerDialog(page, done), {
    'data-focus': 'add-owner',
  });
}

function ownerTable(owners: readonly Owner[], page: PageContext): HTMLElement {
  const rows = owners.map((owner) => ({ owner, balances: balancesOf(owner) }));
  const money = moneyColumn(owners.map(({ limitNanos }) => limitNanos));
  return table<(typeof rows)[number]>({
    label: 'Owners',
    columns: [
      {
        head: 'owner',
        kind: 'main',
        cell: ({ owner: { id, name } }) => [
          ownerLink(id, page),
          name === null ? undefined : el('span', { class: 'labels-text' }, name),
        ],
      },
      { head: 'state', cell: ({ owner }) => ownerState(owner) },
      ...budgetColumns<(typeof rows)[number]>(({ balances }) => balances?.[0], money),
    ],
    rows,
    keyOf: ({ owner }) => owner.id,
    open: ({ owner }) =>
      page.go({ view: 'keys', params: { ...page.route().params, owner: owner.id } }),
  });
}

export function ownerState(owner: Owner): HTMLElement {
  return owner.disabled ? stateBadge('off', 'off', 'disabled') : budgetState(balancesOf(owner));
}

/** As the balances of a key; null if the quota store failed. */
export function balancesOf({ balance }: Owner): readonly Balance[] | null {
  return balance === null ? null : [{ ...balance, isMain: true, isOwners: true }];
}
