/** Keys: how much of its quota each has used, and everything that can be done with one. */
import type { KeyPage } from '../api.ts';
import { canManage, type PageContext, type View } from '../context.ts';
import { button, type Child, el, icon, link } from '../dom.ts';
import { searchBar } from '../field.ts';
import { empty, pager, panel } from '../panel.ts';
import { keyDrawer } from './key-drawer.ts';
import { issueDialog } from './key-issue.ts';
import { keyTable } from './key-table.ts';

export function keysView(page: PageContext): View {
  const search = keySearch(page);
  const pages = pager(() => list.load());
  const reload = (): void => list.load();
  const drawer = keyDrawer(page, reload);
  const list = panel<KeyPage>({
    title: 'Keys',
    what: 'keys',
    tools: [pages.node, issueButton(page, reload)],
    load: (signal) => page.api.get('/keys', queryOf(page, pages.after()), signal),
    render: (found) => {
      pages.show(found.next);
      return found.data.length === 0 ? emptyList(page) : keyTable(found.data, page);
    },
  });
  let listed = JSON.stringify(page.route().params);
  return {
    node: el('div', {}, search.node, list.node, drawer.node),
    show: (route) => {
      search.show(route);
      drawer.show(route.id);
      const key = JSON.stringify(route.params);
      if (key === listed) return;
      listed = key;
      pages.reset();
      list.load();
    },
    close: () => {
      list.close();
      drawer.close();
    },
  };
}

function keySearch(page: PageContext) {
  return searchBar(page, {
    view: 'keys',
    label: 'Find keys by their id or group',
    placeholder: 'Id or group',
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
    ],
  });
}

function queryOf(page: PageContext, after: string | undefined): Record<string, string | undefined> {
  const { q, group, disabled } = page.route().params;
  return { q, group, disabled, after };
}

function issueButton(page: PageContext, done: () => void): Child {
  if (!canManage(page) || !page.session.capabilities.issueKeys) return undefined;
  return button([icon('plus'), 'Issue a key'], () => issueDialog(page, done), {
    class: 'button main',
  });
}

function emptyList(page: PageContext): HTMLElement {
  const isFiltered = Object.values(page.route().params).some((value) => value !== '');
  if (!isFiltered) return empty(el('p', {}, 'There are no keys yet. Callers need one each.'));
  return empty(
    el('p', {}, 'No key matches this search.'),
    link(page.href({ view: 'keys' }), 'Show all keys', { class: 'button' }),
  );
}
