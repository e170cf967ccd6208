/** The sentence about the gateway, each clause a link to where more is known. */
import type { PageContext } from '../context.ts';
import { el, link } from '../dom.ts';
import { countText } from '../format.ts';
import { icon } from '../icons.ts';
import { routeOf } from '../route.ts';
import type { Now, Severity } from '../wire.ts';

export function worstOf({ sentence }: Pick<Now, 'sentence'>): Severity {
  const severities = sentence.map(({ severity }) => severity);
  if (severities.includes('bad')) return 'bad';
  return severities.includes('warn') ? 'warn' : 'ok';
}

export function sentenceOf(now: Now, page: PageContext): HTMLElement {
  const worst = worstOf(now);
  const clauses = now.sentence.map(({ text, href, severity }, index) =>
    severity === 'ok'
      ? el('span', {}, text)
      : link(linkOf(href, page), text, { class: `clause ${severity}`, 'data-focus': `c${index}` }),
  );
  return el('div', { class: `sentence ${worst}` }, [
    icon(worst),
    el('div', {}, [
      el('p', { class: 'sentence-text' }, [clauses.flatMap((clause) => [clause, ' '])]),
      el('p', { class: 'sentence-more' }, moreOf(now)),
    ]),
  ]);
}

/** The places that the interface names have no range. */
export function linkOf(href: string, page: PageContext): string {
  return page.href(routeOf(href, page.route().range));
}

function moreOf({ status: { runningCalls } }: Now): string {
  if (runningCalls === 0) return 'No call is running in this process.';
  const calls = runningCalls === 1 ? '1 call is' : `${countText(runningCalls)} calls are`;
  return `${calls} running in this process.`;
}
