/**
 * Mounts a gateway in Express 4 and 5, and gives the failures of a body parser that ran before it
 * the gateway's own words.
 */
import type { ErrorCode } from '../src/errors.ts';
import type { GatewayHandler } from '../src/http.ts';
import { type HostRequest, type HostResponse, ignoreErrors, memberOf } from './host.ts';
import { nodeAdapter } from './node.ts';
import { type AdapterOptions, adapterState, checkMount, mountedPath, sendReply } from './record.ts';

export type { HostRequest, HostResponse } from './host.ts';
export type { AdapterOptions } from './record.ts';

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
  checkMount('expressAdapter', gateway, options);
  return nodeAdapter(gateway, options);
}

/**
 * Answers in the caller's dialect what a body parser, or whatever else of the host ran before the
 * gateway, refused with a 4xx on one of the gateway's paths; Express would send a page of HTML.
 * Every other error goes on to the host. Mount it where the adapter is mounted, after both.
 *
 * ```ts
 * app.use('/llm', express.json(), expressAdapter(gateway), expressErrorHandler(gateway));
 * ```
 */
export function expressErrorHandler(
  gateway: GatewayHandler,
  options: AdapterOptions = {},
): ExpressErrorHandler {
  checkMount('expressErrorHandler', gateway, options);
  const state = adapterState();
  return (error, req, res, next) => {
    const refusal = refusalOf(error);
    const url = req.url ?? '';
    const path = mountedPath(url, req.originalUrl ?? url, options);
    if (refusal === undefined || res.headersSent || !gateway.owns(path)) return next(error);

    ignoreErrors(req);
    ignoreErrors(res);
    const request = { method: req.method ?? 'GET', path, headers: req.headers };
    sendReply(req, res, gateway.refuse(request, ...refusal), state);
  };
}

type Refusal = readonly [ErrorCode, string];

const tooLarge: Refusal = ['body_too_large', 'The request body is too large; send a smaller one.'];
const notOurType: Refusal = [
  'unsupported_media_type',
  'Send the request body as application/json in UTF-8.',
];
const unreadable: Refusal = [
  'invalid_request',
  'The request could not be read; check its headers and its body.',
];

/** The `type` of body-parser's errors, of those for which there is more to say than the status. */
const refusals: ReadonlyMap<unknown, Refusal> = new Map<unknown, Refusal>([
  ['entity.too.large', tooLarge],
  ['entity.parse.failed', ['invalid_request', 'The request body is not valid JSON.']],
  [
    'encoding.unsupported',
    ['unsupported_media_type', 'Send the request body without that content-encoding.'],
  ],
  ['charset.unsupported', notOurType],
  ['request.aborted', ['invalid_request', 'The request body ended before it was complete.']],
]);

/** In fixed words: the error's own may quote the body. */
function refusalOf(error: unknown): Refusal | undefined {
  const known = refusals.get(memberOf(error, 'type'));
  if (known !== undefined) return known;

  const status = memberOf(error, 'status') ?? memberOf(error, 'statusCode');
  // Only what a parser says of a body: a host's own 401 or 429 keeps its meaning.
  switch (status) {
    case 400:
    case 422:
      return unreadable;
    case 413:
      return tooLarge;
    case 415:
      return notOurType;
    default:
      return isVerdict(error) ? unreadable : undefined;
  }
}

/** What the host's own `verify` of a body-parser said, a 403 by default. */
function isVerdict(error: unknown): boolean {
  return memberOf(error, 'type') === 'entity.verify.failed';
}
