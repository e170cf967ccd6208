/** Channels: each model with its channels by priority, their health, and the switches for them. */
import type { PageContext, View } from '../context.ts';
import { type Child, el, link, refill } from '../dom.ts';
import { empty, panel, section } from '../panel.ts';
import type { Route } from '../route.ts';
import { searchBar } from '../search-bar.ts';
import type { Model, Now } from '../wire.ts';
import { channelTable } from './channel-table.ts';

export function channelsView(page: PageContext): View {
  const search = searchBar(page, {
    view: 'channels',
    label: 'Find models and channels',
    placeholder: 'Model or channel',
  });
  const place = el('div', { class: 'models' });
  let models: readonly Model[] = [];
  const draw = (): void => refill(place, modelsOf(models, page, list.load));
  const list = panel<{ readonly data: readonly Model[] }>({
    title: 'Channels',
    what: 'channels',
    load: (signal) => page.api.get('/channels', {}, signal),
    render: ({ data }) => {
      models = data;
      draw();
      return place;
    },
  });
  const isDue = reloadRule(page);
  return {
    node: el('div', { class: 'channels' }, search.node, list.node),
    show: (route) => {
      search.show(route);
      if (models.length > 0) draw();
    },
    update: (now) => {
      if (isDue(now, models)) list.load();
      else if (models.length > 0) draw();
    },
    close: list.close,
  };
}

/**
 * When the list is read again: when the live figures name other channels, or a channel should be
 * back. A request for every event would keep the operator's session alive for ever.
 */
function reloadRule(page: PageContext) {
  let known: string | undefined;
  let lastMs = page.nowMs();
  return ({ attention }: Now, models: readonly Model[]): boolean => {
    const about = attention.filter(({ kind }) => kind === 'channel').map(({ text }) => text);
    const current = about.join('\n');
    const nowMs = page.nowMs();
    const returned = models.some(({ channels }) =>
      channels.some(({ untilMs }) => untilMs !== null && untilMs > lastMs && untilMs <= nowMs),
    );
    const isNews = known !== undefined && known !== current;
    known = current;
    if (isNews || returned) lastMs = nowMs;
    return isNews || returned;
  };
}

function modelsOf(models: readonly Model[], page: PageContext, reload: () => void): Child {
  if (models.length === 0) return noModels(page);
  const shown = models.flatMap((model) => fitting(model, page.route()));
  if (shown.length === 0) {
    return empty(
      el('p', {}, 'No model or channel matches this search.'),
      link(page.href({ view: 'channels' }), 'Show all', { class: 'button' }),
    );
  }
  return shown.map((model) => {
    const { modelId, aliases, channels } = model;
    const also = aliases.length === 0 ? undefined : `also ${aliases.join(', ')}`;
    const served = channels.filter(({ state, weight }) => isServing(state) && weight > 0).length;
    const count = el(
      'span',
      { class: served === 0 ? 'badge badge-bad' : 'hint' },
      served === 0 ? 'every channel is out' : `${served} of ${channels.length} serve`,
    );
    return section(
      modelId,
      [also === undefined ? undefined : el('span', { class: 'hint' }, also), count],
      channelTable(model, page, reload),
    );
  });
}

function isServing(state: string): boolean {
  return ['ready', 'deprioritized', 'half_open'].includes(state);
}

function fitting(model: Model, { params }: Route): readonly Model[] {
  const { q = '', model: modelId, channel } = params;
  const text = q.toLowerCase();
  const has = (name: string): boolean => name.toLowerCase().includes(text);
  if (modelId !== undefined && modelId !== model.modelId) return [];
  const isNamed = has(model.modelId) || model.aliases.some(has);
  const channels = model.channels.filter(
    ({ channelId }) =>
      (channel === undefined || channel === channelId) && (isNamed || has(channelId)),
  );
  return channels.length === 0 ? [] : [{ ...model, channels }];
}

function noModels({ session }: PageContext): HTMLElement {
  const text = session.capabilities.listModels
    ? 'The catalog has no models yet.'
    : 'The catalog of this gateway can’t list its models.';
  return empty(el('p', {}, text));
}
