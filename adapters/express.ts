/** Glue to Express 4 and 5, and to connect. */
import type { ErrorCode } from '../src/errors.ts';
import type { GatewayHandler } from '../src/http.ts';
import {
  type AdapterOptions,
  isOurs,
  mountedPath,
  type NodeRequest,
  type NodeResponse,
  serve,
  splitUrl,
  writeResponse,
} from './node.ts';
import { bodyOf, type ParsedBody, warnOnce } from './parsed-body.ts';

/** A request as Express gives it. */
export interface ExpressRequest extends NodeRequest, ParsedBody {
  /** Where the router is mounted. */
  readonly baseUrl?: string;
}

/** A middleware for `app.use` and `router.use`. */
export type ExpressHandler = (
  req: ExpressRequest,
  res: NodeResponse,
  next: (error?: unknown) => void,
) => void;

/** An error-handling middleware: Express tells it by its four parameters. */
export type ExpressErrorHandler = (
  error: unknown,
  req: ExpressRequest,
  res: NodeResponse,
  next: (error?: unknown) => void,
) => void;

/** Mounts a gateway: `app.use(expressAdapter(gateway))`, at any path, before or after body parsers. */
export function expressAdapter(
  gateway: GatewayHandler,
  options: AdapterOptions = {},
): ExpressHandler {
  const warn = warnOnce();
  return (req, res, next) => {
    const { path, search } = splitUrl(req.url);
    const own = mountedPath(path, req.baseUrl ?? '', options);
    if (!isOurs(gateway, req.method, own)) return next();
    void serve(gateway, req, res, { path: own, search, body: bodyOf(req, req, warn) });
  };
}

/** What a body parser says, as our codes and in words a caller can use. */
const parserErrors: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  'entity.too.large': ['body_too_large', 'The request body is too large. Send a smaller one.'],
  'entity.parse.failed': ['invalid_request', 'The request body is not valid JSON.'],
  'encoding.unsupported': [
    'unsupported_media_type',
    'The request body is compressed. Send it without a Content-Encoding.',
  ],
  'charset.unsupported': ['unsupported_media_type', 'The request body must be UTF-8.'],
};

/**
 * Turns the errors of a body parser that ran before the gateway into the dialect of the path; every
 * other error, and every other path, goes on to the host. Mount it behind the parser.
 */
export function expressErrorHandler(
  gateway: GatewayHandler,
  options: AdapterOptions = {},
): ExpressErrorHandler {
  return (error, req, res, next) => {
    const type = typeof error === 'object' && error !== null ? Reflect.get(error, 'type') : '';
    const told = Object.entries(parserErrors).find(([name]) => name === type);
    const path = mountedPath(splitUrl(req.url).path, req.baseUrl ?? '', options);
    if (told === undefined || res.headersSent || !gateway.owns(path)) return next(error);
    const [, [code, message]] = told;
    const { method = 'POST', headers } = req;
    writeResponse(gateway.refuse({ method, path, headers }, code, message), req, res);
  };
}
