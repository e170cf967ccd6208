/**
 * Channels: each model with its channels by priority, the state, share and load of each, and the
 * switches for them.
 */
import type { Channel, Model, Now } from '../api.ts';
import { canManage, type PageContext, type View } from '../context.ts';
import { button, type Child, el, type IconName, icon, link, refill } from '../dom.ts';
import { searchBar } from '../field.ts';
import { durationText, sentence, spanText, wordsOf } from '../format.ts';
import { type Column, empty, panel, section, table } from '../panel.ts';
import type { Route } from '../route.ts';
import { channelSwitchDialog, shareDialog } from './channel-controls.ts';

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

const looks: Readonly<
  Record<
    Channel['state'],
    { readonly tone: string; readonly icon: IconName; readonly word: string }
  >
> = {
  ready: { tone: 'ok', icon: 'ok', word: 'ready' },
  deprioritized: { tone: 'warn', icon: 'down', word: 'chosen last' },
  half_open: { tone: 'warn', icon: 'half', word: 'one call tries it' },
  cooling_down: { tone: 'warn', icon: 'clock', word: 'cooling down' },
  open: { tone: 'bad', icon: 'bad', word: 'circuit open' },
  refused: { tone: 'bad', icon: 'key', word: 'credential refused' },
  off: { tone: 'off', icon: 'off', word: 'off' },
};

function channelTable(model: Model, page: PageContext, reload: () => void): HTMLElement {
  return table<Channel>({
    label: `Channels of ${model.modelId}, by priority`,
    columns: [
      { head: 'channel', kind: 'main', cell: (channel) => nameCell(channel, page) },
      { head: 'state', kind: 'wide', cell: (channel) => stateCell(channel, page.nowMs()) },
      { head: 'priority', kind: 'number', cell: ({ priority }) => String(priority) },
      { head: 'weight', kind: 'number', cell: ({ weight }) => String(weight) },
      { head: 'in flight', kind: 'number', cell: inFlightText },
      {
        head: 'p95 first byte',
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

function nameCell(channel: Channel, page: PageContext): Child {
  const { channelId, dialect, platform, upstreamModel } = channel;
  const href = page.href({ view: 'calls', params: { channel: channelId } });
  return [
    link(href, channelId, { class: 'id', 'data-focus': `name ${channelId}` }),
    el('span', { class: 'below' }, `${platform ?? dialect}, ${upstreamModel}`),
  ];
}

function stateCell(
  { state, reason, meaning, remedy, untilMs, weight }: Channel,
  nowMs: number,
): Child {
  const { tone, icon: name, word } = looks[state];
  const backMs = untilMs === null ? undefined : Math.max(0, untilMs - nowMs);
  const more = [
    reason === null ? undefined : wordsOf(reason),
    backMs === undefined ? undefined : `back in ${spanText(backMs)}`,
    weight === 0 ? 'weight 0: gets no calls' : undefined,
  ].filter((text) => text !== undefined);
  return [
    el('span', { class: 'outcome', title: meaning ?? undefined }, [
      el('span', { class: `badge badge-${tone}` }, icon(name), word),
      more.length === 0 ? undefined : el('span', { class: 'reason' }, more.join(', ')),
    ]),
    remedy === null ? undefined : el('span', { class: 'below' }, sentence(remedy)),
  ];
}

function inFlightText({ inFlight, maxConcurrentCalls }: Channel): string {
  return maxConcurrentCalls === null ? String(inFlight) : `${inFlight} of ${maxConcurrentCalls}`;
}

function actionColumn(
  { modelId }: Model,
  page: PageContext,
  reload: () => void,
): readonly Column<Channel>[] {
  if (!canManage(page)) return [];
  const { changeChannels } = page.session.capabilities;
  return [
    {
      head: 'actions',
      kind: 'action',
      cell: (channel) => {
        const { channelId, state, weight } = channel;
        const isOff = state === 'off' || weight === 0;
        const label = isOff ? 'Turn on' : 'Turn off';
        return el('span', { class: 'row-actions' }, [
          changeChannels
            ? button('Edit', () => shareDialog(channel, modelId, page, reload), {
                'data-focus': `edit ${modelId} ${channelId}`,
                'aria-label': `Edit ${channelId} of ${modelId}`,
              })
            : undefined,
          button(label, () => channelSwitchDialog(channel, isOff, page, reload), {
            'data-focus': `switch ${modelId} ${channelId}`,
            'aria-label': `${label} ${channelId}`,
          }),
        ]);
      },
    },
  ];
}
