/**
 * Reads the errors of Anthropic upstreams, `{"type":"error","error":{"type","message"}}`, from the
 * body of an error response or from an event in a stream.
 */
import { parseBounded } from '../../bounded-json.ts';
import { isJsonObject, type JsonValue, member } from '../../json.ts';
import { bareMessage, meaningOf } from '../failure-meaning.ts';
import type { FailureReport } from '../tap.ts';

/**
 * The HTTP status that Anthropic sends with each error type. An error in a stream has no other
 * status.
 */
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

/** Reads the body of an error response. */
export function anthropicFailure(status: number, body: Uint8Array): FailureReport {
  return failureIn(parseBounded(Buffer.from(body).toString('utf8')), status);
}

/** The error inside a 2xx document or event, or undefined if it has none. */
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
  const type = text(member(source, 'type'));
  const message = text(error) ?? text(member(source, 'message')) ?? bareMessage(document);
  const named = status ?? statuses.get(type ?? '');
  const { fault, clientCode } = meaningOf({ status: named, message, codes: [type] });
  return {
    status: named ?? (fault === 'request' ? 400 : 502),
    message,
    code: type,
    param: undefined,
    retryAfterMs: undefined,
    fault: accountFaultOf(type, message) ?? fault,
    clientCode,
  };
}

function accountFaultOf(type: string = '', message: string = ''): FailureReport['fault'] {
  if (type === 'authentication_error') return 'credential';
  return type === 'billing_error' || accountWords.test(message) ? 'account' : undefined;
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
