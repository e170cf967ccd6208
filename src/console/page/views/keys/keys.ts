/** Keys and their owners: what each has used, and everything that can be done with them. */
import {
  type Balance,
  type KeyPage,
  messageOf,
  type Owner,
  type OwnerDetail,
  type OwnerPage,
} from '../../api.ts';
import { canManage, type PageContext, type View } from '../../context.ts';
import { changeDialog, type LoadedDrawer, loadedDrawer } from '../../dialog.ts';
import { button, type Child, el, icon, link } from '../../dom.ts';
import { amountField, searchBar, textField } from '../../field.ts';
import { moneyColumn } from '../../format.ts';
import { empty, factList, failure, type Panel, pager, panel, table } from '../../panel.ts';
import { metadataOf } from '../call-facts.ts';
import { batchDialog } from './key-batch.ts';
import { balanceOf, limitDialog, topUpDialog } from './key-budget.ts';
import {
  action,
  cacheText,
  type Ends,
  endsOf,
  keyDrawer,
  ratesText,
  removeDialog,
  switchDialog,
} from './key-drawer.ts';
import { labelFields, periodFields, rateFields, withoutNulls } from './key-form.ts';
import { issueDialog } from './key-issue.ts';
import { budgetColumns, budgetState, keyTable, ownerLink, stateBadge } from './key-table.ts';

export function keysView(page: PageContext): View {
  const search = keySearch(page);
  const pages = pager(() => list.load());
  const reload = (): void => {
    list.load();
    owners?.load();
  };
  const keySheet = keyDrawer(page, reload);
  const ownerSheet = ownerDrawer(page, reload);
  const owners = page.session.capabilities.listOwners ? ownerPanel(page) : undefined;
  const list = panel<KeyPage>({
    title: 'Keys',
    what: 'keys',
    tools: [pages.node, issueButtons(page, reload)],
    load: (signal) => page.api.get('/keys', queryOf(page, pages.after()), signal),
    render: (found) => {
      pages.show(found.next);
      return found.data.length === 0 ? emptyList(page) : keyTable(found.data, page);
    },
  });
  let listed = listKeyOf(page);
  return {
    node: el('div', {}, search.node, owners?.node, list.node, keySheet.node, ownerSheet.node),
    show: (route) => {
      search.show(route);
      // Only one sheet is open at a time.
      if (route.id === undefined) keySheet.show(undefined);
      else ownerSheet.show(undefined);
      keySheet.show(route.id);
      if (route.id === undefined) ownerSheet.show(route.params.owner);
      const key = listKeyOf(page);
      if (key === listed) return;
      listed = key;
      pages.reset();
      list.load();
      owners?.loadFirst();
    },
    close: () => {
      list.close();
      owners?.close();
      keySheet.close();
      ownerSheet.close();
    },
  };
}

/** What the list depends on; an owner in the URL only opens its sheet. */
function listKeyOf(page: PageContext): string {
  return JSON.stringify(queryOf(page, undefined));
}

function keySearch(page: PageContext) {
  return searchBar(page, {
    view: 'keys',
    label: 'Find keys by their id, owner, group or metadata',
    placeholder: 'Id, owner, group or metadata, such as a user’s address',
    choices: [
      {
        name: 'disabled',
        label: 'State',
        options: [
          ['', 'any state'],
          ['false', 'enabled'],
          ['true', 'disabled'],
        ],
      },
      {
        name: 'sort',
        label: 'Order',
        options: [
          ['', 'by id'],
          ['used', 'most used'],
          ['left', 'least left'],
          ['lastUsed', 'last used'],
        ],
      },
    ],
  });
}

function queryOf(page: PageContext, after: string | undefined): Record<string, string | undefined> {
  const { q, group, disabled, sort } = page.route().params;
  return { q, group, disabled, sort, after };
}

function issueButtons(page: PageContext, done: () => void): Child {
  if (!canManage(page) || !page.session.capabilities.issueKeys) return undefined;
  return [
    button('Issue many', () => batchDialog(page, done), { 'data-focus': 'batch' }),
    button([icon('plus'), 'Issue a key'], () => issueDialog(page, done), {
      class: 'button main',
      'data-focus': 'issue',
    }),
  ];
}

function emptyList(page: PageContext): HTMLElement {
  const isFiltered = Object.entries(page.route().params).some(
    ([name, value]) => value !== '' && name !== 'sort' && name !== 'owner',
  );
  if (!isFiltered) return empty(el('p', {}, 'There are no keys yet. Callers need one each.'));
  return empty(
    el('p', {}, 'No key matches this search.'),
    link(page.href({ view: 'keys' }), 'Show all keys', { class: 'button' }),
  );
}

function ownerDrawer(page: PageContext, changed: () => void): LoadedDrawer {
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

/** A page of the list is short: the keys are below it. */
const shownOwners = '5';

function ownerPanel(page: PageContext): Panel & { readonly loadFirst: () => void } {
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

function ownerState(owner: Owner): HTMLElement {
  return owner.disabled ? stateBadge('off', 'off', 'disabled') : budgetState(balancesOf(owner));
}

/** As the balances of a key; null if the quota store failed. */
function balancesOf({ balance }: Owner): readonly Balance[] | null {
  return balance === null ? null : [{ ...balance, isMain: true, isOwners: true }];
}

/** Adds an owner, or changes the one that is given. */
function ownerDialog(page: PageContext, done: () => void, owner?: Owner): void {
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
