/**
 * Errors in Anthropic's format, `{"type":"error","error":{"type","message"}}`: writes those of the
 * gateway, and reads those of Anthropic upstreams from the body of an error response or from an
 * event in a stream.
 */
import { parseBounded } from '../../bounded-json.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import type { ErrorCode, GatewayError } from '../../errors.ts';
import { isJsonObject, type JsonValue, member, nonEmpty } from '../../json.ts';
import { bareMessage, meaningOf } from '../failure-meaning.ts';
import { namedMessage } from '../named-message.ts';
import type { FailureReport } from '../taps/tap.ts';

const errorTypes: Readonly<Record<ErrorCode, string>> = {
  invalid_request: 'invalid_request_error',
  not_portable: 'invalid_request_error',
  too_complex: 'invalid_request_error',
  refused_by_policy: 'invalid_request_error',
  invalid_key: 'authentication_error',
  insufficient_quota: 'permission_error',
  model_not_allowed: 'permission_error',
  route_not_found: 'not_found_error',
  model_not_found: 'not_found_error',
  item_not_found: 'not_found_error',
  response_not_found: 'not_found_error',
  previous_response_not_found: 'invalid_request_error',
  method_not_allowed: 'invalid_request_error',
  body_too_large: 'request_too_large',
  unsupported_media_type: 'invalid_request_error',
  idempotency_in_progress: 'conflict_error',
  result_expired: 'conflict_error',
  idempotency_mismatch: 'invalid_request_error',
  rate_limited: 'rate_limit_error',
  upstream_rate_limited: 'rate_limit_error',
  internal_error: 'api_error',
  not_implemented: 'invalid_request_error',
  upstream_failed: 'api_error',
  no_channel: 'overloaded_error',
  upstream_overloaded: 'overloaded_error',
  store_unavailable: 'overloaded_error',
  overloaded: 'overloaded_error',
  draining: 'overloaded_error',
  upstream_timeout: 'timeout_error',
};

/** The codes that `details.error_code` tells apart, because they share one error type. */
const detailedCodes: ReadonlySet<ErrorCode> = new Set(['insufficient_quota', 'model_not_allowed']);

/** Clients need both `type` members; the SDK reads a finer code from `details.error_code`. */
export function anthropicErrorText(error: GatewayError, requestId: string): string {
  const errorCode = errorCodeOf(error);
  return jsonText({
    type: 'error',
    error: {
      type: errorTypes[error.code],
      message: namedMessage(error),
      ...(errorCode === undefined ? {} : { details: { error_code: errorCode } }),
    },
    request_id: requestId,
  });
}

/** The SDK's tool runner goes on without a thread if the error for `thread` has this code. */
function errorCodeOf({ code, clientCode, param }: GatewayError): string | undefined {
  if (param === 'thread') return 'thread_unsupported_request';
  return clientCode ?? (detailedCodes.has(code) ? code : undefined);
}

/** Anthropic's status of each type, since an error in a stream has no other status. */
const statuses: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

/**
 * Matches the message of an account without credit or of a disabled one, which Anthropic reports as
 * a bad request. Text after a quotation mark may quote the caller and isn't matched. A proxy may
 * have added a short prefix.
 */
const accountWords = /^[^'"`“‘]{0,60}(?:credit balance is too low|organization has been disabled)/i;

export function anthropicFailure(status: number, body: Uint8Array): FailureReport {
  return failureIn(parseBounded(Buffer.from(body).toString('utf8')), status);
}

export function anthropicInBandFailure(document: JsonValue): FailureReport | undefined {
  const type = member(document, 'type');
  const isFailure = type === 'error' || Boolean(member(document, 'error'));
  // An error message from a proxy: every reply and event of Anthropic has a `type`.
  const isBare = type === undefined && bareMessage(document) !== undefined;
  return isFailure || isBare ? failureIn(document, undefined) : undefined;
}

/** `status` is the HTTP status; undefined for an error inside a successful reply. */
function failureIn(document: JsonValue | undefined, status: number | undefined): FailureReport {
  const error = member(document, 'error');
  const source = isJsonObject(error) ? error : document;
  const type = nonEmpty(member(source, 'type'));
  const message = nonEmpty(error) ?? nonEmpty(member(source, 'message')) ?? bareMessage(document);
  const named = status ?? statuses.get(type ?? '');
  const { fault, clientCode } = meaningOf({ status: named, message, codes: [type] });
  return {
    status: named ?? (fault === 'request' ? 400 : 502),
    message,
    code: type,
    param: undefined,
    retryAfterMs: undefined,
    fault: accountFaultOf(type, message) ?? fault,
    clientCode: clientCode ?? nonEmpty(member(member(source, 'details'), 'error_code')),
  };
}

function accountFaultOf(type: string = '', message: string = ''): FailureReport['fault'] {
  if (type === 'authentication_error') return 'credential';
  return type === 'billing_error' || accountWords.test(message) ? 'account' : undefined;
}
