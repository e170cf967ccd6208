/** Requests to the admin interface, and the meaning of their failures. */

/** Why a request failed. `signed_out` and `disconnected` concern the page as a whole. */
export interface ApiFailure {
  readonly kind: 'signed_out' | 'disconnected' | 'refused';
  /** The code of the interface: `not_supported`, `conflict`. */
  readonly code: string;
  readonly message: string;
  readonly field: string | undefined;
}

class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly failure: ApiFailure;

  constructor(failure: ApiFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

export interface Api {
  /** The URL of a file that the browser downloads. */
  urlOf(path: string, query?: Query): string;
  /** @throws ApiError */
  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T>;
  /** @throws ApiError */
  post<T>(path: string, body: object): Promise<T>;
}

/** The parameters of a request; those without a value are left out. */
export type Query = Readonly<Record<string, string | undefined>>;

/** The admin interface at a URL that ends in `/`. */
export function apiAt(base: URL, onSignedOut: () => void): Api {
  const urlOf = (path: string, query: Query = {}): string => {
    const url = new URL(path.replace(/^\//, ''), base);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== '') url.searchParams.set(name, value);
    }
    return url.href;
  };
  const send = <T>(url: string, init: RequestInit): Promise<T> =>
    withinTime(init, async (timed) => {
      const reply = await answerOf(url, timed);
      if (reply.status === 401 || reply.type === 'opaqueredirect') {
        onSignedOut();
        throw failed('signed_out', { message: 'You are signed out.' });
      }
      if (reply.ok) return documentOf<T>(reply);
      const { error = {} } = await documentOf<{ readonly error?: ErrorMembers }>(reply);
      throw failed('refused', error);
    });
  return {
    urlOf,
    get: (path, query, signal) => send(urlOf(path, query), signal === undefined ? {} : { signal }),
    post: (path, body) =>
      send(urlOf(path), {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-tollgate-admin': '1' },
        body: JSON.stringify(body),
      }),
  };
}

interface ErrorMembers {
  readonly code?: string;
  readonly message?: string;
  readonly field?: string;
}

/** How long a request and its reply may take. Browsers queue requests without a time limit. */
const answerMs = 30_000;

async function withinTime<T>(
  init: RequestInit,
  run: (timed: RequestInit) => Promise<T>,
): Promise<T> {
  const { signal } = init;
  const limit = new AbortController();
  const giveUp = (): void => limit.abort();
  signal?.addEventListener('abort', giveUp);
  const timer = setTimeout(giveUp, answerMs);
  try {
    return await run({ ...init, signal: limit.signal });
  } catch (error) {
    if (!isAborted(error) || signal?.aborted === true) throw error;
    throw failed('disconnected', { message: lateText(init) });
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
    throw failed('disconnected', { message: lateText(init) });
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
    throw failed('disconnected', { message });
  }
}

function failed(
  kind: ApiFailure['kind'],
  { code = kind, message = 'The request failed.', field }: ErrorMembers,
): ApiError {
  return new ApiError({ kind, code, message, field });
}

export function failureOf(error: unknown): ApiFailure | undefined {
  return isApiError(error) ? error.failure : undefined;
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
