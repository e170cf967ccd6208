/** What was refused, how often, and why: the most frequent first. */
import type { PageContext } from '../context.ts';
import { type Child, el, link } from '../dom.ts';
import { countText, sentence, wordsOf } from '../format.ts';
import { empty } from '../panel.ts';
import { shareBar } from '../share-bar.ts';
import { table } from '../table.ts';
import type { Now, RefusalCount } from '../wire.ts';

const shownRefusals = 12;

/** The table, or a note that nothing was refused. */
export function refusalTable({ refusals }: Now, page: PageContext): HTMLElement {
  const [first] = refusals;
  if (first === undefined) return empty(el('p', {}, 'Nothing was refused in this time.'));
  return table({
    label: 'Refusals by code and reason',
    columns: [
      {
        head: 'code',
        cell: ({ code }) => link(page.href({ view: 'calls', params: { code } }), code),
      },
      { head: 'why, and what to do', kind: 'wide', cell: whyCell },
      { head: 'requests', kind: 'number', cell: ({ count }) => countText(count) },
      {
        head: 'share',
        kind: 'share',
        cell: ({ count }) => shareBar(count / first.count, '--refused'),
      },
    ],
    rows: refusals.slice(0, shownRefusals),
    keyOf: ({ code, reason }: RefusalCount) => `${code} ${reason}`,
  });
}

function whyCell({ reason, meaning, remedy }: RefusalCount): Child {
  if (reason === null) return '–';
  return [
    el('span', {}, sentence(meaning ?? wordsOf(reason))),
    remedy === null ? undefined : el('span', { class: 'below' }, sentence(remedy)),
  ];
}
