/**
 * Mounts a gateway in hosts that turn a Web `Request` into a `Response`: Hono, Next.js route
 * handlers, Bun, Deno.
 */

import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers';
import { bodyConsumedError, ignoreErrors, isBodyConsumedError } from '../src/host/streams.ts';
import type { GatewayHandler, GatewayRequest, GatewayResponse, ReplyBody } from '../src/http.ts';
import { type HostResponse, memberOf } from './host.ts';
import { type Warn, warnOnce } from './host-body.ts';
import { type AdapterOptions, checkMount, discard, isBelowPrefix, mountedPath } from './record.ts';
import { type WebCaller, webCaller } from './web-caller.ts';

/** The unread body of a request; undefined, with a warning, if the host has read it. */
function requestBody(request: Request, warn: Warn): GatewayRequest['body'] {
  if (request.method === 'GET' || request.method === 'HEAD') return new Uint8Array();
  if (!request.bodyUsed) return bodyStream(request, warn);
  warn('TOLLGATE_BODY_CONSUMED', bodyConsumed);
  return undefined;
}

const bodyConsumed =
  'The host read a request body before it passed the request to the gateway, so the call could ' +
  'not be answered. Pass a request whose body is unread, or a clone() that was made before.';

/** Reads the next chunk; `done` says that there are no more, with or after the last one. */
type ReadChunk = () => Promise<{ readonly done: boolean; readonly value?: unknown }>;

/**
 * Reads a chunk when one is wanted. `request.body` is not touched before, because in some servers
 * the getter begins to read from the socket. The part of a body that the gateway does not read is
 * not cancelled, because some servers would close the connection before they have sent the reply.
 */
function bodyStream(request: Request, warn: Warn): Readable {
  let readChunk: ReadChunk | undefined;
  const stream = new Readable({
    read: () => {
      readChunk ??= chunksOf(request, warn);
      readChunk().then(
        ({ done, value }) => {
          stream.push(value);
          if (done) stream.push(null);
        },
        (error: unknown) => {
          const broken = new Error('The request body broke off.');
          stream.destroy(isBodyConsumedError(error) ? error : broken);
        },
      );
    },
  });
  ignoreErrors(stream);
  return stream;
}

function chunksOf(request: Request, warn: Warn): ReadChunk {
  const consumed: ReadChunk = () => {
    warn('TOLLGATE_BODY_CONSUMED', bodyConsumed);
    return Promise.reject(bodyConsumedError());
  };
  // The host may also have read it while the key was looked up.
  if (request.bodyUsed) return consumed;
  if (isLightweight(request) && isSmall(request.headers)) {
    return async () => {
      try {
        return { done: true, value: new Uint8Array(await request.arrayBuffer()) };
      } catch (error) {
        // Another reader has locked it, if none of it was read.
        if (!request.bodyUsed) return consumed();
        throw error;
      }
    };
  }
  const reader = readerOf(request);
  if (reader === null) return () => Promise.resolve({ done: true });
  return reader === undefined ? consumed : () => reader.read();
}

/**
 * Whether it only poses as a `Request`. That of `@hono/node-server` reads its body from the socket
 * if it is asked for all of it, and otherwise makes a real `Request`, which costs as much as a
 * whole call.
 */
function isLightweight(request: Request): boolean {
  const prototype = Reflect.getPrototypeOf(request);
  return prototype !== null && !Object.hasOwn(prototype, 'constructor');
}

/**
 * The response that `@hono/node-server` writes to (the documented `c.env.outgoing`). Its request's
 * signal is aborted when that closes; the signal of a real `Request` may be another one.
 */
function responseIn(env: unknown): HostResponse | undefined {
  const outgoing = memberOf(env, 'outgoing');
  return isHostResponse(outgoing) ? outgoing : undefined;
}

function isHostResponse(value: unknown): value is HostResponse {
  return (
    typeof memberOf(value, 'writeHead') === 'function' &&
    typeof memberOf(value, 'off') === 'function'
  );
}

/** Whether the body can be read at once. Such a server lets it not become longer than announced. */
function isSmall(headers: Headers): boolean {
  const announced = Number(headers.get('content-length') ?? Number.NaN);
  return announced <= smallBodyBytes;
}

const smallBodyBytes = 64 * 1024;

/** Null if the request has no body, and undefined if another reader has locked it. */
function readerOf({ body }: Request): ReadableStreamDefaultReader<Uint8Array> | null | undefined {
  try {
    return body === null ? null : body.getReader();
  } catch {
    return undefined;
  }
}

/**
 * A reply as a Web stream that takes a chunk only when its reader asks for one. It fails if the
 * reply is cut; also if the caller disconnects and the server does not cancel the stream.
 */
function responseBody(reply: ReplyBody, caller: WebCaller): ReadableStream<Uint8Array> {
  const source = reply.readable();
  ignoreErrors(source);
  source.pause();
  caller.onDisconnect(() => source.destroy());
  let isOver = false;
  return new ReadableStream(
    {
      start: (controller) => {
        source.on('data', (chunk: Uint8Array) => {
          // A destroyed stream may still deliver a chunk.
          if (isOver) return;
          // Before the chunk is passed on, which may immediately ask for the next one.
          source.pause();
          controller.enqueue(chunk);
        });
        source.once('end', () => {
          if (isOver) return;
          isOver = true;
          caller.markAnswered();
          controller.close();
        });
        source.once('close', () => {
          if (isOver) return;
          isOver = true;
          failStream(controller, caller);
        });
      },
      pull: () => {
        source.resume();
      },
      cancel: () => {
        isOver = true;
        caller.markGone();
        source.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function failStream(controller: ReadableStreamDefaultController, caller: WebCaller): void {
  if (!caller.isGone()) return controller.error(new Error('The reply was cut.'));
  // Deferred, because @hono/node-server cancels the stream next, and logs one that failed before.
  setImmediate(() => {
    controller.error(new DOMException('The caller has disconnected.', 'AbortError'));
  });
}

export { fetchUpstreamClient } from '../src/upstream/fetch-client.ts';
export type { AdapterOptions } from './record.ts';

/** Answers Web requests; created by {@link fetchAdapter}. */
export interface FetchHandler {
  /**
   * The response to a request. Never rejects.
   *
   * With Hono on Node, pass `c.env` too: that the caller disconnects is then seen in the server's
   * response, which costs less than the signal of the request. Other arguments are ignored, so that
   * frameworks may pass their own: route parameters, a server, an environment.
   */
  (request: Request, env?: unknown, ...ignored: readonly unknown[]): Promise<Response>;
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
 * app.all('/v1/*', (c) => handler(c.req.raw, c.env));                     // Hono
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
  const handler = (request: Request, env?: unknown): Promise<Response> =>
    answer(gateway, request, env, options, warn);
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
  env: unknown,
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
    caller = webCaller(request, isLightweight(request) ? responseIn(env) : undefined);
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

/**
 * By its members, because frameworks have request classes of their own. Without its signal, which
 * some servers make when it is asked for.
 */
function isRequest(value: unknown): boolean {
  return (
    typeof memberOf(value, 'url') === 'string' &&
    typeof memberOf(value, 'method') === 'string' &&
    typeof memberOf(memberOf(value, 'headers'), 'get') === 'function'
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
  const headers: Record<string, string> = {};
  const rawHeaders: string[] = [];
  // Not by its iterator, which costs three times as much.
  request.headers.forEach((value, name) => {
    headers[name] = value;
    rawHeaders.push(name, value);
  });
  return {
    method,
    path: pathOf(target, options),
    target,
    search: queryAt < 0 ? '' : target.slice(queryAt + 1),
    headers,
    rawHeaders,
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
