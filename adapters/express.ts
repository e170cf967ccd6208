/**
 * Mounts a gateway in Express 4 and 5, and answers failures of an earlier body parser in the
 * gateway's error format.
 */
import type { GatewayHandler } from '../src/http.ts';
import { type HostRequest, type HostResponse, memberOf } from './host.ts';
import { nodeAdapter } from './node.ts';
import {
  type AdapterOptions,
  adapterState,
  answerRefused,
  checkMount,
  mountedPath,
  type Refusal,
} from './record.ts';

export type { HostRequest, HostResponse } from './host.ts';
export type { AdapterOptions } from './record.ts';

type Next = (error?: unknown) => void;

/**
 * A middleware for `app.use`. Declared without Express's types, because a host may have either
 * version.
 */
export type ExpressHandler = (req: HostRequest, res: HostResponse, next: Next) => void;

/** An error-handling middleware for `app.use`. */
export type ExpressErrorHandler = (
  error: unknown,
  req: HostRequest,
  res: HostResponse,
  next: Next,
) => void;

/**
 * Answers the gateway's requests and passes all others on. Works under any prefix and in nested
 * routers; mounted at `/v1`, it needs a second mount at `/v1beta` for the native (Gemini) API.
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
 * Answers 4xx errors of a body parser, or other middleware that ran before the gateway, in the
 * error format of the caller's API, if the path is the gateway's; Express would send an HTML page.
 * All other errors are passed to the host. Mount it where the adapter is mounted, after both.
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
    if (refusal === undefined || res.headersSent || !gateway.owns(path, req.method))
      return next(error);

    answerRefused(gateway, state, path, req, res, refusal);
  };
}

const tooLarge: Refusal = ['body_too_large', 'The request body is too large. Send a smaller one.'];
const wrongMediaType: Refusal = [
  'unsupported_media_type',
  'Send the request body as application/json in UTF-8.',
];
const unreadable: Refusal = [
  'invalid_request',
  'The request could not be read. Check its headers and its body.',
];

/** The errors of body-parser, by `type`, whose message says more than their status does. */
const refusals: ReadonlyMap<unknown, Refusal> = new Map<unknown, Refusal>([
  ['entity.too.large', tooLarge],
  ['entity.parse.failed', ['invalid_request', 'The request body is not valid JSON.']],
  [
    'encoding.unsupported',
    ['unsupported_media_type', 'Send the request body without this content-encoding.'],
  ],
  ['charset.unsupported', wrongMediaType],
  ['request.aborted', ['invalid_request', 'The request body ended before it was complete.']],
]);

/** A fixed message, because the error's own may quote the body. */
function refusalOf(error: unknown): Refusal | undefined {
  const known = refusals.get(memberOf(error, 'type'));
  if (known !== undefined) return known;

  const status = memberOf(error, 'status') ?? memberOf(error, 'statusCode');
  // Only statuses of body parsers: a host's own 401 or 429 is passed on.
  switch (status) {
    case 400:
    case 422:
      return unreadable;
    case 413:
      return tooLarge;
    case 415:
      return wrongMediaType;
    default:
      // The error of the host's `verify` function for body-parser, a 403 by default.
      return memberOf(error, 'type') === 'entity.verify.failed' ? unreadable : undefined;
  }
}
