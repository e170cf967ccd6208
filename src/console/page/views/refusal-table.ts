/** What was refused, how often, and why: the most frequent first. */

import { shareCell } from '../chart.ts';
import type { PageContext } from '../context.ts';
import { type Child, el, link } from '../dom.ts';
import { agoText, countText, refusalsOf, sentence, sinceText, wordsOf } from '../format.ts';
import { empty } from '../panel.ts';
import { table } from '../table.ts';
import type { RefusalCount, RefusalReason } from '../wire.ts';

const shownRefusals = 12;

export function refusalTable(
  refusals: readonly (RefusalCount | RefusalReason)[],
  page: PageContext,
): HTMLElement {
  if (refusals.length === 0) return empty(el('p', {}, 'Nothing was refused in this time.'));
  const total = refusals.reduce((sum, { count }) => sum + count, 0);
  const { view, params } = page.route();
  const filters = view === 'calls' ? params : {};
  return table<RefusalCount | RefusalReason>({
    label: 'Refusals by code and reason',
    columns: [
      {
        head: 'code',
        cell: ({ code }) => link(page.href({ view: 'calls', params: { ...filters, code } }), code),
      },
      { head: 'why, and what to do', kind: 'wide', cell: whyCell },
      {
        head: 'requests',
        kind: 'number',
        cell: (row) => [
          countText(row.count),
          'source' in row
            ? el('span', { class: 'below' }, countedText(row, page.nowMs()))
            : undefined,
        ],
      },
      { head: 'share', kind: 'share', cell: ({ count }) => shareCell(count / total, '--refused') },
    ],
    rows: refusals.slice(0, shownRefusals),
    keyOf: ({ code, reason }) => `${code} ${reason}`,
  });
}

function whyCell({ code, reason, detail, meaning, remedy }: RefusalCount): Child {
  return [
    el('span', {}, sentence(meaning ?? wordsOf(reason ?? code))),
    remedy === null ? undefined : el('span', { class: 'below' }, sentence(remedy)),
    detail === null
      ? undefined
      : el('span', { class: 'below' }, 'the latest: ', el('span', { class: 'id' }, detail)),
  ];
}

function countedText({ source, sinceMs, lastMs }: RefusalReason, nowMs: number): string {
  const place = source === 'log' ? ' in this process' : '';
  const last = lastMs === null ? '' : `; last ${agoText(lastMs, nowMs)}${place}`;
  return `${refusalsOf(source, sinceText(sinceMs, nowMs))}${last}`;
}

/** The same as a short list; `remedyFor` may offer what to do at once. */
export function refusalList(
  refusals: readonly RefusalReason[],
  page: PageContext,
  remedyFor: (refusal: RefusalReason) => Child,
): HTMLElement {
  return el('ul', { class: 'refused' }, [
    refusals
      .slice(0, shownRefusals)
      .map((refusal) =>
        el('li', {}, [
          el('p', {}, el('b', {}, `${countText(refusal.count)} × `), el('b', {}, refusal.code)),
          el('p', {}, whyCell(refusal)),
          el('p', { class: 'hint' }, countedText(refusal, page.nowMs())),
          remedyFor(refusal),
        ]),
      ),
  ]);
}
