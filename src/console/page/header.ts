/**
 * The top of the page: the name of the gateway, the state of the connection, the range and the
 * views.
 */
import { messageOf } from './api.ts';
import type { PageContext } from './context.ts';
import { button, el, hiddenText, link, refill } from './dom.ts';
import { clockText, spanText } from './format.ts';
import type { Connection } from './live.ts';
import { type Route, ranges, viewNames } from './route.ts';
import { views } from './views/table.ts';

/** The top of the page. */
export interface Shell {
  readonly node: HTMLElement;
  show(route: Route): void;
  connect(connection: Connection): void;
  /** When the process that answers was started. */
  started(startedAtMs: number): void;
  /** A second has passed. */
  tick(): void;
}

/** Creates the top of the page. */
export function shellOf(page: PageContext, canSignOut: boolean): Shell {
  const tabs = el('nav', { class: 'tabs', 'aria-label': 'Views' });
  const rangePicker = el('nav', { class: 'ranges', 'aria-label': 'Range of time' });
  const status = el('p', { class: 'connection' });
  const uptime = el('p', { class: 'uptime' }, 'this process');
  let connection: Connection = { state: 'connecting' };
  const draw = (): void => refill(status, ...connectionParts(connection));
  draw();
  return {
    node: topOf(
      brandOf(page, uptime),
      tabs,
      el('div', { class: 'top-end' }, rangePicker, status, person(page, canSignOut)),
    ),
    show: (route) => {
      refill(tabs, tabsOf(page, route));
      refill(rangePicker, rangesOf(page, route));
    },
    connect: (next) => {
      const isSame = next.state === connection.state;
      connection = next;
      if (!isSame) draw();
    },
    started: (startedAtMs) => {
      uptime.textContent = `this process, up ${spanText(page.nowMs() - startedAtMs)}`;
    },
    tick: () => {
      if (connection.state === 'stale') draw();
    },
  };
}

function topOf(...parts: readonly HTMLElement[]): HTMLElement {
  return el('header', { class: 'top' }, el('div', { class: 'top-line' }, parts));
}

function brandOf({ session: { title } }: PageContext, uptime: HTMLElement): HTMLElement {
  return el(
    'div',
    { class: 'brand' },
    el('span', { class: 'mark', 'aria-hidden': 'true' }),
    el('div', { class: 'brand-text' }, el('p', { class: 'brand-title', title }, title), uptime),
  );
}

function tabsOf(page: PageContext, route: Route): readonly HTMLElement[] {
  return viewNames.map((view) =>
    link(page.href({ view }), views[view].title, {
      'aria-current': view === route.view ? 'page' : undefined,
      'data-focus': view,
    }),
  );
}

function rangesOf(page: PageContext, { view, id, params, range: shown }: Route): HTMLElement[] {
  return ranges.map((range) =>
    link(page.href({ view, id, params, range }), range, {
      'aria-current': range === shown ? 'true' : undefined,
      'data-focus': range,
    }),
  );
}

function connectionParts(connection: Connection): readonly (string | HTMLElement)[] {
  const dot = el('span', { class: `dot dot-${connection.state}`, 'aria-hidden': 'true' });
  switch (connection.state) {
    case 'live':
      return [dot, 'live'];
    case 'connecting':
      return [dot, 'connecting'];
    case 'signed_out':
      return [dot, 'signed out'];
    case 'stale': {
      const { sinceMs } = connection;
      const nowMs = Date.now();
      return [dot, `stale since ${clockText(sinceMs, nowMs)} (${spanText(nowMs - sinceMs)})`];
    }
  }
}

function person(page: PageContext, canSignOut: boolean): HTMLElement {
  const { actor, can } = page.session;
  return el(
    'div',
    { class: 'person' },
    el('span', { class: 'actor', title: actor }, hiddenText('Signed in as '), actor),
    el('span', { class: `right right-${can}` }, can === 'read' ? 'read only' : 'can manage'),
    canSignOut ? button('Sign out', () => void signOut(page), { class: 'quiet' }) : undefined,
  );
}

async function signOut({ api, announce }: PageContext): Promise<void> {
  try {
    await api.post('../sign-out', {});
    location.reload();
  } catch (error) {
    announce(messageOf(error));
  }
}
