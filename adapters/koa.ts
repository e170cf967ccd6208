/**
 * Mounts a gateway in Koa 2 and 3 as one middleware among others: the answer is set on the context
 * and Koa sends it, so that the host's own middleware keeps working.
 */
import type { Readable } from 'node:stream';
import type { GatewayHandler, GatewayResponse, ReplyBody } from '../src/http.ts';
import { cutOff, type HostRequest, type HostResponse, isGone, type ParsedBody } from './host.ts';
import {
  type AdapterOptions,
  type AdapterState,
  adapterState,
  adaptRequest,
  checkMount,
  discard,
  headersFor,
  mountedPath,
} from './record.ts';

export type { HostRequest, HostResponse } from './host.ts';
export type { AdapterOptions } from './record.ts';

/** What the adapter needs of Koa's context, without Koa's types: a host may have either version. */
export interface KoaContext {
  readonly req: HostRequest;
  readonly res: HostResponse;
  readonly request: { readonly method: string } & ParsedBody;
  readonly originalUrl: string;
  status: number;
  body: unknown;
  set(headers: { [name: string]: string }): void;
  onerror(this: KoaContext, error: unknown): void;
}

/** A middleware as `app.use`, `mount` and `router.all` take it. Its own failures never reject. */
export type KoaHandler = (ctx: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/**
 * Answers the gateway's requests; paths that are not the gateway's, and `OPTIONS`, go to `next`.
 * `koa-mount` needs no options; for the `prefix` of `@koa/router`, which leaves the path as it is,
 * give the same as `basePath`.
 *
 * A streamed answer is sent after the middleware has returned: a logger that awaits `next` sees its
 * beginning, not its end.
 *
 * ```ts
 * app.use(koaAdapter(gateway));   // before the body parser
 * ```
 */
export function koaAdapter(gateway: GatewayHandler, options: AdapterOptions = {}): KoaHandler {
  checkMount('koaAdapter', gateway, options);
  const state = adapterState();
  const quietHangUps = hangUpsQuieted();
  return async (ctx, next) => {
    const { req, res } = ctx;
    // `ctx.path` would hide an absolute-form target; koa-mount strips `req.url` just the same.
    const path = mountedPath(req.url ?? '', ctx.originalUrl, options);
    if (req.method === 'OPTIONS' || !gateway.owns(path)) {
      await next();
      return;
    }
    quietHangUps(ctx);
    try {
      const visit = adaptRequest(req, res, path, ctx.request, state);
      const reply = await gateway.handle(visit.request);
      visit.isAnswered = true;
      setReply(ctx, reply, state);
    } catch {
      // Only a context the host has wrapped can have thrown; the caller is not left waiting for it.
      cutOff(res);
    }
  };
}

function setReply(ctx: KoaContext, reply: GatewayResponse, state: AdapterState): void {
  const { status, headers, body } = reply;
  if (isGone(ctx.res) || ctx.res.headersSent) return discard(reply);
  state.lingering.expectReply(ctx.req, ctx.res);
  ctx.status = status;
  ctx.set(headersFor(ctx.res, headers));
  // Behind the headers, so that Koa need not guess a type.
  ctx.body = 'sendTo' in body ? streamOf(ctx, body) : bufferOf(body);
}

/** Koa takes other bytes for an object to write as JSON. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function streamOf(ctx: KoaContext, body: ReplyBody): Readable {
  const stream = body.readable();
  // A reply that breaks off must not look whole: Koa 2 leaves the caller waiting there, and
  // koa-compress does in either version.
  stream.once('close', () => {
    if (!stream.readableEnded) cutOff(ctx.res);
  });
  ctx.res.once('close', () => stream.destroy());
  return stream;
}

/**
 * Koa would report a caller whose connection breaks as an error of the app, and Koa 3 every stream
 * that ends early, by its caller or by its upstream. The gateway's own events tell of both.
 *
 * One function serves all contexts of an app: where each had a closure of its own, V8 kept whole
 * calls from its young collector: a fifth of a call's time or more (docs/performance.md).
 */
function hangUpsQuieted(): (ctx: KoaContext) => void {
  let known: KoaContext['onerror'] | undefined;
  let quieted: KoaContext['onerror'] | undefined;
  return (ctx) => {
    if (quieted === undefined || ctx.onerror !== known) {
      known = ctx.onerror;
      quieted = swallowErrors(known);
    }
    ctx.onerror = quieted;
  };
}

function swallowErrors(report: KoaContext['onerror']): KoaContext['onerror'] {
  return function quiet(this: KoaContext, error) {
    if (!isPrematureClose(error) && !isOfCaller(error, this)) report.call(this, error);
  };
}

function isPrematureClose(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE';
}

/**
 * The very error of the caller's socket, unless the response was destroyed with it from our side:
 * an `ECONNRESET` of anybody else is the app's to hear. Where Node's parser could not read what the
 * connection brought, in this request or in one behind it, the socket breaks with that error, or
 * with another one that came of the attempt to answer it.
 */
function isOfCaller(error: unknown, { req, res }: KoaContext): boolean {
  if (!(error instanceof Error) || error === res.errored) return false;
  const { socket } = req;
  return error === socket.errored || (isOfParser(error) && socket.destroyed);
}

function isOfParser(error: Error): boolean {
  return 'bytesParsed' in error && 'code' in error && String(error.code).startsWith('HPE_');
}
