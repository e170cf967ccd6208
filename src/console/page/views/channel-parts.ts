/** What the groupings of channels share: the state with its reason, switches, replicas, buttons. */
import type { Channel } from '../api.ts';
import type { PageContext } from '../context.ts';
import { button, type Child, el, type IconName, icon, link } from '../dom.ts';
import { agoText, sentence, spanText, wordsOf } from '../format.ts';
import type { Panel } from '../panel.ts';
import { channelSwitchDialog, testDialog } from './channel-controls.ts';

/** A panel that is drawn again when the time or the search has changed. */
export interface Grouping extends Pick<Panel, 'node' | 'load' | 'close'> {
  draw(): void;
  /** When each of its channels should be back, for those that are out for some time. */
  untilMs(): readonly number[];
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

/** What the state of a channel, or of a model on it, is shown from. */
export type Shown = Pick<
  Channel,
  'state' | 'reason' | 'meaning' | 'remedy' | 'untilMs' | 'switched' | 'replicas'
> & { readonly weight?: number };

export function isServing(state: string): boolean {
  return ['ready', 'deprioritized', 'half_open'].includes(state);
}

export function stateCell(channel: Shown, nowMs: number): Child {
  const { reason, meaning, remedy, untilMs, weight } = channel;
  const backMs = untilMs === null ? undefined : Math.max(0, untilMs - nowMs);
  const more = [
    reason === null ? undefined : wordsOf(reason),
    backMs === undefined ? undefined : `back in ${spanText(backMs)}`,
    weight === 0 ? 'weight 0: gets no calls' : undefined,
  ].filter((text) => text !== undefined);
  return [
    el('span', { class: 'outcome', title: meaning ?? undefined }, [
      badge(channel.state),
      more.length === 0 ? undefined : el('span', { class: 'reason' }, more.join(', ')),
    ]),
    switchedText(channel, nowMs),
    remedy === null ? undefined : el('span', { class: 'below' }, sentence(remedy)),
    replicasText(channel),
  ];
}

export function badge(state: Channel['state']): HTMLElement {
  const { tone, icon: name, word } = looks[state];
  return el('span', { class: `badge badge-${tone}` }, icon(name), word);
}

/** Who disabled it; who enabled it is shown for an hour, while it may explain something. */
function switchedText({ switched }: Shown, nowMs: number): Child {
  if (switched === null || (!switched.isOff && nowMs - switched.atMs > 3_600_000)) return undefined;
  const { isOff, actor, atMs } = switched;
  const text = `turned ${isOff ? 'off' : 'on'} by ${actor}, ${agoText(atMs, nowMs)}`;
  return el('span', { class: 'below' }, text);
}

function replicasText({ replicas }: Shown): Child {
  if (replicas.length === 0) return undefined;
  const text = replicas.map(({ host, pid, state }) => {
    const isAlone = replicas.filter((other) => other.host === host).length === 1;
    return `${host}${isAlone ? '' : ` ${pid}`}: ${looks[state].word}`;
  });
  return el('span', { class: 'below' }, `Replicas differ. ${text.join(', ')}`);
}

export function nameCell(channelId: string, below: Child, page: PageContext): Child {
  const href = page.href({ view: 'calls', params: { channel: channelId } });
  return [
    link(href, channelId, { class: 'id', 'data-focus': `name ${channelId}` }),
    el('span', { class: 'below' }, below),
  ];
}

export function inFlightText({
  inFlight,
  maxConcurrentCalls,
}: Pick<Channel, 'inFlight' | 'maxConcurrentCalls'>): string {
  return maxConcurrentCalls === null ? String(inFlight) : `${inFlight} of ${maxConcurrentCalls}`;
}

interface Switchable {
  readonly channelId: string;
  readonly state: Channel['state'];
  /** The models that it can be tested with. */
  readonly modelIds: readonly string[];
  /** Names the buttons for the focus: a channel may be in several rows. */
  readonly place: string;
}

/** Test, and on or off; nothing for those who may only read. */
export function switchButtons(
  channel: Switchable,
  page: PageContext,
  done: () => void,
  first?: Child,
): HTMLElement {
  const { channelId, state, place } = channel;
  // A refused account waits for a person, who enables it once it has another credential.
  const isOff = state === 'off' || state === 'refused';
  const label = isOff ? 'Turn on' : 'Turn off';
  return el('span', { class: 'row-actions' }, [
    first,
    button('Test', () => testDialog(channel, page, done), {
      'data-focus': `test ${place} ${channelId}`,
      'aria-label': `Test ${channelId}`,
    }),
    button(label, () => channelSwitchDialog(channelId, isOff, page, done), {
      'data-focus': `switch ${place} ${channelId}`,
      'aria-label': `${label} ${channelId}`,
    }),
  ]);
}
