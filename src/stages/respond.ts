/** Builds responses: the headers that each of them has, and errors in the caller's dialect. */
import { randomUUID } from 'node:crypto';
import type { Framing } from '../apis.ts';
import { maxUnpacedBytes, piecesOf, type ReplyPieces } from '../bytes/body/paced-reply.ts';
import { type ErrorCode, type GatewayError, isGatewayError, statusOf } from '../errors.ts';
import { type FailureReason, failureReasonOf } from '../failure-reasons.ts';
import type {
  GatewayRequest,
  GatewayResponse,
  HeaderMap,
  IncomingHeaders,
  ReplyBody,
} from '../http.ts';
import type { JsonObject } from '../json.ts';
import type { Settings } from '../options.ts';
import { azureKeyHeader } from '../protocols/callers/openai.ts';
import type { Caller } from '../protocols/protocol.ts';
import { isLikeOwnSecret } from '../secret.ts';
import type { RateLevels } from './rates/applied-limits.ts';
import type { CallEnd } from './settle/settlement.ts';

export interface ResponseContext {
  readonly requestId: string;
  /** Headers that may carry a key: no shared cache may give one key's response to another. */
  readonly vary: string;
  /** Another header in which the caller's clients look for the request's id, once it is known. */
  requestIdHeader: string | undefined;
  /** Set once a rate limit was checked; every response from then on has its headers. */
  rates: RateLevels | undefined;
}

const callerRequestId = /^[A-Za-z0-9_-]{8,64}$/;

/** A caller's own request id is used if it is legal: it appears in headers and records. */
export function responseContextFor(
  { headers }: Pick<GatewayRequest, 'headers'>,
  { ids }: Pick<Settings, 'ids'>,
  vary: string,
): ResponseContext {
  const requestedId = headers['x-request-id'];
  const requestId =
    typeof requestedId === 'string' &&
    callerRequestId.test(requestedId) &&
    !isLikeOwnSecret(requestedId) &&
    !isInKey(requestedId, headers, vary)
      ? requestedId
      : newId(ids);
  return { requestId, vary, requestIdHeader: undefined, rates: undefined };
}

/** True for an id that is part of the caller's key, which no record may contain. */
function isInKey(id: string, headers: IncomingHeaders, keyHeaders: string): boolean {
  return [...keyHeaders.split(', '), azureKeyHeader, 'cookie'].some((name) =>
    String(headers[name] ?? '').includes(id),
  );
}

/** A new id. The host's function may throw; responses and records need an id even then. */
export function newId(ids: () => string): string {
  try {
    return ids();
  } catch {
    return randomUUID();
  }
}

const contentTypes: Readonly<Record<Framing, string>> = {
  json: 'application/json',
  json_array: 'application/json',
  sse: 'text/event-stream; charset=utf-8',
};

/** Those of a stream tell proxies and compressors to pass it on unbuffered. */
export function replyHeaders(
  { requestId, vary, requestIdHeader, rates }: ResponseContext,
  framing: Framing,
): Record<string, string> {
  const headers: Record<string, string> =
    framing === 'json'
      ? {
          'content-type': contentTypes.json,
          'cache-control': 'no-store',
          'x-request-id': requestId,
          vary,
          'x-content-type-options': 'nosniff',
        }
      : {
          'content-type': contentTypes[framing],
          'cache-control': 'no-cache, no-transform',
          'x-accel-buffering': 'no',
          'x-request-id': requestId,
          vary,
          'x-content-type-options': 'nosniff',
        };
  if (requestIdHeader !== undefined) headers[requestIdHeader] = requestId;
  return rates === undefined ? headers : Object.assign(headers, rates.headers);
}

/** A reply in one piece; also a stream that is known as a whole from the start. */
export function wholeReply(
  context: ResponseContext,
  body: Uint8Array,
  framing: Framing,
  notes: HeaderMap,
): GatewayResponse {
  const length = { 'content-length': String(body.length) };
  const headers = Object.assign(replyHeaders(context, framing), length, notes);
  return { status: 200, headers, body };
}

/** Small replies are written at once, which costs less, and fit into a connection's buffers. */
export function paced(
  response: GatewayResponse,
  bodyFor: (pieces: ReplyPieces) => ReplyBody,
): GatewayResponse {
  const { body } = response;
  if ('sendTo' in body || body.length <= maxUnpacedBytes) return response;
  return { ...response, body: bodyFor(piecesOf(body)) };
}

export function jsonReply(context: ResponseContext, document: JsonObject): GatewayResponse {
  return wholeReply(context, Buffer.from(JSON.stringify(document)), 'json', {});
}

export function optionsResponse(context: ResponseContext, allow: string): GatewayResponse {
  const { requestId, vary } = context;
  return {
    status: 204,
    headers: { allow, 'x-request-id': requestId, vary },
    body: new Uint8Array(0),
  };
}

/** `isBoughtOnce`: sending the call again would buy it again. */
export function errorResponse(
  context: ResponseContext,
  error: GatewayError,
  caller: Caller,
  isBoughtOnce: boolean,
): GatewayResponse {
  const body = caller.errors.body(error, context.requestId);
  const status = statusFor(error, caller);
  return {
    status,
    headers: {
      ...replyHeaders(context, 'json'),
      'content-length': String(body.length),
      ...waitHeaders(error),
      ...repeatHeaders(error),
      ...(error.allow === undefined ? {} : { allow: error.allow }),
      ...(mustNotRetry(error, status, isBoughtOnce) ? { 'x-should-retry': 'false' } : {}),
      ...(endsConnection(error) ? { connection: 'close' } : {}),
    },
    body,
  };
}

function statusFor(error: GatewayError, caller: Caller): number {
  return caller.statusOf?.(error) ?? statusOf[error.code];
}

/** Logs use the status 499 for a caller that disconnected. */
export function answerOf(
  error: GatewayError,
  reason: FailureReason,
  caller: Caller,
): Pick<CallEnd, 'status' | 'code' | 'param' | 'reason'> {
  if (reason === 'caller_left') return { status: 499, reason };
  return { status: statusFor(error, caller), code: error.code, param: error.param, reason };
}

/** The same for anything that was thrown. Whatever is no GatewayError is an `internal_error`. */
export function answerToThrown(
  thrown: unknown,
  caller: Caller,
): Pick<CallEnd, 'status' | 'code' | 'param' | 'reason'> {
  const code = 'internal_error';
  if (!isGatewayError(thrown)) return { status: statusOf[code], code, reason: code };
  return answerOf(thrown, thrown.reason ?? failureReasonOf(thrown.code), caller);
}

/** A caller that sent the next call on the same connection would see it reset. */
export function lastOnConnection(response: GatewayResponse): GatewayResponse {
  return { ...response, headers: { ...response.headers, connection: 'close' } };
}

/** The connection is closed: otherwise the rest of the body would have to be read. */
const midBodyReasons: ReadonlySet<string | undefined> = new Set(['byte_budget', 'body_timeout']);

function endsConnection({ code, reason }: GatewayError): boolean {
  return code === 'body_too_large' || code === 'draining' || midBodyReasons.has(reason);
}

/** SDKs obey a wait up to this long. Instead of a longer one they wait only a second or two. */
const maxObeyedWaitMs = 60_000;
const beforeUpstream: ReadonlySet<ErrorCode> = new Set([
  'no_channel',
  'overloaded',
  'store_unavailable',
]);

/** An SDK that retries an image buys a second one, unless the first certainly was not made. */
function mustNotRetry(error: GatewayError, status: number, isBoughtOnce: boolean): boolean {
  const { code, retryAfterMs = 0, shouldRetry } = error;
  if (status === 401 || status === 403 || shouldRetry === false) return true;
  if (retryAfterMs > maxObeyedWaitMs) return true;
  return isBoughtOnce && status >= 500 && shouldRetry !== true && !beforeUpstream.has(code);
}

function repeatHeaders({ originalRequestId }: GatewayError): HeaderMap {
  if (originalRequestId === undefined) return {};
  return { 'original-request': originalRequestId, 'x-should-retry': 'false' };
}

function waitHeaders({ retryAfterMs }: GatewayError): HeaderMap {
  if (retryAfterMs === undefined) return {};
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return { 'retry-after': String(seconds), 'retry-after-ms': String(Math.ceil(retryAfterMs)) };
}
