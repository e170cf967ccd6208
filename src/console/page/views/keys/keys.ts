/** Keys and their owners: what each has used, and everything that can be done with them. */
import type { KeyPage } from '../../api.ts';
import { canManage, type PageContext, type View } from '../../context.ts';
import { button, type Child, el, icon, link } from '../../dom.ts';
import { searchBar } from '../../field.ts';
import { empty, pager, panel } from '../../panel.ts';
import { batchDialog } from './key-batch.ts';
import { keyDrawer } from './key-drawer.ts';
import { issueDialog } from './key-issue.ts';
import { keyTable } from './key-table.ts';
import { ownerDrawer } from './owner-drawer.ts';
import { ownerPanel } from './owners.ts';

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
