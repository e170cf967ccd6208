/**
 * Mounts a gateway in Express 4 and 5, and gives the failures of a body parser that ran before it
 * the gateway's own words.
 */
import type { ErrorCode } from '../src/errors.ts';
import type { GatewayHandler } from '../src/http.ts';
import { nodeAdapter } from './node.ts';
import {
  type AdapterOptions,
  type HostRequest,
  type HostResponse,
  mountedPath,
  sendReply,
} from './record.ts';

type Next = (error?: unknown) => void;

/** A middleware as `app.use` takes it, without Express's types: a host may have either version. */
export type ExpressHandler = (req: HostRequest, res: HostResponse, next: Next) => void;

/** An error-handling middleware as `app.use` takes it. */
export type ExpressErrorHandler = (
  error: unknown,
  req: HostRequest,
  res: HostResponse,
  next: Next,
) => void;

/**
 * Answers the gateway's requests and passes every other on. Works under any prefix and in nested
 * routers; mounted at `/v1`, it needs a second mount at `/v1beta` for the native protocol.
 *
 * ```ts
 * app.use(expressAdapter(gateway));   // before express.json()
 * ```
 */
export function expressAdapter(
  gateway: GatewayHandler,
  options: AdapterOptions = {},
): ExpressHandler {
  return nodeAdapter(gateway, options);
}

/**
 * Answers in the caller's dialect what a body parser of the host refused on one of the gateway's
 * paths; Express would send a page of HTML. Every other error goes on to the host. Mount it where
 * the adapter is mounted, after both.
 *
 * ```ts
 * app.use('/llm', express.json(), expressAdapter(gateway), expressErrorHandler(gateway));
 * ```
 */
export function expressErrorHandler(
  gateway: GatewayHandler,
  options: AdapterOptions = {},
): ExpressErrorHandler {
  return (error, req, res, next) => {
    const refusal = refusals.get(typeOf(error));
    const url = req.url ?? '';
    const path = mountedPath(url, req.originalUrl ?? url, options);
    if (refusal === undefined || res.headersSent || !gateway.owns(path)) return next(error);

    const request = { method: req.method ?? 'GET', path, headers: req.headers };
    sendReply(res, gateway.refuse(request, ...refusal));
  };
}

/** The `type` of body-parser's errors, of those that the caller can mend. */
const refusals: ReadonlyMap<unknown, readonly [ErrorCode, string]> = new Map([
  ['entity.too.large', ['body_too_large', 'The request body is too large; send a smaller one.']],
  ['entity.parse.failed', ['invalid_request', 'The request body is not valid JSON.']],
  [
    'encoding.unsupported',
    ['unsupported_media_type', 'Send the request body without that content-encoding.'],
  ],
  [
    'charset.unsupported',
    ['unsupported_media_type', 'Send the request body as application/json in UTF-8.'],
  ],
  ['request.aborted', ['invalid_request', 'The request body ended before it was complete.']],
] as const);

function typeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'type' in error ? error.type : undefined;
}
