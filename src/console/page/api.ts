/** Requests to the admin interface, the meaning of their failures, and the live figures. */
import type { Reply } from '../../admin/http/replies.ts';
import type { LiveRange } from './range.ts';

/** Why a request failed. `signed_out` and `disconnected` concern the page as a whole. */
class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly kind: 'signed_out' | 'disconnected' | 'refused';
  /** The code of the interface: `not_supported`, `conflict`. */
  readonly code: string;
  readonly field: string | undefined;
  /** All that is wrong in the rows of a batch. */
  readonly problems: NonNullable<ErrorMembers['problems']>;

  constructor(
    kind: ApiError['kind'],
    { code = kind, message = 'The request failed.', field, problems = [] }: ErrorMembers,
  ) {
    super(message);
    this.kind = kind;
    this.code = code;
    this.field = field;
    this.problems = problems;
  }
}

export type Api = ReturnType<typeof apiAt>;

/** The parameters of a request; those without a value are left out. */
type Query = Readonly<Record<string, string | undefined>>;

/** The admin interface at a URL that ends in `/`; its methods throw an `ApiError`. */
export function apiAt(base: URL, onSignedOut: () => void) {
  const urlOf = (path: string, query: Query = {}): string => {
    const url = new URL(path.replace(/^\//, ''), base);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== '') url.searchParams.set(name, value);
    }
    return url.href;
  };
  const send = <T>(url: string, init: RequestInit, waitMs = answerMs): Promise<T> =>
    withinTime(init, waitMs, async (timed) => {
      const reply = await answerOf(url, timed);
      if (reply.status === 401 || reply.type === 'opaqueredirect') {
        onSignedOut();
        throw new ApiError('signed_out', { message: 'You are signed out.' });
      }
      if (reply.ok) return documentOf<T>(reply);
      const { error = {} } = await documentOf<{ readonly error?: ErrorMembers }>(reply);
      throw new ApiError('refused', error);
    });
  return {
    urlOf,
    get: <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
      send(urlOf(path, query), signal === undefined ? {} : { signal }),
    post: <T>(path: string, body: object, waitMs?: number): Promise<T> => {
      const headers = { 'content-type': 'application/json', 'x-tollgate-admin': '1' };
      return send(urlOf(path), { method: 'POST', headers, body: JSON.stringify(body) }, waitMs);
    },
  };
}

interface ErrorMembers {
  readonly code?: string;
  readonly message?: string;
  readonly field?: string;
  readonly problems?: readonly {
    readonly row?: number;
    readonly field: string;
    readonly message: string;
  }[];
}

/** How long most requests and their replies may take. Browsers queue requests without limit. */
const answerMs = 30_000;

async function withinTime<T>(
  init: RequestInit,
  waitMs: number,
  run: (timed: RequestInit) => Promise<T>,
): Promise<T> {
  const { signal } = init;
  const limit = new AbortController();
  const giveUp = (): void => limit.abort();
  signal?.addEventListener('abort', giveUp);
  const timer = setTimeout(giveUp, waitMs);
  try {
    return await run({ ...init, signal: limit.signal });
  } catch (error) {
    if (!isAborted(error) || signal?.aborted === true) throw error;
    throw new ApiError('disconnected', { message: lateText(init) });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
  }
}

function lateText({ method }: RequestInit): string {
  const isChange = method === 'POST';
  const rest = isChange ? ' The change may have been made: look before you try again.' : '';
  return `The gateway did not answer.${rest}`;
}

/** Does not follow redirects: a host's sign-in may redirect to its own page. */
async function answerOf(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { cache: 'no-store', redirect: 'manual', ...init });
  } catch (error) {
    if (isAborted(error)) throw error;
    throw new ApiError('disconnected', { message: lateText(init) });
  }
}

/**
 * A body that is not JSON comes from something between the page and the gateway, such as a proxy.
 */
async function documentOf<T>(reply: Response): Promise<T> {
  try {
    return await reply.json();
  } catch (error) {
    if (isAborted(error)) throw error;
    const message = `A reply with status ${reply.status} did not come from the gateway.`;
    throw new ApiError('disconnected', { message });
  }
}

export function failureOf(error: unknown): ApiError | undefined {
  return isApiError(error) ? error : undefined;
}

function isApiError(error: unknown): error is ApiError {
  return error instanceof Object && 'name' in error && error.name === 'ApiError';
}

export function messageOf(error: unknown): string {
  return failureOf(error)?.message ?? 'An error occurred on this page. Reload it.';
}

export function isAborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

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

/**
 * An event stream or, if it fails, a request every few seconds, until it is closed or signed out.
 * Reports how old the last figures are, so that nobody takes old ones for new. A hidden page has
 * no stream: browsers allow six connections to a host, which all pages of the origin share.
 */
export class Live {
  readonly #api: Api;
  readonly #listener: LiveListener;
  readonly #ended = new AbortController();
  #range: LiveRange;
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #lastMs = Date.now();
  #isStale = false;

  constructor(api: Api, listener: LiveListener, range: LiveRange) {
    this.#api = api;
    this.#listener = listener;
    this.#range = range;
    const { signal } = this.#ended;
    document.addEventListener('visibilitychange', () => this.restart(this.#range), { signal });
    this.#start();
  }

  /** Requests another range, or tries again after a failure. */
  restart(range: LiveRange): void {
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

export type Session = Reply<'Session'>;
export type Now = Reply<'Now'>;
export type Bucket = Now['buckets'][number];
export type Severity = Now['sentence'][number]['severity'];
export type Attention = Now['attention'][number];
export type NamesReply = Reply<'Names'>;
export type RefusalCount = Now['refusals'][number];
export type RefusalReason = Reply<'RefusalReasons'>['data'][number];
export type CallPage = Reply<'CallPage'>;
/** A call that had reserved quota. */
export type Call = Extract<CallPage['data'][number], { readonly kind: 'call' }>;
/** A request that was refused before it reserved quota. */
export type Refusal = Extract<CallPage['data'][number], { readonly kind: 'refusal' }>;
export type CallsOfRequest = Reply<'CallsOfRequest'>;
export type CallDetail = CallsOfRequest['calls'][number];
export type Attempt = CallDetail['attempts'][number];
export type Usage = Reply<'Usage'>;
export type Series = Reply<'UsageSeries'>;
export type Latencies = Reply<'UsageLatencies'>;
export type UsageRow = Usage['data'][number];
export type BooksRow = Reply<'Books'>['data'][number];
export type KeyPage = Reply<'KeyPage'>;
export type Key = Reply<'Key'>;
export type ToppedUpKey = Reply<'ToppedUpKey'>;
export type Balance = NonNullable<Key['balances']>[number];
export type IssuedKey = Reply<'IssuedKey'>;
export type IssuedBatch = Reply<'IssuedBatch'>;
export type Owner = Reply<'Owner'>;
export type OwnerDetail = Reply<'OwnerDetail'>;
export type OwnerPage = Reply<'OwnerPage'>;
export type Model = Reply<'Models'>['data'][number];
export type Channel = Model['channels'][number];
export type CatalogModel = Reply<'Catalog'>['data'][number];
export type CatalogVersion = Reply<'CatalogVersion'>;
export type PricePreview = Reply<'PricePreview'>;
export type AuditPage = Reply<'Audit'>;
export type Accounts = Reply<'Accounts'>;
export type Account = Accounts['data'][number];
export type Cluster = Reply<'Cluster'>;
