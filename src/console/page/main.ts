/** The console: finds out who is signed in, and shows the view that the URL names. */
import { type Api, apiAt, failureOf, messageOf } from './api.ts';
import type { PageContext, RouteChange, View } from './context.ts';
import { button, el } from './dom.ts';
import { type Shell, shellOf } from './header.ts';
import { connectLive, type Live, type LiveListener } from './live.ts';
import { failure, loading } from './panel.ts';
import { hrefOf, type Route, routeOf } from './route.ts';
import { toaster } from './toast.ts';
import { worstOf } from './views/now-sentence.ts';
import { views } from './views/table.ts';
import type { Now, Session } from './wire.ts';

/** What the running page remembers. */
interface PageState {
  route: Route;
  view: View | undefined;
  shown: Route['view'] | undefined;
  now: Now | undefined;
  live: Live | undefined;
}

const root = document.getElementById('app');
if (root !== null) void start(root);

async function start(main: HTMLElement): Promise<void> {
  let signedOut = (): void => showSignedOut(main);
  const api = apiAt(new URL('api/', import.meta.url), () => signedOut());
  main.replaceChildren(loading('the console'));
  try {
    const session = await api.get<Session>('/session');
    signedOut = run(main, api, session);
  } catch (error) {
    if (failureOf(error)?.kind === 'signed_out') return;
    main.replaceChildren(failure(messageOf(error), () => void start(main)));
  }
}

/** Runs the page, and returns what ends it. */
function run(main: HTMLElement, api: Api, session: Session): () => void {
  const state: PageState = {
    route: routeOf(location.hash, '1h'),
    view: undefined,
    shown: undefined,
    now: undefined,
    live: undefined,
  };
  const toasts = toaster();
  const page = contextOf(state, api, session, toasts.announce);
  const shell = shellOf(page, 'signOut' in main.dataset);
  main.before(shell.node);
  document.body.append(toasts.node);
  const show = (): void => showRoute(main, state, page, shell);
  const ended = new AbortController();
  const { signal } = ended;
  addEventListener('hashchange', show, { signal });
  addEventListener('keydown', (event) => searchOn(event, page), { signal });
  const ticks = setInterval(() => shell.tick(), 1_000);
  show();
  state.live = connectLive(api, listenerOf(state, shell, session), state.route.range);
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
      shell.started(now.startedAtMs);
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
    refreshNow: () => state.live?.restart(state.route.range),
  };
}

function showRoute(main: HTMLElement, state: PageState, page: PageContext, shell: Shell): void {
  const before = state.route;
  state.route = routeOf(location.hash, before.range);
  const { route } = state;
  const href = hrefOf(route);
  if (location.hash !== href) history.replaceState(null, '', href);
  if (route.range !== before.range) state.live?.restart(route.range);
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

/** The title of the browser tab shows when something is wrong. */
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
    el(
      'section',
      { class: 'signed-out', 'aria-label': 'Signed out' },
      el('h1', {}, 'Signed out'),
      el('p', {}, 'Your session has ended, so nothing is shown here any more.'),
      again,
    ),
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
