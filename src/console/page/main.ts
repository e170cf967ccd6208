/** The console: finds out who is signed in, and shows the view that the URL names. */
import {
  type Api,
  apiAt,
  type Connection,
  failureOf,
  Live,
  type LiveListener,
  messageOf,
  type Now,
  type Session,
} from './api.ts';
import type { PageContext, RouteChange, View } from './context.ts';
import { button, el, hiddenText, link, refill } from './dom.ts';
import { clockText, spanText, writeFor, zoneText } from './format.ts';
import { failure, loading } from './panel.ts';
import { liveRangeOf } from './range.ts';
import { type Ranges, rangePicker } from './range-picker.ts';
import { hrefOf, type Route, routeOf, type ViewName, viewNames } from './route.ts';
import { auditView } from './views/audit.ts';
import { callsView } from './views/calls.ts';
import { channelsView } from './views/channels.ts';
import { keysView } from './views/keys/keys.ts';
import { modelsView } from './views/models.ts';
import { nowView, worstOf } from './views/now.ts';
import { spendView } from './views/spend/spend.ts';

interface ViewEntry {
  readonly title: string;
  /** Which ranges of time it has, if any: those of live figures, or any days. */
  readonly ranges?: Ranges;
  open(page: PageContext): View;
}

const views: Readonly<Record<ViewName, ViewEntry>> = {
  now: { title: 'Now', ranges: 'live', open: nowView },
  calls: { title: 'Calls', ranges: 'days', open: callsView },
  spend: { title: 'Spend', ranges: 'days', open: spendView },
  keys: { title: 'Keys', ranges: 'days', open: keysView },
  channels: { title: 'Channels', ranges: 'live', open: channelsView },
  models: { title: 'Models', open: modelsView },
  audit: { title: 'Audit', open: auditView },
};

const shownMs = 6_000;

interface PageState {
  route: Route;
  view?: View;
  shown?: Route['view'];
  now?: Now;
  live?: Live;
}

const root = document.getElementById('app');
if (root !== null) void start(root);

async function start(main: HTMLElement): Promise<void> {
  let signedOut = (): void => showSignedOut(main);
  const api = apiAt(new URL('api/', import.meta.url), () => signedOut());
  main.replaceChildren(loading('the console'));
  try {
    const session = await api.get<Session>('/session');
    writeFor(session);
    signedOut = run(main, api, session);
  } catch (error) {
    if (failureOf(error)?.kind === 'signed_out') return;
    main.replaceChildren(failure(messageOf(error), () => void start(main)));
  }
}

function run(main: HTMLElement, api: Api, session: Session): () => void {
  const state: PageState = { route: routeOf(location.hash, '1h') };
  const toasts = el('div', { class: 'toasts', role: 'status', 'aria-live': 'polite' });
  const page = contextOf(state, api, session, (text) => {
    const toast = el('p', { class: 'toast' }, text);
    toasts.append(toast);
    setTimeout(() => toast.remove(), shownMs);
  });
  const shell = shellOf(page, 'signOut' in main.dataset);
  main.before(shell.node);
  document.body.append(footer(session), toasts);
  const show = (): void => showRoute(main, state, page, shell);
  const ended = new AbortController();
  const { signal } = ended;
  addEventListener('hashchange', show, { signal });
  addEventListener('keydown', (event) => searchOn(event, page), { signal });
  const ticks = setInterval(() => shell.tick(), 1_000);
  show();
  state.live = new Live(api, listenerOf(state, shell, session), liveRangeOf(state.route.range));
  return () => {
    ended.abort();
    clearInterval(ticks);
    state.live?.close();
    state.view?.close?.();
    document.body.classList.remove('stale');
    shell.connect({ state: 'signed_out' });
    showSignedOut(main);
  };
}

function listenerOf(state: PageState, shell: Shell, session: Session): LiveListener {
  return {
    onNow: (now) => {
      state.now = now;
      shell.ran(now);
      state.view?.update?.(now);
      showTitle(state.route, session, now);
    },
    onConnection: (connection) => {
      document.body.classList.toggle('stale', connection.state === 'stale');
      shell.connect(connection);
    },
    onFailure: (message) => state.view?.fail?.(message),
  };
}

function contextOf(
  state: PageState,
  api: Api,
  session: Session,
  announce: (text: string) => void,
): PageContext {
  const aheadMs = session.nowMs - Date.now();
  const href = (change: RouteChange): string =>
    hrefOf({ ...state.route, id: undefined, params: {}, ...change });
  return {
    api,
    session,
    nowMs: () => Date.now() + aheadMs,
    route: () => state.route,
    href,
    go: (change) => {
      location.hash = href(change);
    },
    announce,
    refreshNow: () => state.live?.restart(liveRangeOf(state.route.range)),
  };
}

/** What the times and amounts of all views are. */
function footer({ currency }: Session): HTMLElement {
  const times = `Times of day: ${zoneText()}. Days, months and budgets: UTC.`;
  const amounts = `Amounts: ${currency ?? 'the currency unit of your prices'}.`;
  return el('footer', { class: 'units' }, `${times} ${amounts}`);
}

function showRoute(main: HTMLElement, state: PageState, page: PageContext, shell: Shell): void {
  const before = state.route;
  state.route = routeOf(location.hash, before.range);
  const { route } = state;
  const href = hrefOf(route);
  if (location.hash !== href) history.replaceState(null, '', href);
  const live = liveRangeOf(route.range);
  if (live !== liveRangeOf(before.range)) state.live?.restart(live);
  shell.show(route);
  if (state.shown === route.view) return state.view?.show(route);
  const isFirst = state.shown === undefined;
  openView(main, state, page);
  if (!isFirst) main.focus({ preventScroll: true });
}

function openView(main: HTMLElement, state: PageState, page: PageContext): void {
  const { route, now } = state;
  const { title, open } = views[route.view];
  state.view?.close?.();
  const view = open(page);
  state.view = view;
  state.shown = route.view;
  main.tabIndex = -1;
  main.className = `view-${route.view}`;
  main.replaceChildren(el('h1', { class: 'only-read' }, title), view.node);
  view.show(route);
  if (now !== undefined) view.update?.(now);
  showTitle(route, page.session, now);
  scrollTo(0, 0);
}

function showTitle(route: Route, { title }: Session, now: Now | undefined): void {
  const worst = now === undefined ? 'ok' : worstOf(now);
  const mark = { ok: '', warn: '▲ ', bad: '● ' }[worst];
  const text = `${mark}${views[route.view].title} · ${title}`;
  if (document.title !== text) document.title = text;
}

function showSignedOut(main: HTMLElement): void {
  // Links to the sign-in, which keeps the route in the fragment.
  const again = button('Sign in again', () => location.reload(), { class: 'button main' });
  main.replaceChildren(
    el('section', { class: 'signed-out', 'aria-label': 'Signed out' }, [
      el('h1', {}, 'Signed out'),
      el('p', {}, 'Your session has ended, so nothing is shown here any more.'),
      again,
    ]),
  );
}

/** `/` moves the focus to the search, unless a field has it. */
function searchOn(event: KeyboardEvent, page: PageContext): void {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
  const { target } = event;
  if (target instanceof Element && target.closest('input, textarea, select, dialog') !== null) {
    return;
  }
  event.preventDefault();
  if (focusSearch()) return;
  page.go({ view: 'calls' });
  // The view of another place is opened after this event.
  setTimeout(focusSearch);
}

function focusSearch(): boolean {
  const field = document.querySelector('[data-search]');
  if (!(field instanceof HTMLElement)) return false;
  field.focus();
  return true;
}

type Shell = ReturnType<typeof shellOf>;

function shellOf(page: PageContext, canSignOut: boolean) {
  const tabs = el('nav', { class: 'tabs', 'aria-label': 'Views' });
  const ranges = rangePicker(page);
  const status = el('p', { class: 'connection' });
  const uptime = el('p', { class: 'uptime' });
  let connection: Connection = { state: 'connecting' };
  const draw = (): void => refill(status, ...connectionParts(connection));
  draw();
  return {
    node: el('header', { class: 'top' }, [
      el('div', { class: 'top-line' }, [
        brandOf(page, uptime),
        tabs,
        el('div', { class: 'top-end' }, ranges.node, status, person(page, canSignOut)),
      ]),
    ]),
    show: (route: Route): void => {
      refill(tabs, tabsOf(page, route));
      ranges.show(route, views[route.view].ranges);
    },
    connect: (next: Connection): void => {
      const isSame = next.state === connection.state;
      connection = next;
      if (!isSame) draw();
    },
    ran: (now: Now): void => refill(uptime, replicaLink(page, now)),
    /** A second has passed. */
    tick: (): void => {
      if (connection.state === 'stale') draw();
    },
  };
}

/** Which process shows this, and how many there are like it. */
function replicaLink(page: PageContext, { replica, startedAtMs }: Now): HTMLElement {
  const { host, pid, version, isShared, replicas } = replica;
  const count = replicas === 1 ? '1 replica' : `${replicas} replicas`;
  const up = `up ${spanText(page.nowMs() - startedAtMs)}`;
  const text = [host, version, ...(isShared ? [count] : []), up].join(', ');
  const href = page.href({ view: 'channels', params: { by: 'replica' } });
  return link(href, text, { title: `${text}, process ${pid}`, 'data-focus': 'replicas' });
}

function brandOf({ session: { title } }: PageContext, uptime: HTMLElement): HTMLElement {
  return el('div', { class: 'brand' }, [
    el('span', { class: 'mark', 'aria-hidden': 'true' }),
    el('div', { class: 'brand-text' }, el('p', { class: 'brand-title', title }, title), uptime),
  ]);
}

function tabsOf(page: PageContext, route: Route): readonly HTMLElement[] {
  return viewNames.map((view) =>
    link(page.href({ view }), views[view].title, {
      'aria-current': view === route.view ? 'page' : undefined,
      'data-focus': view,
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
  return el('div', { class: 'person' }, [
    el('span', { class: 'actor', title: actor }, hiddenText('Signed in as '), actor),
    el('span', { class: `right right-${can}` }, can === 'read' ? 'read only' : 'can manage'),
    canSignOut ? button('Sign out', () => void signOut(page), { class: 'quiet' }) : undefined,
  ]);
}

async function signOut({ api, announce }: PageContext): Promise<void> {
  try {
    await api.post('../sign-out', {});
    location.reload();
  } catch (error) {
    announce(messageOf(error));
  }
}
