/**
 * Errors in Anthropic's format, `{"type":"error","error":{"type","message"}}`: writes those of the
 * gateway, and reads those of Anthropic upstreams from the body of an error response or from an
 * event in a stream.
 */
import { parseBounded } from '../../bounded-json.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import { type ErrorCode, type GatewayError, namedMessage, statusOf } from '../../errors.ts';
import { isJsonObject, type JsonValue, member, nonEmpty } from '../../json.ts';
import { bareMessage, meaningOf } from '../failure-meaning.ts';
import type { FailureReport } from '../taps/tap.ts';

/** Anthropic's status of each type, since an error in a stream has no other status. */
const statuses: readonly (readonly [type: string, status: number])[] = [
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
];
const statusesByType: ReadonlyMap<string, number> = new Map(statuses);
/** The types of the gateway's statuses; all others are invalid requests. */
const typesByStatus: ReadonlyMap<number, string> = new Map([
  ...statuses.map(([type, status]) => [status, type] as const),
  [409, 'conflict_error'],
  [502, 'api_error'],
  [503, 'overloaded_error'],
]);

/** The codes that `details.error_code` tells apart, because they share one error type. */
const detailedCodes: ReadonlySet<ErrorCode> = new Set(['insufficient_quota', 'model_not_allowed']);

/** Clients need both `type` members; the SDK reads a finer code from `details.error_code`. */
export function anthropicErrorText(error: GatewayError, requestId: string): string {
  const errorCode = errorCodeOf(error);
  return jsonText({
    type: 'error',
    error: {
      type: errorTypeOf(statusOf[error.code]),
      message: namedMessage(error),
      ...(errorCode === undefined ? {} : { details: { error_code: errorCode } }),
    },
    request_id: requestId,
  });
}

export function errorTypeOf(status: number): string {
  return typesByStatus.get(status) ?? 'invalid_request_error';
}

/** The SDK's tool runner goes on without a thread if the error for `thread` has this code. */
function errorCodeOf({ code, clientCode, param }: GatewayError): string | undefined {
  if (param === 'thread') return 'thread_unsupported_request';
  return clientCode ?? (detailedCodes.has(code) ? code : undefined);
}

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
  const named = status ?? statusesByType.get(type ?? '');
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
