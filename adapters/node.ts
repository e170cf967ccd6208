/**
 * Glue to `node:http` and the HTTP/2 compatibility API: builds the gateway's record of a request and
 * writes its answer. The other adapters share what stands here.
 */
import type { Readable, Writable } from 'node:stream';
import type {
  GatewayHandler,
  GatewayRequest,
  GatewayResponse,
  HeaderMap,
  IncomingHeaders,
} from '../src/http.ts';
import { bodyOf, warnOnce } from './parsed-body.ts';

/** A request as `node:http`, `node:http2`, Express and connect give it. */
export interface NodeRequest extends Readable {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly httpVersionMajor: number;
  readonly headers: IncomingHeaders;
  readonly rawHeaders: readonly string[];
}

/** A response as `node:http`, `node:http2`, Express and connect give it. */
export interface NodeResponse extends Writable {
  readonly headersSent: boolean;
  getHeader(name: string): unknown;
  writeHead(status: number, headers?: Record<string, string>): unknown;
}

/** Where the gateway is mounted, if the router does not say so itself. */
export interface AdapterOptions {
  /** A prefix that is still in the path, `/api/llm`; routers like Express take it off themselves. */
  readonly basePath?: string;
}

/** A handler for `createServer`, and a middleware where a `next` follows. */
export type NodeHandler = (req: NodeRequest, res: NodeResponse, next?: () => void) => void;

/** Mounts a gateway in `node:http`. Without a `next`, every path is answered. */
export function nodeAdapter(gateway: GatewayHandler, options: AdapterOptions = {}): NodeHandler {
  const warn = warnOnce();
  return (req, res, next) => {
    const { path, search } = splitUrl(req.url);
    const own = mountedPath(path, '', options);
    if (next !== undefined && !isOurs(gateway, req.method, own)) return next();
    void serve(gateway, req, res, { path: own, search, body: bodyOf(req, {}, warn) });
  };
}

/** OPTIONS is the host's: its CORS layer answers. */
export function isOurs(gateway: GatewayHandler, method: string | undefined, path: string): boolean {
  return method !== 'OPTIONS' && gateway.owns(path);
}

/**
 * The path from `/v1` or `/v1beta` on. One rule for every mount: if what is left of the path starts
 * so, that is it; else the mount's last segment goes back in front.
 */
export function mountedPath(
  rest: string,
  mount: string,
  { basePath = '' }: AdapterOptions,
): string {
  const inside = basePath !== '' && rest.startsWith(`${basePath}/`);
  const path = inside ? rest.slice(basePath.length) : rest;
  if (startsWithVersion.test(path)) return path;
  const joined = mount.slice(mount.lastIndexOf('/')) + path;
  return startsWithVersion.test(joined) ? joined : path;
}

const startsWithVersion = /^\/v1(?:beta)?(?:\/|$)/;

/** Path and query, raw. */
export function splitUrl(url = '/'): { readonly path: string; readonly search: string } {
  const mark = url.indexOf('?');
  return mark === -1
    ? { path: url, search: '' }
    : { path: url.slice(0, mark), search: url.slice(mark + 1) };
}

/** Asks the gateway and writes its answer. Nothing of it throws into the host. */
export async function serve(
  gateway: GatewayHandler,
  req: NodeRequest,
  res: NodeResponse,
  found: Pick<GatewayRequest, 'path' | 'search' | 'body'>,
): Promise<void> {
  const response = await gateway.handle(requestOf(req, res, found));
  writeResponse(response, req, res);
}

/** The gateway's record of a request. */
export function requestOf(
  req: NodeRequest,
  res: Writable,
  found: Pick<GatewayRequest, 'path' | 'search' | 'body'>,
): GatewayRequest {
  return {
    ...found,
    method: req.method ?? 'GET',
    headers: req.headers,
    rawHeaders: req.rawHeaders,
    // `close` before we ended the response: `req` closes as soon as it has been read, and on
    // HTTP/2 a cancelled response even counts as finished.
    onClose: (listener) => {
      res.once('close', () => {
        if (!res.writableEnded) listener();
      });
    },
  };
}

/** Writes an answer; one that nobody can receive any more is let go. */
export function writeResponse(
  { status, headers, body }: GatewayResponse,
  req: Pick<NodeRequest, 'httpVersionMajor'>,
  res: NodeResponse,
): void {
  const whole = ArrayBuffer.isView(body);
  try {
    if (!res.destroyed && !res.headersSent) {
      res.writeHead(status, headersFor(headers, req, res));
      if (whole) res.end(body);
      else body.sendTo(res);
      return;
    }
  } catch {
    // The host ended or wrapped the response in its own way; the socket is all that can tell.
    res.destroy();
  }
  if (!whole) body.readable().destroy();
}

function headersFor(
  headers: HeaderMap,
  req: Pick<NodeRequest, 'httpVersionMajor'>,
  res: NodeResponse,
): Record<string, string> {
  const { connection, ...rest } = headers;
  // HTTP/2 knows no such header, and Node throws at it.
  const own =
    connection === undefined || req.httpVersionMajor >= 2 ? rest : { ...rest, connection };
  const vary = res.getHeader('vary');
  return vary === undefined ? own : { ...own, vary: `${String(vary)}, ${headers.vary ?? ''}` };
}
