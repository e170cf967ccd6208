/**
 * Glue to Koa 2 and 3, by Koa's own means, so that the host's middleware keeps working: status, headers
 * and body are set on the context, and Koa sends them.
 */
import type { Readable } from 'node:stream';
import type { GatewayHandler } from '../src/http.ts';
import {
  type AdapterOptions,
  isOurs,
  mountedPath,
  type NodeRequest,
  type NodeResponse,
  requestOf,
} from './node.ts';
import { bodyOf, warnOnce } from './parsed-body.ts';

/** A context as Koa gives it, with what koa-mount and the body parsers add. */
export interface KoaContext {
  readonly req: NodeRequest;
  readonly res: NodeResponse;
  readonly request: object;
  readonly method: string;
  readonly path: string;
  readonly querystring: string;
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
  get(name: string): string;
  onerror: (error: Error) => void;
}

/** A middleware for `app.use`, `mount` and `router.use`. */
export type KoaHandler = (ctx: KoaContext, next: () => Promise<unknown>) => Promise<void>;

/** Mounts a gateway: `app.use(koaAdapter(gateway))`, at any path, before or after body parsers. */
export function koaAdapter(gateway: GatewayHandler, options: AdapterOptions = {}): KoaHandler {
  const warn = warnOnce();
  return async (ctx, next) => {
    const mount = String(Reflect.get(ctx, 'mountPath') ?? '');
    const path = mountedPath(ctx.path, mount, options);
    if (!isOurs(gateway, ctx.method, path)) {
      await next();
      return;
    }
    const parsed = {
      rawBody: Reflect.get(ctx.request, 'rawBody'),
      body: Reflect.get(ctx.request, 'body'),
    };
    const body = bodyOf(ctx.req, parsed, warn);
    const response = await gateway.handle(
      requestOf(ctx.req, ctx.res, { path, search: ctx.querystring, body }),
    );
    ctx.status = response.status;
    setHeaders(ctx, response.headers);
    ctx.body = ArrayBuffer.isView(response.body)
      ? Buffer.from(response.body.buffer, response.body.byteOffset, response.body.byteLength)
      : streamed(ctx, response.body.readable());
  };
}

function setHeaders(ctx: KoaContext, { connection, ...headers }: Readonly<Record<string, string>>) {
  const vary = ctx.res.getHeader('vary');
  ctx.set(vary === undefined ? headers : { ...headers, vary: `${String(vary)}, ${headers.vary}` });
  // HTTP/2 knows no such header, and Node throws at it.
  if (connection !== undefined && ctx.req.httpVersionMajor < 2) ctx.set({ connection });
}

function streamed(ctx: KoaContext, stream: Readable): Readable {
  const report = ctx.onerror.bind(ctx);
  // Koa 3 reports every caller that hangs up as an error of the app; it is none.
  ctx.onerror = (error) => {
    if (error === null || Reflect.get(error, 'code') !== 'ERR_STREAM_PREMATURE_CLOSE')
      report(error);
  };
  // A reply that breaks off must not look whole: Koa 2 would leave the response open.
  stream.once('close', () => {
    if (!stream.readableEnded) ctx.res.destroy();
  });
  return stream;
}
