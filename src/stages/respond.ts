/** Writes answers: the headers every one of them carries, and refusals in the caller's dialect. */
import { randomUUID } from 'node:crypto';
import type { Framing } from '../call.ts';
import { type ErrorCode, type GatewayError, statusOf } from '../errors.ts';
import type { GatewayRequest, GatewayResponse, HeaderMap } from '../http.ts';
import type { JsonObject } from '../json.ts';
import type { Settings } from '../options.ts';
import type { Caller } from '../protocols/protocol.ts';

/** What every answer of one gateway to one request says. */
export interface AnswerContext {
  readonly requestId: string;
  /** The headers that carry keys: no shared cache may hand one key's answer to another. */
  readonly vary: string;
}

const callerRequestId = /^[A-Za-z0-9_-]{8,64}$/;

/** A caller's own id is taken if it is one; it ends up in headers and records. */
export function answerContext(
  { headers }: Pick<GatewayRequest, 'headers'>,
  { ids }: Pick<Settings, 'ids'>,
  vary: string,
): AnswerContext {
  const asked = headers['x-request-id'];
  const requestId = typeof asked === 'string' && callerRequestId.test(asked) ? asked : freshId(ids);
  return { requestId, vary };
}

/** A host's function may throw, and even that is answered with an id. */
function freshId(ids: () => string): string {
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

/**
 * The headers of a reply in this framing. A stream asks proxies and compressors to let it through.
 */
export function replyHeaders(
  { requestId, vary }: AnswerContext,
  framing: Framing,
): Record<string, string> {
  if (framing === 'json') {
    return {
      'content-type': contentTypes.json,
      'cache-control': 'no-store',
      'x-request-id': requestId,
      vary,
      'x-content-type-options': 'nosniff',
    };
  }
  return {
    'content-type': contentTypes[framing],
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
    'x-request-id': requestId,
    vary,
    'x-content-type-options': 'nosniff',
  };
}

/** A whole reply in one piece; a stream too, where all that it says is known at once. */
export function wholeReply(
  context: AnswerContext,
  body: Uint8Array,
  framing: Framing,
  notes: HeaderMap,
): GatewayResponse {
  const length = { 'content-length': String(body.length) };
  const headers = Object.assign(replyHeaders(context, framing), length, notes);
  return { status: 200, headers, body };
}

/** A document of ours. */
export function jsonReply(context: AnswerContext, document: JsonObject): GatewayResponse {
  return wholeReply(context, Buffer.from(JSON.stringify(document)), 'json', {});
}

/** The answer to OPTIONS where no host is there to give its own. */
export function allowed(context: AnswerContext, allow: string): GatewayResponse {
  const { requestId, vary } = context;
  return {
    status: 204,
    headers: { allow, 'x-request-id': requestId, vary },
    body: new Uint8Array(0),
  };
}

/**
 * A refusal or failure as this caller's clients read it. `isBoughtOnce`: a call that is sent again
 * is bought again.
 */
export function refusal(
  context: AnswerContext,
  error: GatewayError,
  caller: Caller,
  isBoughtOnce: boolean,
): GatewayResponse {
  const body = caller.errors.body(error);
  const status = statusOf[error.code];
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

/** Refusals in the midst of a body: its rest lies before the next request, and nobody reads it. */
const midBodyReasons: ReadonlySet<string | undefined> = new Set(['byte_budget', 'body_timeout']);

function endsConnection({ code, reason }: GatewayError): boolean {
  return code === 'body_too_large' || code === 'draining' || midBodyReasons.has(reason);
}

/** SDKs obey a wait up to this long, and come back after a second or two from a longer one. */
const longestObeyedMs = 60_000;
/** These come before an upstream is asked. */
const beforeUpstream: ReadonlySet<ErrorCode> = new Set([
  'no_channel',
  'overloaded',
  'store_unavailable',
]);

/**
 * What gives no other answer a moment later, and what costs again: an SDK that sends an image once
 * more by itself buys it once more, unless it surely was not made.
 */
function mustNotRetry(error: GatewayError, status: number, isBoughtOnce: boolean): boolean {
  const { code, retryAfterMs = 0, shouldRetry } = error;
  if (status === 401 || status === 403 || shouldRetry === false) return true;
  if (retryAfterMs > longestObeyedMs) return true;
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
