/**
 * The ranges of a view in the header: links for the short ones and, for views of the usage log, a
 * menu with days, months and two dates.
 */
import type { PageContext } from './context.ts';
import { button, el, link, refill } from './dom.ts';
import {
  dayOf,
  liveRangeOf,
  liveRanges,
  maxDays,
  namedRanges,
  type Range,
  rangeFrom,
  rangeText,
  shortRanges,
  windowOf,
} from './range.ts';
import type { Route } from './route.ts';

/** One click away, because they are what is looked at most; the others are in the menu. */
const links: readonly Range[] = [...shortRanges, 'yesterday'];
const others = namedRanges.filter((name) => !links.includes(name));

/** Those of live figures, or any days of the usage log. */
export type Ranges = 'live' | 'days';

export function rangePicker(page: PageContext) {
  const list = el('span', { class: 'range-links' });
  const dates = datesMenu(page);
  const node = el('nav', { class: 'ranges', 'aria-label': 'Range of time' }, list, dates.nodes);
  return {
    node,
    show: (route: Route, ranges: Ranges | undefined): void => {
      node.hidden = ranges === undefined;
      const isLive = ranges === 'live';
      const shown = isLive ? liveRangeOf(route.range) : route.range;
      const offered: readonly Range[] = isLive ? liveRanges : links;
      refill(
        list,
        offered.map((range) => rangeLink(page, range, shown, rangeText(range))),
      );
      dates.show(route, isLive);
    },
  };
}

function rangeLink(page: PageContext, range: Range, shown: Range, text: string): HTMLElement {
  const { view, id, params } = page.route();
  return link(page.href({ view, id, params, range }), text, {
    'aria-current': range === shown ? 'true' : undefined,
    'data-focus': range,
  });
}

function datesMenu(page: PageContext) {
  const presets = el('div', { class: 'presets' });
  const from = dateInput('From');
  const to = dateInput('To');
  const form = el('form', { class: 'dates-form' }, [
    from.node,
    to.node,
    el('button', { class: 'button main' }, 'Show'),
    el('p', { class: 'hint' }, 'Whole days, in UTC.'),
  ]);
  const menu = el('div', { class: 'dates-menu', id: 'dates', popover: 'auto' }, presets, form);
  const opener = button('Dates', () => {}, { class: 'dates', popovertarget: 'dates' });
  menu.addEventListener('toggle', () => place(menu, opener));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const range = rangeOf(from.input, to.input);
    if (range === undefined) return;
    menu.hidePopover();
    const { view, id, params } = page.route();
    page.go({ view, id, params, range });
  });
  return {
    nodes: [opener, menu],
    show: ({ range }: Route, isLive: boolean): void => {
      const isLinked = links.includes(range);
      opener.hidden = isLive;
      refill(opener, isLinked ? 'Dates' : rangeText(range));
      opener.setAttribute('aria-label', isLinked ? 'Dates' : `Dates: ${rangeText(range)}`);
      opener.classList.toggle('chosen', !isLinked);
      menu.hidePopover();
      refill(
        presets,
        others.map((name) => rangeLink(page, name, range, rangeText(name))),
      );
      const { fromMs, toMs } = windowOf(range, page.nowMs());
      from.input.value = dayOf(fromMs);
      to.input.value = dayOf(toMs - 1);
    },
  };
}

/** Below its button, as far to the right as the page allows. */
function place(menu: HTMLElement, opener: HTMLElement): void {
  const { bottom, left } = opener.getBoundingClientRect();
  const most = document.documentElement.clientWidth - menu.offsetWidth - 8;
  menu.style.top = `${bottom + 6}px`;
  menu.style.left = `${Math.max(8, Math.min(left, most))}px`;
}

function dateInput(label: string) {
  const id = `date-${label.toLowerCase()}`;
  const input = el('input', { type: 'date', id, required: true });
  input.addEventListener('input', () => input.setCustomValidity(''));
  return { input, node: el('div', { class: 'field' }, el('label', { for: id }, label), input) };
}

/** The dates in either order. The browser shows why there is no range. */
function rangeOf(from: HTMLInputElement, to: HTMLInputElement): Range | undefined {
  const [first, last] = [from.value, to.value].sort();
  const range = rangeFrom(`${first}..${last}`);
  if (range !== undefined) return range;
  to.setCustomValidity(`Choose at most ${maxDays} days, not before the year 2000.`);
  to.reportValidity();
  return undefined;
}
