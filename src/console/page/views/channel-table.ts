/** The channels of a model: state, share and load of each. */
import { canManage, type PageContext } from '../context.ts';
import { button, type Child, el, link } from '../dom.ts';
import { durationText, sentence, spanText, wordsOf } from '../format.ts';
import { type IconName, icon } from '../icons.ts';
import { type Column, table } from '../table.ts';
import type { Channel, Model } from '../wire.ts';
import { shareDialog } from './channel-shares.ts';
import { channelSwitchDialog } from './channel-switch.ts';

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

export function channelTable(model: Model, page: PageContext, reload: () => void): HTMLElement {
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

function nameCell({ channelId, dialect, upstreamModel }: Channel, page: PageContext): Child {
  const href = page.href({ view: 'calls', params: { channel: channelId } });
  return [
    link(href, channelId, { class: 'id', 'data-focus': `name ${channelId}` }),
    el('span', { class: 'below' }, `${dialect}, ${upstreamModel}`),
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
