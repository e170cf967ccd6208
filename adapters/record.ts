/**
 * The neutral record as the adapters share it: how a request of a host becomes one, and how its
 * answer is written onto a response of `node:http` or HTTP/2. Not an entry point.
 */
import { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { GatewayRequest, GatewayResponse, HeaderMap, IncomingHeaders } from '../src/http.ts';

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
  throw Object.assign(new Error(`${adapter}: ${problem}`), { name: 'ConfigurationError' });
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

/** A member of whatever a host or its middleware handed over; undefined where it has none. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** What a body parser of the host leaves behind. */
export interface ParsedBody {
  readonly body?: unknown;
  readonly rawBody?: unknown;
}

/** A request of `node:http` or of HTTP/2's compatibility API; Express and connect add to it. */
export interface HostRequest extends Readable, ParsedBody {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly originalUrl?: string | undefined;
  readonly headers: IncomingHeaders;
  readonly rawHeaders: readonly string[];
}

/** A response of `node:http` or of HTTP/2's compatibility API. */
export interface HostResponse extends Writable {
  readonly req: { readonly method?: string | undefined };
  readonly headersSent: boolean;
  /** On HTTP/2 only, where the response itself does not say that it was destroyed. */
  readonly stream?: { readonly destroyed: boolean } | undefined;
  getHeader(name: string): unknown;
  writeHead(statusCode: number, headers: HeaderMap): unknown;
}

/** Emits a process warning, each code once. */
export type Warn = (code: string, message: string) => void;

/** One adapter's warnings: a mistake in a host's set-up is told once, not with every request. */
export function warnOnce(): Warn {
  const told = new Set<string>();
  return (code, message) => {
    if (told.has(code)) return;
    told.add(code);
    process.emitWarning(message, { type: 'TollgateWarning', code });
  };
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

/** A request's record, and the moment at which its answer becomes the adapter's to write. */
export interface Visit {
  readonly request: GatewayRequest;
  /** From here on the response is ended by the adapter, not by the host over its head. */
  isAnswered: boolean;
}

/** The visit of a request whose path was found by {@link mountedPath}. */
export function visitOf(
  req: HostRequest,
  res: HostResponse,
  path: string,
  parsed: ParsedBody,
  warn: Warn,
): Visit {
  const url = req.url ?? '';
  const body = bodyOf(req, res, parsed, warn);
  const listeners: (() => void)[] = [];
  const visit: Visit = {
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

/** Whether nothing can be written any more. */
export function isGone(res: HostResponse): boolean {
  return res.destroyed || res.stream?.destroyed === true;
}

/** Writes an answer; where nobody can have it any more, lets go of what was to be streamed. */
export function sendReply(res: HostResponse, reply: GatewayResponse): void {
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

/** Ends a response so that no caller can take it for whole; replies in `src` do it alike. */
export function cutOff(res: HostResponse): void {
  if (res.stream !== undefined) {
    // HTTP/2 tells its caller NO_ERROR, a whole reply, of a stream that is destroyed without one.
    res.destroy(new Error('The reply was cut.'));
    return;
  }
  // Without chunks, for HTTP/1.0, a reply is whole wherever the connection ends; unless by a reset.
  const isUnframed = res.headersSent && res instanceof ServerResponse && !res.chunkedEncoding;
  if (isUnframed) resetSocket(res.socket);
  res.destroy();
}

function resetSocket(socket: Socket | null): void {
  try {
    socket?.resetAndDestroy();
  } catch {
    // Not over TLS, where an end without its own farewell is a break already.
  }
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
function tellHangUp(res: HostResponse, visit: Visit, listeners: (() => void)[]): void {
  if (visit.isAnswered && res.writableEnded) return;
  for (const tell of listeners.splice(0)) tell();
}

/**
 * The unread stream, else what a parser left. The stream alone tells whether one ran: Express 4
 * puts `{}` into `req.body` without having read a byte (SECURITY T38).
 */
function bodyOf(
  req: HostRequest,
  res: HostResponse,
  { body, rawBody }: ParsedBody,
  warn: Warn,
): GatewayRequest['body'] {
  if (req.method === 'GET' || req.method === 'HEAD') return new Uint8Array();
  if (!req.readableDidRead && !req.readableEnded && !req.destroyed) return req;

  const bytes = bytesOf(rawBody) ?? bytesOf(body);
  if (bytes !== undefined) return bytes;
  const written = isPlaceholder(body, req) ? undefined : jsonBytes(body);
  if (written !== undefined) {
    warn('TOLLGATE_BODY_REWRITTEN', rewritten);
    return written;
  }
  // A caller who hung up while the host was still reading is no mistake of the host.
  if (!isGone(res)) warn('TOLLGATE_BODY_CONSUMED', consumed);
  return undefined;
}

const rewritten =
  'A body parser of the host ran before the gateway, so JSON bodies are written out again and ' +
  'numbers such as 1.0 or 12345678901234567890 may change. Mount the gateway before the parser ' +
  'to keep the bytes exact.';

const consumed =
  'Middleware of the host read a request body before the gateway and left nothing of it, so the ' +
  'call could not be answered. Mount the gateway before that middleware, or have it keep the ' +
  'bytes as rawBody.';

function bytesOf(value: unknown): Uint8Array | undefined {
  if (typeof value === 'string') return Buffer.from(value);
  return value instanceof Uint8Array ? value : undefined;
}

/** `{}` that stands for a body which somebody else read. */
function isPlaceholder(body: unknown, { headers }: HostRequest): boolean {
  if (typeof body !== 'object' || body === null || Object.keys(body).length > 0) return false;
  return Number(headers['content-length'] ?? 0) > 2;
}

function jsonBytes(value: unknown): Uint8Array | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  try {
    return bytesOf(JSON.stringify(value));
  } catch {
    // A parser that makes bigints or cycles leaves nothing that can be written out again.
    return undefined;
  }
}

function pathOf(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}
