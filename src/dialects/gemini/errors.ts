/**
 * Errors in Google's format, `google.rpc.Status` as JSON: writes those of the gateway and reads
 * those of Gemini upstreams.
 */
import { parseBounded } from '../../bounded-json.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import { type GatewayError, namedMessage, statusOf } from '../../errors.ts';
import {
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  nonEmpty,
} from '../../json.ts';
import { bareMessage, failureStatus, meaningOf, namesCallerResource } from '../failure-meaning.ts';
import { statedWaitMs } from '../retry-after.ts';
import type { FailureReport } from '../taps/tap.ts';

/**
 * The names of the gateway's statuses; all others are `INVALID_ARGUMENT`. Google's SDKs drop the
 * message of an error without one.
 */
const rpcNames: ReadonlyMap<number, string> = new Map([
  [401, 'UNAUTHENTICATED'],
  [403, 'PERMISSION_DENIED'],
  [404, 'NOT_FOUND'],
  [409, 'ABORTED'],
  [429, 'RESOURCE_EXHAUSTED'],
  [500, 'INTERNAL'],
  [501, 'UNIMPLEMENTED'],
  [502, 'UNAVAILABLE'],
  [503, 'UNAVAILABLE'],
  [504, 'DEADLINE_EXCEEDED'],
]);

/** A retry delay is also sent as `RetryInfo`, where Google's clients look for it. */
export function geminiErrorText(error: GatewayError): string {
  const details = [...retryInfo(error), ...errorInfo(error)];
  const status = statusOf[error.code];
  return jsonText({
    error: {
      code: status,
      message: namedMessage(error),
      status: rpcNames.get(status) ?? 'INVALID_ARGUMENT',
      ...(details.length === 0 ? {} : { details }),
    },
  });
}

function retryInfo({ retryAfterMs }: GatewayError): readonly JsonObject[] {
  if (retryAfterMs === undefined) return [];
  const retryDelay = `${Math.ceil(retryAfterMs / 1_000)}s`;
  return [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay }];
}

/** `ErrorInfo` is where Google's clients look for a reason more specific than `status`. */
function errorInfo({ clientCode }: GatewayError): readonly JsonObject[] {
  if (clientCode === undefined) return [];
  const reason = clientCode.toUpperCase();
  return [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'tollgate' }];
}

/** Reads `{error:{…}}`, or the list of one from array streams and the OpenAI endpoint. */
export function geminiFailure(status: number, body: Uint8Array): FailureReport {
  const parsed = parseBounded(Buffer.from(body).toString('utf8'));
  return failureIn(Array.isArray(parsed) ? items(parsed)[0] : parsed, status);
}

export function geminiInBandFailure(document: JsonValue): FailureReport | undefined {
  const first = Array.isArray(document) ? (items(document)[0] ?? null) : document;
  if (member(first, 'error')) return failureIn(first, undefined);
  // An error message from a proxy, in a document without any member of a reply.
  const isReply = replyMembers.some((name) => isThere(member(first, name)));
  return isReply || bareMessage(first) === undefined ? undefined : failureIn(first, undefined);
}

/** An empty list doesn't count as a member of a reply. */
function isThere(value: JsonValue | undefined): boolean {
  return value !== undefined && !(Array.isArray(value) && value.length === 0);
}

const contentMembers = ['candidates', 'promptFeedback', 'usageMetadata'] as const;
const replyMembers = [...contentMembers, 'totalTokens'] as const;

/** Whether a document is a reply. `{}` is one, because Google leaves out empty members. */
export function isGeminiReply(reply: JsonValue): boolean {
  const candidates = member(reply, 'candidates');
  if (!isJsonObject(reply) || (candidates !== undefined && !Array.isArray(candidates)))
    return false;
  const isNamed = contentMembers.some((name) => member(reply, name) !== undefined);
  return isNamed || Object.keys(reply).length === 0;
}

/** Reasons of `google.api.ErrorReason` that are the account's fault. */
const accountReasons: ReadonlySet<string> = new Set([
  ...['ACCOUNT_STATE_INVALID', 'API_KEY_ANDROID_APP_BLOCKED', 'API_KEY_HTTP_REFERRER_BLOCKED'],
  ...['API_KEY_IOS_APP_BLOCKED', 'API_KEY_IP_ADDRESS_BLOCKED', 'API_KEY_SERVICE_BLOCKED'],
  ...['BILLING_DISABLED', 'CONSUMER_INVALID', 'CONSUMER_SUSPENDED', 'LOCATION_POLICY_VIOLATED'],
  ...['LOCATION_TAX_POLICY_VIOLATED', 'ORG_RESTRICTION_VIOLATION', 'RESOURCE_PROJECT_INVALID'],
  ...['SECURITY_POLICY_VIOLATED', 'SERVICE_DISABLED', 'USER_PROJECT_DENIED'],
]);
const credentialReasons: ReadonlySet<string> = new Set([
  'ACCESS_TOKEN_EXPIRED',
  'ACCESS_TOKEN_TYPE_UNSUPPORTED',
  'API_KEY_INVALID',
  'CREDENTIALS_MISSING',
]);

/** `status` is the HTTP status; undefined for an error inside a successful reply. */
function failureIn(document: JsonValue | undefined, status: number | undefined): FailureReport {
  const error = member(document, 'error');
  const details = items(member(error, 'details'));
  const reason = details.map((detail) => nonEmpty(member(detail, 'reason'))).find(Boolean);
  const rpcName = nonEmpty(member(error, 'status'));
  const message = nonEmpty(error) ?? nonEmpty(member(error, 'message')) ?? bareMessage(document);
  const code = member(error, 'code') ?? member(document, 'code');
  const named = status ?? failureStatus(code) ?? statusesByName.get(rpcName ?? '');
  const { fault, clientCode } = meaningOf({ status: named, message, codes: [reason] });
  return {
    status: named ?? (fault === 'request' ? 400 : 502),
    message,
    code: reason ?? rpcName,
    param: fault === 'model' ? undefined : memberOf(message),
    retryAfterMs: statedWaitMs(error, message),
    fault: accountFaultOf(reason, rpcName, message) ?? fault,
    clientCode,
  };
}

function accountFaultOf(
  reason: string | undefined,
  rpcName: string | undefined,
  message: string | undefined,
): FailureReport['fault'] {
  if (reason !== undefined && credentialReasons.has(reason)) return 'credential';
  // A file that isn't processed yet is refused with the same status as an account.
  const isOfAccount = rpcName === 'FAILED_PRECONDITION' && !namesCallerResource(message);
  return isOfAccount || accountReasons.has(reason ?? '') ? 'account' : undefined;
}

/** The member of the request that names the resource that was refused. */
function memberOf(message: string = ''): string | undefined {
  if (/\bcached?[ _-]?contents?\b/i.test(message)) return 'cachedContent';
  if (/\bfile[ _-]?search[ _-]?stores?\b/i.test(message)) return 'tools';
  return namesCallerResource(message) ? 'fileData' : undefined;
}

/** Inside a stream, some of Google's proxies send the status name without the number. */
const statusesByName: ReadonlyMap<string, number> = new Map([
  ['INVALID_ARGUMENT', 400],
  ['FAILED_PRECONDITION', 400],
  ['OUT_OF_RANGE', 400],
  ['UNAUTHENTICATED', 401],
  ['PERMISSION_DENIED', 403],
  ['NOT_FOUND', 404],
  ['RESOURCE_EXHAUSTED', 429],
  ['INTERNAL', 500],
  ['UNAVAILABLE', 503],
  ['DEADLINE_EXCEEDED', 504],
]);
