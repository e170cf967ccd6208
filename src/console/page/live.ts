/**
 * The live figures: an event stream or, if it fails, a request every few seconds. Reports how old
 * the last figures are, so that nobody takes old ones for new. A hidden page has no stream:
 * browsers allow six connections to a host, which all pages of the origin share.
 */
import { type Api, failureOf } from './api.ts';
import type { Range } from './route.ts';
import type { Now } from './wire.ts';

export type Connection =
  | { readonly state: 'connecting' | 'live' | 'signed_out' }
  | { readonly state: 'stale'; readonly sinceMs: number };

export interface LiveListener {
  onNow(now: Now): void;
  onConnection(connection: Connection): void;
  /** The figures could not be read, although the connection works. */
  onFailure(message: string): void;
}

export interface Live {
  /** Requests another range, or tries again after a failure. */
  restart(range: Range): void;
  close(): void;
}

const staleMs = 10_000;
const pollMs = 5_000;
/** How often a hidden page requests the figures, for the mark in its title. */
const hiddenPollMs = 60_000;

interface State {
  source: EventSource | undefined;
  range: Range;
  lastMs: number;
  isStale: boolean;
  timer: ReturnType<typeof setInterval> | undefined;
  readonly api: Api;
  readonly listener: LiveListener;
}

/** Connects, and stays connected until it is closed or signed out. */
export function connectLive(api: Api, listener: LiveListener, range: Range): Live {
  const state: State = {
    source: undefined,
    range,
    lastMs: Date.now(),
    isStale: false,
    timer: undefined,
    api,
    listener,
  };
  const restart = (wanted: Range): void => {
    stop(state);
    state.range = wanted;
    start(state);
  };
  const ended = new AbortController();
  const { signal } = ended;
  document.addEventListener('visibilitychange', () => restart(state.range), { signal });
  start(state);
  return {
    restart,
    close: () => {
      ended.abort();
      stop(state);
    },
  };
}

function stop(state: State): void {
  clearInterval(state.timer);
  state.source?.close();
  state.source = undefined;
}

function start(state: State): void {
  if (document.hidden) {
    state.timer = setInterval(() => void read(state), hiddenPollMs);
    return;
  }
  openStream(state);
  state.timer = setInterval(() => void poll(state), pollMs);
}

function openStream(state: State): void {
  const source = new EventSource(state.api.urlOf('/events', { range: state.range }));
  state.source = source;
  source.addEventListener('now', ({ data }) => receive(state, JSON.parse(data)));
  source.addEventListener('signed-out', () => {
    // Fires whenever the stream fails; a request finds out why.
    source.close();
    void read(state);
  });
  source.addEventListener('error', () => void read(state));
}

function receive(state: State, now: Now): void {
  state.lastMs = Date.now();
  state.isStale = false;
  state.listener.onConnection({ state: 'live' });
  state.listener.onNow(now);
}

/** Sends a request if the stream is silent, and opens a new stream if the browser has given up. */
async function poll(state: State): Promise<void> {
  if (Date.now() - state.lastMs < pollMs) return;
  await read(state);
  if (state.source?.readyState !== EventSource.CLOSED || state.isStale) return;
  openStream(state);
}

async function read(state: State): Promise<void> {
  const { source, range } = state;
  try {
    const now = await state.api.get<Now>('/now', { range });
    if (source === state.source) receive(state, now);
  } catch (error) {
    if (source !== state.source) return;
    readFailed(state, error);
  }
}

function readFailed(state: State, error: unknown): void {
  const failure = failureOf(error);
  // `onSignedOut` of the interface has been called, and ends this connection.
  if (failure?.kind === 'signed_out') return;
  if (failure?.kind === 'refused') state.listener.onFailure(failure.message);
  const isOld = Date.now() - state.lastMs >= staleMs;
  if (!state.isStale && !isOld && failure?.kind === 'refused') return;
  state.isStale = true;
  state.listener.onConnection({ state: 'stale', sinceMs: state.lastMs });
}
