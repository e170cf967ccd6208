/** Audit: who changed what, and when, also what was refused or failed. */
import { changedMembers } from '../../../admin/audit/changed-members.ts';
import type { AuditPage } from '../api.ts';
import type { PageContext, View } from '../context.ts';
import { type Child, el, type IconName, icon, link, timeOf } from '../dom.ts';
import { searchBar } from '../field.ts';
import { amountText, clockText, wordsOf } from '../format.ts';
import { type Column, empty, pager, panel, table } from '../panel.ts';
import type { ViewName } from '../route.ts';

type Entry = AuditPage['data'][number];

const kinds = ['key', 'owner', 'model', 'channel', 'catalog', 'call', 'console'] as const;

export function auditView(page: PageContext): View {
  const search = searchBar(page, {
    view: 'audit',
    label: 'Find the changes of a person',
    placeholder: 'Actor, exactly',
    choices: [
      {
        name: 'action',
        label: 'What was changed',
        options: [['', 'everything'], ...kinds.map(twice)],
      },
      {
        name: 'outcome',
        label: 'Outcome',
        options: [['', 'any outcome'], ...(['done', 'failed', 'refused'] as const).map(twice)],
      },
      { name: 'days', label: 'Time', options: spans },
    ],
  });
  const pages = pager(() => list.load());
  const list = panel<AuditPage>({
    title: 'Audit',
    what: 'the audit trail',
    tools: [pages.node, exportLink(page)],
    load: (signal) =>
      page.api.get('/audit', { ...queryOf(page), after: pages.after(), limit: '50' }, signal),
    render: (found) => {
      pages.show(found.next);
      return entries(found, page);
    },
  });
  let listed = JSON.stringify(page.route().params);
  return {
    node: el('div', {}, search.node, list.node),
    show: (route) => {
      search.show(route);
      const key = JSON.stringify(route.params);
      if (key === listed) return;
      listed = key;
      pages.reset();
      list.load();
    },
    close: list.close,
  };
}

const spans = [
  ['', 'any time'],
  ['1', 'last 24 hours'],
  ['7', 'last 7 days'],
  ['30', 'last 30 days'],
] as const;

function twice<Text extends string>(text: Text): readonly [Text, Text] {
  return [text, text];
}

function queryOf(page: PageContext): Record<string, string | undefined> {
  const { q, action, target, outcome, days } = page.route().params;
  const isSpan = days !== undefined && /^\d{1,4}$/.test(days);
  const fromMs = isSpan ? String(Math.floor(page.nowMs()) - Number(days) * 86_400_000) : undefined;
  return { actor: q, action, target, outcome, fromMs };
}

function exportLink(page: PageContext): HTMLElement {
  const href = page.api.urlOf('/audit.csv', queryOf(page));
  return link(href, [icon('download'), 'CSV'], { class: 'button', download: 'audit.csv' });
}

function entries({ data, source }: AuditPage, page: PageContext): HTMLElement {
  const note = el('p', { class: 'hint panel-note' }, [
    'This process keeps its latest 1,000 changes in memory. With an audit log in a database they ' +
      'are kept, with those of all processes and commands.',
  ]);
  const isFiltered = Object.values(page.route().params).some((value) => value !== '');
  const shown =
    data.length > 0
      ? entryTable(data, page)
      : empty(
          el('p', {}, isFiltered ? 'No change matches this search.' : 'Nothing was changed yet.'),
          isFiltered
            ? link(page.href({ view: 'audit' }), 'Show all changes', { class: 'button' })
            : undefined,
        );
  return el('div', {}, source === 'process' ? note : undefined, shown);
}

function entryTable(data: readonly Entry[], page: PageContext): HTMLElement {
  const columns: readonly Column<Entry>[] = [
    { head: 'time', cell: ({ atMs }) => timeOf(atMs, clockText(atMs, page.nowMs())) },
    { head: 'actor', cell: ({ actor }) => actor },
    { head: 'action', kind: 'main', cell: ({ action }) => actionText(action) },
    { head: 'target', cell: (entry) => targetCell(entry, page) },
    { head: 'outcome', cell: outcomeCell },
    { head: 'change', kind: 'wide', cell: ({ change }) => changeCell(change) },
  ];
  return table<Entry>({
    label: 'Changes by operators, the latest first',
    columns,
    rows: data,
    keyOf: ({ atMs, action, target }) => `${atMs} ${action} ${target}`,
    rowClass: ({ outcome }) => (outcome === 'done' ? undefined : 'dim'),
  });
}

/** `key.top_up` is `key: top up`. */
function actionText(action: string): string {
  return wordsOf(action).replace('.', ': ');
}

const views: Readonly<Record<string, ViewName>> = { key: 'keys', call: 'calls', model: 'models' };

function targetCell({ action, target }: Entry, page: PageContext): Child {
  if (target === null) return '–';
  const [kind = ''] = action.split('.');
  const view = views[kind];
  const name = el('span', { class: 'id' }, target);
  if (kind === 'channel') {
    return link(page.href({ view: 'channels', params: { channel: target } }), name);
  }
  return view === undefined ? name : link(page.href({ view, id: target }), name);
}

const outcomes: Readonly<Record<Entry['outcome'], readonly [tone: string, icon: IconName]>> = {
  done: ['ok', 'ok'],
  failed: ['bad', 'bad'],
  refused: ['warn', 'warn'],
};

function outcomeCell({ outcome, code }: Entry): Child {
  const [tone, name] = outcomes[outcome];
  return el('span', { class: 'outcome' }, [
    el('span', { class: `badge badge-${tone}` }, icon(name), outcome),
    code === null ? undefined : el('span', { class: 'reason' }, wordsOf(code)),
  ]);
}

/** Each member with its value, and the one that it had before if that is known. */
function changeCell(change: Entry['change']): Child {
  const members = changedMembers(change);
  if (members.length === 0) return '–';
  return members.map(({ name, before, value }) =>
    el('span', { class: 'change' }, [
      el('span', { class: 'change-name' }, nameText(name)),
      ' ',
      before === null ? undefined : [el('del', {}, valueText(name, before)), ' → '],
      valueText(name, value),
    ]),
  );
}

/** `limitNanos` is `limit`, `maxConcurrentCalls` is `max concurrent calls`. */
function nameText(name: string): string {
  return name
    .replace(/(?:Nanos|Ms)$/, '')
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

function valueText(name: string, value: string | number | boolean | null): string {
  if (name.endsWith('Nanos') && /^-?\d+$/.test(String(value))) return amountText(String(value));
  return String(value);
}
