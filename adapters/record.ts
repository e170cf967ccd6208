/**
 * Shared by the adapters: converts a host's request to a `GatewayRequest`, and writes a
 * `GatewayResponse` to a response of `node:http` or HTTP/2. Not an entry point.
 */
import type { ErrorCode } from '../src/errors.ts';
import { cutOff, ignoreErrors } from '../src/host/streams.ts';
import type { GatewayHandler, GatewayRequest, GatewayResponse, HeaderMap } from '../src/http.ts';
import { type HostRequest, type HostResponse, isGone, memberOf, type ParsedBody } from './host.ts';
import { bodyOf, type Warn, warnOnce } from './host-body.ts';
import { type Lingering, lingering } from './linger.ts';

/** Options for mounts that the host's own routing does not fully describe. */
export interface AdapterOptions {
  /**
   * A prefix to remove from the path if no router does: `/llm` for a bare server that serves the
   * gateway at `/llm/v1`, or the `prefix` of `@koa/router`. Paths outside it are not the gateway's.
   * It begins with a slash and does not end with one.
   */
  readonly basePath?: string;
}

/**
 * Validates the arguments at start-up.
 *
 * @throws ConfigurationError by name only, because adapters import no values from `src`
 */
export function checkMount(adapter: string, gateway: unknown, options: unknown): void {
  const problem = gatewayProblem(gateway) ?? optionsProblem(options);
  if (problem === undefined) return;
  throw Object.assign(new Error(`${adapter}: ${problem}`), {
    name: 'ConfigurationError',
    code: 'ERR_TOLLGATE_CONFIGURATION',
  });
}

function gatewayProblem(gateway: unknown): string | undefined {
  const isGateway = ['owns', 'handle', 'refuse'].every(
    (name) => typeof memberOf(gateway, name) === 'function',
  );
  return isGateway
    ? undefined
    : 'gateway must be an object with owns(), handle(), refuse(). createGateway() creates one.';
}

function optionsProblem(options: unknown): string | undefined {
  if (typeof options !== 'object' || options === null) {
    return "options must be an object, such as { basePath: '/llm' }. Or leave it out.";
  }
  const unknown = Object.keys(options).find((name) => name !== 'basePath');
  if (unknown !== undefined) {
    return `options.${unknown} does not exist. Remove it; basePath is the only option.`;
  }
  const basePath = memberOf(options, 'basePath');
  if (basePath === undefined) return undefined;
  return typeof basePath === 'string' && /^(?:\/[^/?#\s]+)+$/.test(basePath)
    ? undefined
    : "options.basePath must be a path such as '/llm': with a leading slash and no trailing one. " +
        'Leave it out if there is no prefix before /v1.';
}

/**
 * The path as the gateway knows it, under any mount: the rest of the path, after the last
 * segment of the mount if that is the version. The mount is the part that the
 * host removed from `originalUrl`, so nested routers and connect need no special rules. Works on
 * raw text, without decoding. Paths that can't be the gateway's are mapped to one that it does not
 * serve.
 */
export function mountedPath(url: string, originalUrl: string, options: AdapterOptions): string {
  const full = pathOf(originalUrl);
  // An absolute-form target (RFC 9112 §3.2.2) is for a proxy, and `*` for the server itself.
  if (!full.startsWith('/')) return full;

  const prefix = options.basePath ?? '';
  const path = url === originalUrl ? full : pathOf(url);
  if (!path.startsWith(prefix)) return '';
  const left = path.slice(prefix.length);
  // koa-mount also removes the slash if the mount has a trailing one: `/v1/`.
  const rest = left.startsWith('/') || prefix !== '' ? left : `/${left}`;
  if (!rest.startsWith('/')) return '';

  if (/^\/v1(beta)?(\/|$)/.test(rest) || !full.endsWith(rest)) return rest;
  const mount = full.slice(0, -rest.length);
  const last = mount.slice(mount.lastIndexOf('/'));
  return /^\/v1(?:beta)?$/.test(last) ? last + rest : rest;
}

/**
 * Whether a path of {@link mountedPath} is below a prefix before the version, which the host has
 * given to the gateway.
 */
export function isBelowPrefix(path: string, originalUrl: string): boolean {
  return path !== '' && pathOf(originalUrl) !== path;
}

/** The state of an adapter. */
export interface AdapterState {
  readonly warn: Warn;
  readonly lingering: Lingering;
}

/** Creates the state of an adapter. */
export function adapterState(): AdapterState {
  return { warn: warnOnce(), lingering: lingering() };
}

const preflight =
  'A browser asked whether a page of another site may call the gateway (a CORS preflight), and ' +
  'nothing before the gateway answered. If such pages may call it, mount your CORS layer before ' +
  'the gateway: app.use(cors()) in Express. Otherwise there is nothing to do.';

/** Warns once of a CORS preflight that the host has not answered, and so will not be allowed. */
export function notePreflight(
  gateway: GatewayHandler,
  { warn }: AdapterState,
  path: string,
  { method, headers }: HostRequest,
  res: HostResponse,
): void {
  const intended = headers['access-control-request-method'];
  if (method !== 'OPTIONS' || typeof intended !== 'string') return;
  if (!gateway.owns(path, intended)) return;
  if (res.getHeader('access-control-allow-origin') === undefined) {
    warn('TOLLGATE_PREFLIGHT', preflight);
  }
}

/** Why the host refused a request, for its caller. */
export type Refusal = readonly [code: ErrorCode, message: string];

/** A converted request, and whether its reply is being written. */
export interface AdaptedRequest {
  readonly request: GatewayRequest;
  /**
   * Set when the adapter writes the reply: from then on the response is ended by the adapter, and
   * not by the host.
   */
  isAnswered: boolean;
}

/** Converts a request whose path was computed by {@link mountedPath}. */
export function adaptRequest(
  req: HostRequest,
  res: HostResponse,
  path: string,
  parsed: ParsedBody,
  { warn }: AdapterState,
  target: string = req.originalUrl ?? req.url ?? '',
): AdaptedRequest {
  ignoreErrors(req);
  ignoreErrors(res);
  const body = bodyOf(req, res, parsed, warn);
  const listeners: (() => void)[] = [];
  const adapted: AdaptedRequest = {
    request: {
      method: req.method ?? 'GET',
      path,
      target,
      search: queryOf(req.url ?? ''),
      headers: body === req ? req.headers : { ...req.headers, ...wireOnly },
      rawHeaders: req.rawHeaders,
      body,
      onClose: (listener) => {
        if (isGone(res) || res.writableEnded) {
          queueMicrotask(listener);
          return;
        }
        listeners.push(listener);
        if (listeners.length > 1) return;
        // `close` on the response before the adapter has ended it is the only reliable sign: `req`
        // closes as soon as its body has been read, and HTTP/2 reports a cancelled response as
        // finished.
        res.on('close', () => {
          if (!adapted.isAnswered || !res.writableEnded) notifyAll(listeners);
        });
      },
    },
    isAnswered: false,
  };
  return adapted;
}

function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start < 0 ? '' : url.slice(start + 1);
}

/** These headers describe the bytes on the wire, which the host's parser has already decoded. */
const wireOnly = { 'content-encoding': undefined, 'content-length': undefined };

/**
 * Passes a request to the gateway and writes its reply. Never rejects. Resolves when the reply is
 * being written, or has been discarded.
 */
export async function answerRequest(
  gateway: GatewayHandler,
  state: AdapterState,
  path: string,
  req: HostRequest,
  res: HostResponse,
  parsed: ParsedBody,
): Promise<void> {
  try {
    const adapted = adaptRequest(req, res, path, parsed, state);
    const reply = await gateway.handle(adapted.request);
    adapted.isAnswered = true;
    sendReply(req, res, reply, state);
  } catch {
    // Only a wrapper of the host can throw here. The connection is closed, so that the caller does
    // not wait.
    cutOff(res);
  }
}

/** Answers a request that the host refused before it reached the gateway. */
export function answerRefused(
  gateway: GatewayHandler,
  state: AdapterState,
  path: string,
  req: HostRequest,
  res: HostResponse,
  [code, message]: Refusal,
): void {
  ignoreErrors(req);
  ignoreErrors(res);
  const request = { method: req.method ?? 'GET', path, headers: req.headers };
  sendReply(req, res, gateway.refuse(request, code, message), state);
}

/** Writes a reply; discards it if it can no longer be received. */
function sendReply(
  req: HostRequest,
  res: HostResponse,
  reply: GatewayResponse,
  state: AdapterState,
): void {
  state.lingering.expectReply(req, res);
  if (!wroteHead(res, reply)) return discard(reply);

  const { body } = reply;
  if (res.req.method === 'HEAD') {
    // HTTP/2 has closed the stream after the headers, and treats a write as an error.
    res.end();
    return discard(reply);
  }
  if (!('sendTo' in body)) {
    res.end(body);
    return;
  }
  // A host that ends the response meanwhile (a timeout) must not make the next write fatal.
  res.on('error', () => res.destroy());
  body.sendTo(res);
}

/** Discards a reply that will not be read, which aborts its upstream. */
export function discard({ body }: GatewayResponse): void {
  if ('sendTo' in body) body.readable().destroy();
}

/**
 * Writes status and headers. Returns false if the host has already answered, or if Node or a
 * wrapper of the host rejects them.
 */
function wroteHead(res: HostResponse, { status, headers }: GatewayResponse): boolean {
  if (isGone(res) || res.headersSent) return false;
  try {
    res.writeHead(status, headersFor(res, headers));
    return true;
  } catch {
    // No other reply can be expected to work, and without one the caller would wait.
    cutOff(res);
    return false;
  }
}

/**
 * The gateway's headers, merged with the host's: `vary` is added to the value of the host's CORS
 * middleware.
 */
export function headersFor(res: HostResponse, headers: HeaderMap): HeaderMap {
  const vary = res.getHeader('vary');
  // HTTP/2 has no `connection` header, and Node throws on it.
  const isRefused = headers.connection !== undefined && res.stream !== undefined;
  if (vary === undefined && !isRefused) return headers;
  const { connection, ...rest } = headers;
  const own = connection === undefined || isRefused ? rest : { ...rest, connection };
  return vary === undefined ? own : { ...own, vary: `${String(vary)}, ${headers.vary ?? ''}` };
}

/**
 * Reports a disconnect, or that the host has ended the response itself, for example on a timeout.
 * One `close` listener serves all listeners of the gateway, because an eleventh would make Node
 * warn.
 */
function notifyAll(listeners: (() => void)[]): void {
  for (const notify of listeners.splice(0)) notify();
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
