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

const staleMs = 10_000;
const pollMs = 5_000;
/** How often a hidden page requests the figures, for the mark in its title. */
const hiddenPollMs = 60_000;

/** Connects, and stays connected until it is closed or signed out. */
export class Live {
  readonly #api: Api;
  readonly #listener: LiveListener;
  readonly #ended = new AbortController();
  #range: Range;
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #lastMs = Date.now();
  #isStale = false;

  constructor(api: Api, listener: LiveListener, range: Range) {
    this.#api = api;
    this.#listener = listener;
    this.#range = range;
    const { signal } = this.#ended;
    document.addEventListener('visibilitychange', () => this.restart(this.#range), { signal });
    this.#start();
  }

  /** Requests another range, or tries again after a failure. */
  restart(range: Range): void {
    this.#stop();
    this.#range = range;
    this.#start();
  }

  close(): void {
    this.#ended.abort();
    this.#stop();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#source?.close();
    this.#source = undefined;
  }

  #start(): void {
    if (document.hidden) {
      this.#timer = setInterval(() => void this.#read(), hiddenPollMs);
      return;
    }
    this.#openStream();
    this.#timer = setInterval(() => void this.#poll(), pollMs);
  }

  #openStream(): void {
    const source = new EventSource(this.#api.urlOf('/events', { range: this.#range }));
    this.#source = source;
    source.addEventListener('now', ({ data }) => this.#receive(JSON.parse(data)));
    source.addEventListener('signed-out', () => {
      // Fires whenever the stream fails; a request finds out why.
      source.close();
      void this.#read();
    });
    source.addEventListener('error', () => void this.#read());
  }

  #receive(now: Now): void {
    this.#lastMs = Date.now();
    this.#isStale = false;
    this.#listener.onConnection({ state: 'live' });
    this.#listener.onNow(now);
  }

  /** Sends a request if the stream is silent, and opens a new one if the browser has given up. */
  async #poll(): Promise<void> {
    if (Date.now() - this.#lastMs < pollMs) return;
    await this.#read();
    if (this.#source?.readyState === EventSource.CLOSED && !this.#isStale) this.#openStream();
  }

  async #read(): Promise<void> {
    const source = this.#source;
    try {
      const now = await this.#api.get<Now>('/now', { range: this.#range });
      if (source === this.#source) this.#receive(now);
    } catch (error) {
      if (source === this.#source) this.#readFailed(error);
    }
  }

  #readFailed(error: unknown): void {
    const failure = failureOf(error);
    // `onSignedOut` of the interface has been called, and ends this connection.
    if (failure?.kind === 'signed_out') return;
    if (failure?.kind === 'refused') this.#listener.onFailure(failure.message);
    const isOld = Date.now() - this.#lastMs >= staleMs;
    if (!this.#isStale && !isOld && failure?.kind === 'refused') return;
    this.#isStale = true;
    this.#listener.onConnection({ state: 'stale', sinceMs: this.#lastMs });
  }
}
