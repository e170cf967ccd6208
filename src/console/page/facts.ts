/** Names with their values, one below the other. */
import { type Child, el } from './dom.ts';

export type Fact = readonly [name: string, value: Child];

export function factList(title: string, facts: readonly Fact[]): HTMLElement {
  const known = facts.filter(([, value]) => value !== undefined && value !== '');
  return el('section', { class: 'facts' }, [
    el('h3', {}, title),
    el('dl', {}, [
      known.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))),
    ]),
  ]);
}
