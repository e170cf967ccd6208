/** Models: their prices and limits, the channels of each with their costs, and the versions. */
import { type CatalogModel, type CatalogVersion, messageOf } from '../api.ts';
import type { PageContext, View } from '../context.ts';
import { loadedDrawer } from '../dialog.ts';
import { type Child, el, link, timeOf } from '../dom.ts';
import { searchBar } from '../field.ts';
import { clockText, countText } from '../format.ts';
import { empty, failure, panel, table } from '../panel.ts';
import { changeLine, modelParts, priceCell } from './model-drawer.ts';

interface Catalog {
  readonly data: readonly CatalogModel[];
}

export function modelsView(page: PageContext): View {
  const { listModels, changePrices } = page.session.capabilities;
  const search = searchBar(page, {
    view: 'models',
    label: 'Find models',
    placeholder: 'Model, group or channel',
  });
  const place = el('div', {});
  let models: readonly CatalogModel[] | undefined;
  const draw = (): void => place.replaceChildren(modelList(models ?? [], page));
  const load = (signal?: AbortSignal): Promise<Catalog> =>
    listModels ? page.api.get('/models', {}, signal) : Promise.resolve({ data: [] });
  const list = panel<Catalog>({
    title: 'Models',
    what: 'the models',
    load,
    render: ({ data }) => {
      models = data;
      draw();
      return place;
    },
  });
  const history = changePrices ? historyPanel(page) : undefined;
  const drawer = loadedDrawer<CatalogModel | undefined>(page, {
    label: 'Model',
    view: 'models',
    what: 'the model',
    title: (id) => el('span', { class: 'id' }, id),
    load: async (id, signal) => (await load(signal)).data.find(({ modelId }) => modelId === id),
    render: (model, again) =>
      model === undefined
        ? empty(el('p', {}, 'The catalog has no model with this id.'))
        : modelParts(model, page, () => {
            list.load();
            history?.load();
            again();
          }),
    problem: (error, again) => failure(messageOf(error), again),
  });
  return {
    node: el('div', {}, search.node, list.node, history?.node, drawer.node),
    show: (route) => {
      search.show(route);
      drawer.show(route.id);
      if (models !== undefined) draw();
    },
    close: () => {
      list.close();
      history?.close();
      drawer.close();
    },
  };
}

function modelList(all: readonly CatalogModel[], page: PageContext): HTMLElement {
  const { params } = page.route();
  const text = (params.q ?? '').toLowerCase();
  const shown = all.filter((model) => namesOf(model).some((name) => name.includes(text)));
  if (all.length === 0) {
    return empty(
      el('p', {}, [
        page.session.capabilities.listModels
          ? 'The catalog has no models yet.'
          : 'The catalog of this gateway can’t list its models.',
      ]),
    );
  }
  if (shown.length === 0) {
    return empty(
      el('p', {}, 'No model matches this search.'),
      link(page.href({ view: 'models' }), 'Show all models', { class: 'button' }),
    );
  }
  const at = (id: string) => ({ view: 'models', id, params }) as const;
  return table<CatalogModel>({
    label: 'Models, in the order of the catalog',
    columns: [
      {
        head: 'model',
        kind: 'main',
        cell: (model) => nameCell(model, page.href(at(model.modelId))),
      },
      { head: 'price, per million tokens', kind: 'wide', cell: ({ price }) => priceCell(price) },
      { head: 'groups', cell: ({ groups }) => groups.join(', ') || 'none' },
      { head: 'APIs', cell: ({ protocols }) => protocols?.join(', ') ?? 'by the listed price' },
      { head: 'context', kind: 'number', cell: ({ contextTokens }) => countText(contextTokens) },
      { head: 'channels', kind: 'number', cell: ({ channels }) => countText(channels.length) },
    ],
    rows: shown,
    keyOf: ({ modelId }) => modelId,
    open: ({ modelId }) => page.go(at(modelId)),
  });
}

function namesOf({ modelId, aliases, groups, channels }: CatalogModel): readonly string[] {
  const names = [modelId, ...aliases, ...groups, ...channels.map(({ channelId }) => channelId)];
  return names.map((name) => name.toLowerCase());
}

function nameCell(
  { modelId, aliases, isWildcard, displayName }: CatalogModel,
  href: string,
): Child {
  const also = [
    displayName ?? undefined,
    aliases.length === 0 ? undefined : `also ${aliases.join(', ')}`,
    isWildcard ? 'a wildcard: every model whose id begins like this' : undefined,
  ].filter((text) => text !== undefined);
  return [
    link(href, modelId, { class: 'id', 'data-focus': modelId }),
    also.length === 0 ? undefined : el('span', { class: 'below' }, also.join(' · ')),
  ];
}

function historyPanel(page: PageContext) {
  return panel<{ readonly data: readonly CatalogVersion[] }>({
    title: 'Versions',
    what: 'the versions',
    load: (signal) => page.api.get('/catalog/history', {}, signal),
    render: ({ data }) =>
      data.length === 0
        ? empty(el('p', {}, 'Nothing has been published yet.'))
        : table<CatalogVersion>({
            label: 'Versions of the catalog, the newest first',
            columns: [
              { head: 'version', kind: 'main', cell: ({ version }) => String(version) },
              {
                head: 'time',
                cell: ({ atMs }) => timeOf(atMs, clockText(atMs, page.nowMs())),
              },
              { head: 'actor', cell: ({ actor }) => actor ?? 'unknown' },
              { head: 'changes', kind: 'wide', cell: changesCell },
              { head: 'note', cell: ({ note }) => note ?? '' },
            ],
            rows: data.slice(0, shownVersions),
            keyOf: ({ version }) => String(version),
          }),
  });
}

const shownVersions = 20;
const shownChanges = 4;

function changesCell({ changes, moreChanges }: CatalogVersion): Child {
  if (changes === null) return 'not recorded';
  if (changes.length === 0) return 'none';
  const more = changes.length + moreChanges - shownChanges;
  return [
    changes.slice(0, shownChanges).map((change) => changeLine(change, true)),
    more > 0 ? el('span', { class: 'below' }, `and ${more} more`) : undefined,
  ];
}
