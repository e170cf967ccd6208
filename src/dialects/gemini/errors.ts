/**
 * Errors in Google's words: `google.rpc.Status` as JSON, and what Gemini upstreams say (WIRE §6.2).
 */
import { jsonText } from '../../canonical/raw-json.ts';
import { type ErrorCode, type GatewayError, statusOf } from '../../errors.ts';
import { items, type JsonValue, member, parseJson } from '../../json.ts';
import { failureStatus } from '../failure-status.ts';
import { durationMs } from '../retry-after.ts';
import type { FailureReport } from '../tap.ts';

/** The RPC name of each of our codes; Google's SDKs drop the message of an error without one. */
const rpcNames: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'INVALID_ARGUMENT',
  not_portable: 'INVALID_ARGUMENT',
  invalid_key: 'UNAUTHENTICATED',
  insufficient_quota: 'PERMISSION_DENIED',
  model_not_allowed: 'PERMISSION_DENIED',
  route_not_found: 'NOT_FOUND',
  model_not_found: 'NOT_FOUND',
  method_not_allowed: 'INVALID_ARGUMENT',
  body_too_large: 'INVALID_ARGUMENT',
  unsupported_media_type: 'INVALID_ARGUMENT',
  idempotency_in_progress: 'ABORTED',
  result_expired: 'ABORTED',
  idempotency_mismatch: 'INVALID_ARGUMENT',
  rate_limited: 'RESOURCE_EXHAUSTED',
  upstream_rate_limited: 'RESOURCE_EXHAUSTED',
  internal_error: 'INTERNAL',
  not_implemented: 'UNIMPLEMENTED',
  upstream_failed: 'UNAVAILABLE',
  no_channel: 'UNAVAILABLE',
  store_unavailable: 'UNAVAILABLE',
  overloaded: 'UNAVAILABLE',
  draining: 'UNAVAILABLE',
  upstream_timeout: 'DEADLINE_EXCEEDED',
};

/**
 * Google's error document as text. A wait comes as `RetryInfo` too, where Google's clients look.
 */
export function geminiErrorText(error: GatewayError): string {
  const retry =
    error.retryAfterMs === undefined
      ? {}
      : {
          details: [
            {
              '@type': 'type.googleapis.com/google.rpc.RetryInfo',
              retryDelay: `${Math.ceil(error.retryAfterMs / 1_000)}s`,
            },
          ],
        };
  const code = statusOf[error.code];
  return jsonText({
    error: { code, message: namedMessage(error), status: rpcNames[error.code], ...retry },
  });
}

/** Google's form has no place for the member that is complained of but the message. */
function namedMessage({ message, param }: GatewayError): string {
  return param === undefined || message.includes(param) ? message : `\`${param}\`: ${message}`;
}

/**
 * Reads `{error:{…}}` and the `[{error:{…}}]` that array streams and the compatible endpoint send.
 */
export function geminiFailure(status: number, body: Uint8Array): FailureReport {
  const parsed = parseJson(Buffer.from(body).toString('utf8'));
  const report = failureIn(Array.isArray(parsed) ? items(parsed)[0] : parsed, status);
  return { ...report, status };
}

/** An error inside a 2xx document or event, or undefined where it holds none. */
export function geminiInBandFailure(document: JsonValue): FailureReport | undefined {
  const first = Array.isArray(document) ? (items(document)[0] ?? null) : document;
  return member(first, 'error') ? failureIn(first, 502) : undefined;
}

/** Google refuses a file as it does an account: 403 where it is another's, 400 before it is up. */
const ofFile = /\bFiles?\b|\bfiles\/|\bcachedContents?\b/;

function failureIn(document: JsonValue | undefined, fallback: number): FailureReport {
  const error = member(document, 'error');
  const details = items(member(error, 'details'));
  const reason = details.map((detail) => text(member(detail, 'reason'))).find(Boolean);
  const rpcName = text(member(error, 'status'));
  const message = text(error) ?? text(member(error, 'message'));
  const isOfFile = ofFile.test(message ?? '');
  return {
    status: failureStatus(member(error, 'code')) ?? fallback,
    message,
    code: reason ?? rpcName,
    param: isOfFile ? 'fileData' : undefined,
    retryAfterMs: details.map((detail) => durationMs(member(detail, 'retryDelay'))).find(Boolean),
    // The region, the billing or the key of the account: nothing the caller could mend.
    accountFault:
      reason === 'API_KEY_INVALID'
        ? 'credential'
        : rpcName === 'FAILED_PRECONDITION' && !isOfFile
          ? 'account'
          : undefined,
  };
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
