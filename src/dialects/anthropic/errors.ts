/**
 * What Anthropic upstreams say of a failure: `{"type":"error","error":{"type","message"}}`, as the
 * body of a refusal and as an event in a stream.
 */
import { isJsonObject, type JsonValue, member, parseJson } from '../../json.ts';
import type { FailureReport } from '../tap.ts';

/** The HTTP status that Anthropic sends with each of its types; in-band there is no other. */
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

/** Types that blame the account, not the request. */
const accountTypes: ReadonlySet<string> = new Set(['billing_error', 'permission_error']);

/** An account without money, or one that was closed, is told as a bad request. */
const accountWords = /credit balance is too low|organization has been disabled/i;

/** Reads the body of a refusal. */
export function anthropicFailure(status: number, body: Uint8Array): FailureReport {
  const report = failureIn(parseJson(Buffer.from(body).toString('utf8')));
  return { ...report, status };
}

/** An error inside a 2xx document or event, or undefined where it holds none. */
export function anthropicInBandFailure(document: JsonValue): FailureReport | undefined {
  const isFailure = member(document, 'type') === 'error' || Boolean(member(document, 'error'));
  return isFailure ? failureIn(document) : undefined;
}

function failureIn(document: JsonValue | undefined): FailureReport {
  const error = member(document, 'error');
  const source = isJsonObject(error) ? error : document;
  const type = text(member(source, 'type'));
  const message = text(error) ?? text(member(source, 'message'));
  return {
    status: statuses.get(type ?? '') ?? 502,
    message,
    code: type,
    param: undefined,
    retryAfterMs: undefined,
    accountFault: accountFaultOf(type, message),
  };
}

function accountFaultOf(type: string = '', message: string = ''): FailureReport['accountFault'] {
  if (type === 'authentication_error') return 'credential';
  return accountTypes.has(type) || accountWords.test(message) ? 'account' : undefined;
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
