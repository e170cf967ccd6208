/**
 * Mounts a gateway in hosts that turn a Web `Request` into a `Response`: Hono, Next.js route
 * handlers, Bun, Deno.
 */
import type { GatewayHandler, GatewayRequest, GatewayResponse, ReplyBody } from '../src/http.ts';
import { memberOf } from './host.ts';
import { type Warn, warnOnce } from './host-body.ts';
import { type AdapterOptions, checkMount, discard, isBelowPrefix, mountedPath } from './record.ts';
import { requestBody, responseBody } from './web-body.ts';
import { type WebCaller, webCaller } from './web-caller.ts';

export { fetchUpstreamClient } from '../src/upstream/fetch-client.ts';
export type { AdapterOptions } from './record.ts';

/** Answers Web requests; created by {@link fetchAdapter}. */
export interface FetchHandler {
  /**
   * The response to a request. Never rejects. Further arguments are ignored, so that frameworks may
   * pass their own: route parameters, a server, an environment.
   */
  (request: Request, ...ignored: readonly unknown[]): Promise<Response>;
  /**
   * Whether the gateway serves the path of this request. `OPTIONS` requests are not the gateway's,
   * because a host's CORS handling answers them.
   */
  owns(request: Request): boolean;
}

/**
 * Creates a function that answers the gateway's requests; it also answers unknown paths and
 * `OPTIONS`, if it gets them. Pass it requests whose body has not been read.
 *
 * ```ts
 * const handler = fetchAdapter(gateway);
 * app.all('/v1/*', (c) => handler(c.req.raw));                            // Hono
 * Bun.serve({ fetch: (request) => (handler.owns(request) ? handler(request) : app(request)) });
 * ```
 *
 * The caller has disconnected when `request.signal` is aborted or the body of the response is
 * cancelled. A reply that is cut makes the body of the response fail. The server decides what
 * happens to the rest of a request body that was refused, and how a failed body is shown to the
 * caller.
 *
 * A Web request shows less than one of `node:http`: repeated headers arrive joined by a comma (two
 * `Authorization` lines become one key that does not exist), header names are lower-case, and dot
 * segments of the path are already resolved.
 *
 * @throws ConfigurationError if the gateway or an option is invalid
 */
export function fetchAdapter(gateway: GatewayHandler, options: AdapterOptions = {}): FetchHandler {
  checkMount('fetchAdapter', gateway, options);
  const warn = warnOnce();
  const handler = (request: Request): Promise<Response> => answer(gateway, request, options, warn);
  return Object.assign(handler, {
    owns: (request: Request) =>
      isRequest(request) &&
      request.method !== 'OPTIONS' &&
      ownsTarget(gateway, targetOf(request.url), request.method, options),
  });
}

function ownsTarget(
  gateway: GatewayHandler,
  target: string,
  method: string,
  options: AdapterOptions,
): boolean {
  const path = pathOf(target, options);
  return gateway.owns(path, method, isBelowPrefix(path, target));
}

async function answer(
  gateway: GatewayHandler,
  request: Request,
  options: AdapterOptions,
  warn: Warn,
): Promise<Response> {
  let known: Pick<GatewayRequest, 'method' | 'path' | 'headers'> = nothingKnown;
  let caller: WebCaller | undefined;
  try {
    if (!isRequest(request)) {
      warn('TOLLGATE_NOT_A_REQUEST', notARequest);
      return failure(gateway, known);
    }
    caller = webCaller(request);
    const adapted = adaptRequest(request, options, caller, warn);
    known = adapted;
    return responseFor(adapted, await gateway.handle(adapted), caller);
  } catch {
    // Only a wrapper of the host, or an unusual request object, can throw here.
    caller?.markAnswered();
    return failure(gateway, known);
  }
}

/** Stands for a request that could not be read. */
const nothingKnown = { method: 'GET', path: '', headers: {} };

const notARequest =
  'fetchAdapter was called without a Web Request, and answered 500. In Hono, pass c.req.raw. ' +
  'Requests of node:http, as in the pages/api of Next.js, need nodeAdapter of tollgate/node.';

/** By its members, because frameworks have request classes of their own. */
function isRequest(value: unknown): boolean {
  return (
    typeof memberOf(value, 'url') === 'string' &&
    typeof memberOf(value, 'method') === 'string' &&
    typeof memberOf(memberOf(value, 'headers'), 'get') === 'function' &&
    typeof memberOf(memberOf(value, 'signal'), 'addEventListener') === 'function'
  );
}

function adaptRequest(
  request: Request,
  options: AdapterOptions,
  caller: WebCaller,
  warn: Warn,
): GatewayRequest {
  const { method } = request;
  const target = targetOf(request.url);
  const queryAt = target.indexOf('?');
  const headers = [...request.headers];
  return {
    method,
    path: pathOf(target, options),
    target,
    search: queryAt < 0 ? '' : target.slice(queryAt + 1),
    headers: Object.fromEntries(headers),
    rawHeaders: headers.flat(),
    body: requestBody(request, warn),
    onClose: caller.onDisconnect,
  };
}

/** The path and query of a request, without decoding. */
function targetOf(url: string): string {
  const target = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '');
  const fragmentAt = target.indexOf('#');
  return fragmentAt < 0 ? target : target.slice(0, fragmentAt);
}

function pathOf(target: string, options: AdapterOptions): string {
  return mountedPath(target, target, options);
}

function responseFor(
  { method }: Pick<GatewayRequest, 'method'>,
  reply: GatewayResponse,
  caller: WebCaller,
): Response {
  const { status, headers, body } = reply;
  if (caller.isGone()) {
    discard(reply);
    return new Response(null, { status: disconnectedStatus });
  }
  if (method === 'HEAD' || bodilessStatuses.has(status)) {
    caller.markAnswered();
    discard(reply);
    return new Response(null, { status, headers });
  }
  if ('sendTo' in body) return streamedResponse({ status, headers }, body, caller);
  caller.markAnswered();
  return new Response(body, { status, headers });
}

/** nginx's status for a caller that has disconnected; nobody receives it. */
const disconnectedStatus = 499;

/** The statuses with which `new Response` refuses a body (Fetch standard, null body status). */
const bodilessStatuses: ReadonlySet<number> = new Set([204, 205, 304]);

function streamedResponse(
  init: { readonly status: number; readonly headers: GatewayResponse['headers'] },
  body: ReplyBody,
  caller: WebCaller,
): Response {
  const stream = responseBody(body, caller);
  try {
    return new Response(stream, init);
  } catch (error) {
    void stream.cancel();
    throw error;
  }
}

/** The response where the adapter itself cannot answer. */
function failure(
  gateway: GatewayHandler,
  known: Pick<GatewayRequest, 'method' | 'path' | 'headers'>,
): Response {
  try {
    const message = 'The gateway failed to answer this request.';
    const { status, headers, body } = gateway.refuse(known, 'internal_error', message);
    const isBodiless = known.method === 'HEAD' || 'sendTo' in body;
    return new Response(isBodiless ? null : body, { status, headers });
  } catch {
    return new Response(null, { status: 500 });
  }
}
