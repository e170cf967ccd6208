/**
 * Mounts a gateway in Koa 2 and 3 as a middleware: the reply is set on the context and sent by Koa,
 * so that the host's other middleware keeps working.
 */
import type { Readable } from 'node:stream';
import { cutOff } from '../src/host/streams.ts';
import type { GatewayHandler, GatewayResponse, ReplyBody } from '../src/http.ts';
import { type HostRequest, type HostResponse, isGone, memberOf, type ParsedBody } from './host.ts';
import {
  type AdapterOptions,
  type AdapterState,
  adapterState,
  adaptRequest,
  checkMount,
  discard,
  headersFor,
  isBelowPrefix,
  mountedPath,
  notePreflight,
} from './record.ts';

export type { HostRequest, HostResponse } from './host.ts';
export type { AdapterOptions } from './record.ts';

/**
 * The parts of Koa's context that the adapter uses. Declared without Koa's types, because a host
 * may have either version.
 */
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

/** A middleware for `app.use`, `mount` and `router.all`. Never rejects for its own failures. */
export type KoaHandler = (ctx: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/**
 * Answers the gateway's requests; other paths, and `OPTIONS`, go to `next`. `koa-mount` needs no
 * options. For the `prefix` of `@koa/router`, which does not change the path, set `basePath` to the
 * same value.
 *
 * A streamed reply, or a whole one above 64 KiB, is sent after the middleware has returned: a
 * logger that awaits `next` sees its beginning, not its end.
 *
 * ```ts
 * app.use(koaAdapter(gateway));   // before the body parser
 * ```
 */
export function koaAdapter(gateway: GatewayHandler, options: AdapterOptions = {}): KoaHandler {
  checkMount('koaAdapter', gateway, options);
  const state = adapterState();
  const ignoreDisconnects = disconnectFilter();
  return async (ctx, next) => {
    const { req, res } = ctx;
    // Not `ctx.path`, which hides an absolute-form target; koa-mount also strips `req.url`.
    const path = mountedPath(req.url ?? '', ctx.originalUrl, options);
    const isOwn = gateway.owns(path, req.method, isBelowPrefix(path, ctx.originalUrl));
    if (req.method === 'OPTIONS') notePreflight(gateway, state, path, req, res);
    if (req.method === 'OPTIONS' || !isOwn) {
      await next();
      return;
    }
    ignoreDisconnects(ctx);
    try {
      const adapted = adaptRequest(req, res, path, ctx.request, state, ctx.originalUrl);
      const reply = await gateway.handle(adapted.request);
      adapted.isAnswered = true;
      setReply(ctx, reply, state);
    } catch {
      // Only a context wrapped by the host can throw here. The connection is closed, so that the
      // caller does not wait.
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
  // After the headers, so that Koa does not guess a content type.
  ctx.body = 'sendTo' in body ? streamOf(ctx, body) : bufferOf(body);
}

/** A Buffer, because Koa would serialise other byte arrays as JSON. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function streamOf(ctx: KoaContext, body: ReplyBody): Readable {
  const stream = body.readable();
  // A failed reply must not look complete: Koa 2 would leave the caller waiting, and koa-compress
  // does so in both versions.
  stream.once('close', () => {
    if (!stream.readableEnded) cutOff(ctx.res);
  });
  ctx.res.once('close', () => stream.destroy());
  return stream;
}

/**
 * Koa reports a caller's disconnect as an error of the app, and Koa 3 any stream that ends early.
 * The gateway's own events already report both.
 *
 * One function serves all contexts of an app: with one closure for each, V8 kept whole calls out of
 * its young-generation collector, which took a fifth of a call's time or more
 * (docs/internals/performance.md).
 */
function disconnectFilter(): (ctx: KoaContext) => void {
  let original: KoaContext['onerror'] | undefined;
  let filtered: KoaContext['onerror'] | undefined;
  return (ctx) => {
    if (filtered === undefined || ctx.onerror !== original) {
      original = ctx.onerror;
      filtered = swallowErrors(original);
    }
    ctx.onerror = filtered;
  };
}

function swallowErrors(report: KoaContext['onerror']): KoaContext['onerror'] {
  return function quiet(this: KoaContext, error) {
    if (!isPrematureClose(error) && !isCallerDisconnect(error, this)) report.call(this, error);
  };
}

function isPrematureClose(error: unknown): boolean {
  return memberOf(error, 'code') === 'ERR_STREAM_PREMATURE_CLOSE';
}

/**
 * Whether the error is that of the caller's socket, and not one with which the response was
 * destroyed on this side: an `ECONNRESET` from elsewhere is for the app to handle. If Node's parser
 * fails on this or a later request, the socket fails with that error, or with one from the attempt
 * to answer it.
 */
function isCallerDisconnect(error: unknown, { req, res }: KoaContext): boolean {
  if (error === undefined || error === null || error === res.errored) return false;
  const { socket } = req;
  return error === socket.errored || (isParserError(error) && socket.destroyed);
}

function isParserError(error: unknown): boolean {
  const code = memberOf(error, 'code');
  return memberOf(error, 'bytesParsed') !== undefined && String(code).startsWith('HPE_');
}
