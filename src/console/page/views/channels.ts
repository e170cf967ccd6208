/**
 * Channels in three groupings: each model with its channels by priority, each account with how it
 * has served lately, and the replicas with what is out where.
 */
import type { Channel, Cluster, Model, Now } from '../api.ts';
import { canManage, type PageContext, type View } from '../context.ts';
import { button, type Child, el, link, refill } from '../dom.ts';
import { searchBar } from '../field.ts';
import { agoText, durationText, spanText } from '../format.ts';
import { type Column, empty, panel, section, table } from '../panel.ts';
import type { Route } from '../route.ts';
import { accountsPanel } from './channel-accounts.ts';
import { shareDialog } from './channel-controls.ts';
import {
  badge,
  type Grouping,
  inFlightText,
  isServing,
  nameCell,
  stateCell,
  switchButtons,
} from './channel-parts.ts';

const groupings = {
  model: modelsPanel,
  account: accountsPanel,
  replica: replicasPanel,
} as const;

type GroupingName = keyof typeof groupings;

function groupingOf({ params: { by } }: Route): GroupingName {
  return by === 'account' || by === 'replica' ? by : 'model';
}

export function channelsView(page: PageContext): View {
  const search = searchBar(page, {
    view: 'channels',
    label: 'Find models and channels',
    placeholder: 'Model or channel',
    choices: [
      {
        name: 'by',
        label: 'Group channels',
        options: [
          ['', 'by model'],
          ['account', 'by account'],
          ['replica', 'by replica'],
        ],
      },
    ],
  });
  const place = el('div', { class: 'channel-place' });
  let shown: { readonly key: string; readonly grouping: Grouping } | undefined;
  const isDue = reloadRule(page);
  return {
    node: el('div', { class: 'channels' }, search.node, place),
    show: (route) => {
      search.show(route);
      // The figures of accounts are of the range.
      const key = `${groupingOf(route)} ${route.range}`;
      if (shown?.key === key) return shown.grouping.draw();
      shown?.grouping.close();
      const grouping = groupings[groupingOf(route)](page);
      shown = { key, grouping };
      refill(place, grouping.node);
    },
    update: (now) => {
      if (shown === undefined) return;
      if (isDue(now, shown.grouping.untilMs())) shown.grouping.load();
      else shown.grouping.draw();
    },
    close: () => shown?.grouping.close(),
  };
}

function modelsPanel(page: PageContext): Grouping {
  const place = el('div', { class: 'models' });
  let models: readonly Model[] | undefined;
  const draw = (): void => {
    if (models !== undefined) refill(place, modelsOf(models, page, list.load));
  };
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
  const untilMs = (): readonly number[] =>
    (models ?? []).flatMap(({ channels }) => channels.flatMap(({ untilMs: ms }) => ms ?? []));
  return { ...list, draw, untilMs };
}

/**
 * When the list is read again: when the live figures name other channels, or a channel should be
 * back. A request for every event would keep the operator's session alive for ever.
 */
function reloadRule(page: PageContext) {
  let known: string | undefined;
  let lastMs = page.nowMs();
  return ({ attention }: Now, untilMs: readonly number[]): boolean => {
    const about = attention.filter(({ kind }) => kind === 'channel').map(({ text }) => text);
    const current = about.join('\n');
    const nowMs = page.nowMs();
    const returned = untilMs.some((ms) => ms > lastMs && ms <= nowMs);
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

function channelTable(model: Model, page: PageContext, reload: () => void): HTMLElement {
  return table<Channel>({
    label: `Channels of ${model.modelId}, by priority`,
    columns: [
      {
        head: 'channel',
        kind: 'main',
        cell: ({ channelId, platform, dialect, upstreamModel }) =>
          nameCell(channelId, `${platform ?? dialect}, ${upstreamModel}`, page),
      },
      { head: 'state', kind: 'wide', cell: (channel) => stateCell(channel, page.nowMs()) },
      { head: 'priority', kind: 'number', cell: ({ priority }) => String(priority) },
      { head: 'weight', kind: 'number', cell: ({ weight }) => String(weight) },
      { head: 'in flight', kind: 'number', cell: inFlightText },
      {
        head: 'p95',
        kind: 'number',
        cell: ({ firstByteP95Ms }) => durationText(firstByteP95Ms),
      },
      { head: 'groups', cell: ({ groups }) => groups?.join(', ') ?? 'all' },
      ...actionColumn(model, page, reload),
    ],
    rows: model.channels,
    keyOf: ({ channelId }) => channelId,
    rowClass: ({ state, weight }) => (state === 'off' || weight === 0 ? 'dim' : undefined),
  });
}

function actionColumn(
  { modelId }: Model,
  page: PageContext,
  reload: () => void,
): readonly Column<Channel>[] {
  if (!canManage(page)) return [];
  const { changeChannels } = page.session.capabilities;
  const edit = (channel: Channel): HTMLElement =>
    button('Edit', () => shareDialog(channel, modelId, page, reload), {
      'data-focus': `edit ${modelId} ${channel.channelId}`,
      'aria-label': `Edit ${channel.channelId} of ${modelId}`,
    });
  return [
    {
      head: 'actions',
      kind: 'action',
      cell: (channel) => {
        const { channelId, state } = channel;
        const switchable = { channelId, state, modelIds: [modelId], place: modelId };
        return switchButtons(switchable, page, reload, changeChannels ? edit(channel) : undefined);
      },
    },
  ];
}

type Replica = Cluster['replicas'][number];
type Switch = Cluster['switches'][number];

function replicasPanel(page: PageContext): Grouping {
  const place = el('div', { class: 'models replicas' });
  let known: Cluster | undefined;
  const draw = (): void => {
    if (known !== undefined) refill(place, clusterOf(known, page));
  };
  const list = panel<Cluster>({
    title: 'Channels',
    what: 'replicas',
    load: (signal) => page.api.get('/replicas', {}, signal),
    render: (cluster) => {
      known = cluster;
      draw();
      return place;
    },
  });
  return { ...list, draw, untilMs: () => [] };
}

function clusterOf({ isShared, self, replicas, switches }: Cluster, page: PageContext): Child {
  const nowMs = page.nowMs();
  const alone =
    'Without a database this process knows of no other: a switch holds here, until it ends.';
  return [
    section(
      'Replicas',
      el('span', { class: 'hint' }, `${replicas.length} seen in the last minute`),
      replicaTable(replicas, self.id, page),
      isShared ? undefined : el('p', { class: 'note' }, alone),
    ),
    isShared ? section('Switches', undefined, switchTable(switches, page, nowMs)) : undefined,
  ];
}

function replicaTable(
  replicas: readonly Replica[],
  selfId: string,
  page: PageContext,
): HTMLElement {
  const nowMs = page.nowMs();
  return table<Replica>({
    label: 'Replicas',
    columns: [
      {
        head: 'host',
        kind: 'main',
        cell: ({ id, host, pid }) => [
          el('b', {}, host),
          el('span', { class: 'below' }, `process ${pid}${id === selfId ? ', this one' : ''}`),
        ],
      },
      { head: 'channels that are out', kind: 'wide', cell: (replica) => outCell(replica, page) },
      { head: 'version', cell: ({ version }) => version },
      {
        head: 'up',
        kind: 'number',
        cell: ({ startedAtMs }) => spanText(Math.max(0, nowMs - startedAtMs)),
      },
      {
        head: 'last seen',
        kind: 'number',
        cell: ({ id, seenAtMs }) =>
          id === selfId ? 'now' : agoText(Math.min(seenAtMs, nowMs), nowMs),
      },
    ],
    rows: replicas,
    keyOf: ({ id }) => id,
  });
}

function outCell({ channels }: Replica, page: PageContext): Child {
  if (channels.length === 0) return el('span', { class: 'hint' }, 'none');
  return channels.map(({ channelId, upstreamModel, state }) =>
    el('span', { class: 'out' }, [
      link(page.href({ view: 'channels', params: { channel: channelId } }), channelId, {
        class: 'id',
      }),
      upstreamModel === null ? undefined : el('span', { class: 'hint' }, upstreamModel),
      badge(state),
    ]),
  );
}

function switchTable(switches: readonly Switch[], page: PageContext, nowMs: number): HTMLElement {
  if (switches.length === 0) return empty(el('p', {}, 'No channel has been switched.'));
  return table<Switch>({
    label: 'The latest switch of each channel',
    columns: [
      {
        head: 'channel',
        kind: 'main',
        cell: ({ channelId }) =>
          link(page.href({ view: 'channels', params: { channel: channelId } }), channelId, {
            class: 'id',
          }),
      },
      { head: 'switched', cell: ({ isOff }) => (isOff ? badge('off') : 'on') },
      { head: 'by', cell: ({ actor }) => actor },
      { head: 'when', kind: 'number', cell: ({ atMs }) => agoText(Math.min(atMs, nowMs), nowMs) },
    ],
    rows: [...switches].sort((one, other) => other.atMs - one.atMs),
    keyOf: ({ channelId }) => channelId,
  });
}
