/** Writes errors in the format of OpenAI's SDKs, and reads those of OpenAI-compatible upstreams. */
import { parseBounded } from '../../bounded-json.ts';
import type { SseEvent } from '../../bytes/sse.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import { type ErrorCode, type GatewayError, statusOf } from '../../errors.ts';
import { isJsonObject, items, type JsonValue, member, nonEmpty } from '../../json.ts';
import { bareMessage, failureStatus, meaningOf } from '../failure-meaning.ts';
import { statedWaitMs } from '../retry-after.ts';
import { billedReply, type FailureReport } from '../taps/tap.ts';

/** OpenAI's codes, where they are not those of the gateway. */
const wireCodes: Readonly<Partial<Record<ErrorCode, string | null>>> = {
  invalid_request: null,
  not_portable: null,
  invalid_key: 'invalid_api_key',
  route_not_found: 'unknown_url',
  item_not_found: null,
  response_not_found: null,
  rate_limited: 'rate_limit_exceeded',
  upstream_rate_limited: 'rate_limit_exceeded',
  internal_error: null,
};

function typeOf(code: ErrorCode): string {
  const status = statusOf[code];
  if (code === 'insufficient_quota') return code;
  if (status === statusOf.rate_limited) return 'rate_limit_error';
  return status < 500 || code === 'not_implemented' ? 'invalid_request_error' : 'server_error';
}

export interface OpenaiErrorObject {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
}

export function openaiErrorText(error: GatewayError): string {
  return jsonText({ error: { ...openaiErrorObject(error) } });
}

export function openaiErrorObject(error: GatewayError): OpenaiErrorObject {
  const { code, clientCode, message, param = null } = error;
  const ownCode = Object.hasOwn(wireCodes, code) ? (wireCodes[code] ?? null) : code;
  return { message, type: typeOf(code), param, code: clientCode ?? ownCode };
}

/** Codes that concern the account and not the request: its billing, its state, its country. */
const accountCodes = /^(?:insufficient_quota|billing_\w+|account_\w+|unsupported_country_\w+)$/;

/**
 * Reads an error document in every shape seen from OpenAI-compatible upstreams: `{error:{…}}`,
 * `[{error:{…}}]`, `{error:"…"}`, `{message}`, `{detail}`.
 */
export function openaiFailure(status: number, body: Uint8Array): FailureReport {
  const parsed = parseBounded(Buffer.from(body).toString('utf8'));
  return failureIn(Array.isArray(parsed) ? items(parsed)[0] : parsed, status);
}

export function openaiInBandFailure(document: JsonValue): FailureReport | undefined {
  // Some vendors send `"error": null`, false or "" with every successful chunk.
  if (member(document, 'error')) return failureIn(document, undefined);
  const choices = items(member(document, 'choices'));
  // OpenRouter reports an error of its provider inside the choice.
  for (const choice of choices) if (member(choice, 'error')) return failureIn(choice, undefined);
  for (const choice of choices) {
    if (member(choice, 'finish_reason') === 'error') return billedReply('upstream_unusable_output');
  }
  const isReply = choices.length > 0 || member(document, 'data') !== undefined;
  // vLLM has sent its error without a wrapper, and gateways in front of it a bare message.
  return isReply || bareMessage(document) === undefined
    ? undefined
    : failureIn(document, undefined);
}

/** `document` is the parsed data of the event, undefined if it is not JSON. */
export function openaiEventFailure(
  { name, unframedText }: Pick<SseEvent, 'name' | 'unframedText'>,
  document: JsonValue | undefined,
): FailureReport | undefined {
  if (name === 'error') return failureIn(document, undefined);
  const unframed = unframedText === '' ? undefined : parseBounded(unframedText);
  return openaiInBandFailure(document ?? null) ?? openaiInBandFailure(unframed ?? null);
}

/** Reads a document or an event that is known to be an error. */
export function openaiErrorIn(document: JsonValue): FailureReport {
  return failureIn(document, undefined);
}

/** `status` is the status of the response, undefined if the error came inside a successful one. */
function failureIn(document: JsonValue | undefined, status: number | undefined): FailureReport {
  const error = member(document, 'error');
  const source = isJsonObject(error) ? error : document;
  const type = nonEmpty(member(source, 'type'));
  const code = nonEmpty(member(source, 'code'));
  const message = nonEmpty(error) ?? nonEmpty(member(source, 'message')) ?? bareMessage(document);
  const metadata = member(source, 'metadata');
  const namedStatus =
    status ??
    failureStatus(member(source, 'code')) ??
    failureStatus(member(source, 'status')) ??
    statusOfCode(code) ??
    statusOfCode(type);
  const codes = [
    code,
    type,
    nonEmpty(member(metadata, 'error_type')),
    nonEmpty(member(member(source, 'innererror'), 'code')),
  ];
  const { fault, clientCode } = meaningOf(
    { status: namedStatus, message, codes },
    isFlagged(metadata),
  );
  return {
    status: namedStatus ?? (fault === 'request' ? 400 : 502),
    message,
    code: code ?? type,
    param: nonEmpty(member(source, 'param')),
    retryAfterMs: statedWaitMs(source, message),
    fault: accountFaultOf(code ?? type) ?? fault,
    clientCode: clientCode ?? code,
  };
}

/** OpenRouter names what its moderation or the account's guardrails found in the prompt. */
function isFlagged(metadata: JsonValue | undefined): boolean {
  const names = ['flagged_input', 'reasons', 'patterns'];
  return isJsonObject(metadata) && names.some((name) => member(metadata, name) !== undefined);
}

function accountFaultOf(code: string = ''): FailureReport['fault'] {
  if (code === 'invalid_api_key') return 'credential';
  // LiteLLM answers 401 where the key may not use this model.
  if (code.endsWith('_model_access_denied')) return 'model';
  return accountCodes.test(code) ? 'account' : undefined;
}

function statusOfCode(code: string | undefined): number | undefined {
  switch (code) {
    case 'invalid_request_error':
      return 400;
    case 'rate_limit_error':
    case 'rate_limit_exceeded':
    case 'insufficient_quota':
      return statusOf.rate_limited;
    default:
      return undefined;
  }
}
