/**
 * The neutral record as the adapters share it: how a request of a host becomes one, and how its
 * answer is written onto a response of `node:http` or HTTP/2. Not an entry point.
 */
import type { GatewayRequest, GatewayResponse, HeaderMap } from '../src/http.ts';
import {
  cutOff,
  type HostRequest,
  type HostResponse,
  ignoreErrors,
  isGone,
  memberOf,
  type ParsedBody,
} from './host.ts';
import { bodyOf, type Warn, warnOnce } from './host-body.ts';
import { type Lingering, lingering } from './linger.ts';

/** How an adapter is mounted, where the host's own routing does not say it all. */
export interface AdapterOptions {
  /**
   * A prefix to take off the path where no router does: `/llm` for a bare server that serves the
   * gateway at `/llm/v1`, or the `prefix` of `@koa/router`. Paths outside it are not the gateway's.
   * It begins with a slash and does not end with one.
   */
  readonly basePath?: string;
}

/**
 * Says at start-up what could not work later.
 *
 * @throws ConfigurationError by its name: adapters take no values from `src`
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
    : 'gateway must be an object with owns(), handle(), refuse(). createGateway() makes one.';
}

function optionsProblem(options: unknown): string | undefined {
  if (typeof options !== 'object' || options === null) {
    return "options must be an object. Write { basePath: '/llm' }, or leave it out.";
  }
  const unknown = Object.keys(options).find((name) => name !== 'basePath');
  if (unknown !== undefined) {
    return `options.${unknown} does not exist. Take it out; basePath is the only option.`;
  }
  const basePath = memberOf(options, 'basePath');
  if (basePath === undefined) return undefined;
  return typeof basePath === 'string' && /^(?:\/[^/?#\s]+)+$/.test(basePath)
    ? undefined
    : "options.basePath must be a path such as '/llm': with a slash before, and none after. " +
        'Leave it out where nothing stands before /v1.';
}

/**
 * The path as the gateway knows it, under whatever prefix it is mounted: what is left of the path
 * if that begins with a version, else that behind the mount's last segment. The mount is what the
 * host took off `originalUrl`, so that nested routers and connect need no rule of their own. All on
 * raw bytes, nothing decoded (SECURITY T18). What can't be ours comes back as something nobody
 * owns.
 */
export function mountedPath(url: string, originalUrl: string, options: AdapterOptions): string {
  const full = pathOf(originalUrl);
  // An absolute-form target (RFC 9112 §3.2.2) is for a proxy, and `*` is for the server.
  if (!full.startsWith('/')) return full;

  const prefix = options.basePath ?? '';
  const path = pathOf(url);
  if (!path.startsWith(prefix)) return '';
  const left = path.slice(prefix.length);
  // koa-mount takes the slash off as well where the mount was written with one: `/v1/`.
  const rest = left.startsWith('/') || prefix !== '' ? left : `/${left}`;
  if (!rest.startsWith('/')) return '';

  if (/^\/v1(beta)?(\/|$)/.test(rest) || !full.endsWith(rest)) return rest;
  const mount = full.slice(0, -rest.length);
  return mount.slice(mount.lastIndexOf('/')) + rest;
}

/** What one adapter keeps from request to request. */
export interface AdapterState {
  readonly warn: Warn;
  readonly lingering: Lingering;
}

/** The state of an adapter that has served nothing yet. */
export function adapterState(): AdapterState {
  return { warn: warnOnce(), lingering: lingering() };
}

/** A request's record, and the moment at which its answer becomes the adapter's to write. */
export interface AdaptedRequest {
  readonly request: GatewayRequest;
  /** From here on the response is ended by the adapter, not by the host over its head. */
  isAnswered: boolean;
}

/** The visit of a request whose path was found by {@link mountedPath}. */
export function adaptRequest(
  req: HostRequest,
  res: HostResponse,
  path: string,
  parsed: ParsedBody,
  { warn }: AdapterState,
): AdaptedRequest {
  ignoreErrors(req);
  ignoreErrors(res);
  const url = req.url ?? '';
  const body = bodyOf(req, res, parsed, warn);
  const listeners: (() => void)[] = [];
  const visit: AdaptedRequest = {
    request: {
      method: req.method ?? 'GET',
      path,
      search: url.slice(pathOf(url).length + 1),
      headers: body === req ? req.headers : { ...req.headers, ...wireOnly },
      rawHeaders: req.rawHeaders,
      body,
      onClose: (listener) => {
        if (isGone(res) || res.writableEnded) {
          queueMicrotask(listener);
          return;
        }
        listeners.push(listener);
        if (listeners.length === 1) res.on('close', () => tellHangUp(res, visit, listeners));
      },
    },
    isAnswered: false,
  };
  return visit;
}

/** These tell of the bytes on the wire, which whoever read the body has unpacked. */
const wireOnly = { 'content-encoding': undefined, 'content-length': undefined };

/** Writes an answer; where nobody can have it any more, lets go of what was to be streamed. */
export function sendReply(
  req: HostRequest,
  res: HostResponse,
  reply: GatewayResponse,
  state: AdapterState,
): void {
  state.lingering.expectReply(req, res);
  if (!wroteHead(res, reply)) return discard(reply);

  const { body } = reply;
  if (res.req.method === 'HEAD') {
    // HTTP/2 has closed the stream with the headers, and takes a write for an error.
    res.end();
    return discard(reply);
  }
  if (!('sendTo' in body)) {
    res.end(body);
    return;
  }
  // A host that ends the response under our hands (a timeout) must not make the next write fatal.
  res.on('error', () => res.destroy());
  body.sendTo(res);
}

/** Gives up an answer that nobody will read, which stops its upstream. */
export function discard({ body }: GatewayResponse): void {
  if ('sendTo' in body) body.readable().destroy();
}

/**
 * False where somebody else answered first, or Node or a host's wrapper would not take the head.
 */
function wroteHead(res: HostResponse, { status, headers }: GatewayResponse): boolean {
  if (isGone(res) || res.headersSent) return false;
  try {
    res.writeHead(status, headersFor(res, headers));
    return true;
  } catch {
    // There is no answer left that could be trusted to be written, and a silent caller would wait.
    cutOff(res);
    return false;
  }
}

/** The gateway's headers beside the host's own: `vary` adds to what its CORS layer said. */
export function headersFor(res: HostResponse, headers: HeaderMap): HeaderMap {
  const vary = res.getHeader('vary');
  // HTTP/2 knows no `connection`, and Node throws at it.
  const isRefused = headers.connection !== undefined && res.stream !== undefined;
  if (vary === undefined && !isRefused) return headers;
  const { connection, ...rest } = headers;
  const own = connection === undefined || isRefused ? rest : { ...rest, connection };
  return vary === undefined ? own : { ...own, vary: `${String(vary)}, ${headers.vary ?? ''}` };
}

/**
 * `'close'` before we ended the response is the one sign that nobody waits for us: `req` closes as
 * soon as its body was read, and HTTP/2 calls a cancelled response finished (SECURITY D12). The
 * caller has left, or the host has ended the response by itself, such as at a timeout of its own.
 * One listener on the response serves all of ours: a host's must not be the eleventh, which Node
 * warns of.
 */
function tellHangUp(res: HostResponse, visit: AdaptedRequest, listeners: (() => void)[]): void {
  if (visit.isAnswered && res.writableEnded) return;
  for (const tell of listeners.splice(0)) tell();
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
