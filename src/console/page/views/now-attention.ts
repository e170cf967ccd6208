/** What needs a person to act: at most eight entries, worst first. */
import type { PageContext } from '../context.ts';
import { el, link, timeOf } from '../dom.ts';
import { agoText } from '../format.ts';
import { type IconName, icon } from '../icons.ts';
import { empty } from '../panel.ts';
import type { Attention, Now } from '../wire.ts';
import { linkOf } from './now-sentence.ts';

const kinds: Readonly<
  Record<Attention['kind'], { readonly icon: IconName; readonly word: string }>
> = {
  channel: { icon: 'bad', word: 'Channel' },
  quota: { icon: 'key', word: 'Quota' },
  doubt: { icon: 'question', word: 'In doubt' },
  store: { icon: 'store', word: 'Store' },
  host: { icon: 'host', word: 'Host app' },
  settlement: { icon: 'money', word: 'Charge' },
};

/** The list, or a note that it is empty. */
export function attentionList({ attention, nowMs }: Now, page: PageContext): HTMLElement {
  if (attention.length === 0) return empty(icon('ok'), el('p', {}, 'Nothing needs a person.'));
  return el(
    'ul',
    { class: 'attention' },
    attention.map((entry, index) => entryOf(entry, index, nowMs, page)),
  );
}

function entryOf(
  { kind, text, href, sinceMs }: Attention,
  index: number,
  nowMs: number,
  page: PageContext,
): HTMLElement {
  const { icon: name = 'warn', word = kind } = kinds[kind] ?? {};
  return el(
    'li',
    { class: `attention-${kind}` },
    link(
      linkOf(href, page),
      [
        icon(name),
        el('span', { class: 'attention-kind' }, word),
        el('span', { class: 'attention-text' }, withoutIso(text, nowMs)),
        sinceMs === null
          ? undefined
          : el('span', { class: 'attention-since' }, timeOf(sinceMs, agoText(sinceMs, nowMs))),
      ],
      { 'data-focus': `a${index}` },
    ),
  );
}

/** Replaces a time of the interface, such as when a channel is back, with a readable one. */
function withoutIso(text: string, nowMs: number): string {
  return text.replace(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/, (iso) => agoText(Date.parse(iso), nowMs));
}
