/** The processes that share switches: how long each runs, and which of its channels are out. */
import type { Cluster } from '../api.ts';
import type { PageContext } from '../context.ts';
import { type Child, el, link, refill } from '../dom.ts';
import { agoText, spanText } from '../format.ts';
import { empty, panel, section, table } from '../panel.ts';
import { badge, type Grouping } from './channel-parts.ts';

type Replica = Cluster['replicas'][number];
type Switch = Cluster['switches'][number];

export function replicasPanel(page: PageContext): Grouping {
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
