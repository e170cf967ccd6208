/**
 * Errors of AWS: which exception it is, and what that says of the request, the model and the
 * account.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html
 */
import { parseBounded } from '../../bounded-json.ts';
import { errorTypeOf } from '../../dialects/anthropic/errors.ts';
import type { Dialect } from '../../dialects/dialect.ts';
import type { FailureReport } from '../../dialects/taps/tap.ts';
import type { HeaderMap } from '../../http.ts';
import { type JsonValue, member, nonEmpty } from '../../json.ts';

interface ExceptionRow {
  /** The status that has its meaning, which is not always the one that AWS sends. */
  readonly status: number;
  readonly fault?: FailureReport['fault'];
}

const credentialRefused: ExceptionRow = { status: 403, fault: 'credential' };
const modelRefused: ExceptionRow = { status: 403, fault: 'model' };
/** AWS sends 424, for it blames the model's container. */
const modelFailed: ExceptionRow = { status: 500 };

/** The exceptions of Bedrock's API model, and those that every service of AWS has. */
export const exceptionRows: ReadonlyMap<string, ExceptionRow> = new Map([
  ['ExpiredToken', credentialRefused],
  ['ExpiredTokenException', credentialRefused],
  ['IncompleteSignature', credentialRefused],
  ['IncompleteSignatureException', credentialRefused],
  ['InvalidClientTokenId', credentialRefused],
  ['InvalidSignatureException', credentialRefused],
  ['MissingAuthenticationToken', credentialRefused],
  ['MissingAuthenticationTokenException', credentialRefused],
  ['NotAuthorized', credentialRefused],
  ['OptInRequired', { status: 403, fault: 'account' }],
  ['RequestExpired', credentialRefused],
  ['SignatureDoesNotMatch', credentialRefused],
  ['UnrecognizedClientException', credentialRefused],
  ['ServiceQuotaExceededException', { status: 400, fault: 'account' }],
  ['AccessDeniedException', modelRefused],
  ['ResourceNotFoundException', { status: 404, fault: 'model' }],
  // The model is being loaded: it alone has to wait.
  ['ModelNotReadyException', { status: 429 }],
  ['Throttling', { status: 429 }],
  ['ThrottlingException', { status: 429 }],
  ['TooManyRequestsException', { status: 429 }],
  ['ValidationException', { status: 400 }],
  ['ValidationError', { status: 400 }],
  ['ConflictException', { status: 409 }],
  ['ModelTimeoutException', { status: 504 }],
  ['ModelErrorException', modelFailed],
  ['ModelStreamErrorException', modelFailed],
  ['InternalFailure', { status: 500 }],
  ['InternalServerException', { status: 500 }],
  ['ServiceUnavailable', { status: 503 }],
  ['ServiceUnavailableException', { status: 503 }],
]);

/** The front of AWS denies an API key in the same way as a model. */
const keyRefused = /^(?:Authentication failed|Bearer Token|The security token)/i;
const modelInvalid = new RegExp(
  [
    '^The provided model identifier is invalid',
    // "Invocation of model ID x with on-demand throughput isn’t supported. Retry your request with
    // the ID or ARN of an inference profile that contains this model."
    '^Invocation of model ID',
    // "model `x` isn't supported on this route"
    '^model .{1,200} supported on this route',
  ].join('|'),
  'i',
);

/** Reads AWS's own errors; all others are left to the provider's reader. */
export function awsFailure(
  readFailure: Dialect['readFailure'],
): (status: number, body: Uint8Array, headers: HeaderMap) => FailureReport {
  return (status, body, headers) => {
    const document = parseBounded(Buffer.from(body).toString('utf8'));
    const name = exceptionName(headers['x-amzn-errortype'] ?? member(document, '__type'));
    const own = readFailure(status, body, headers);
    // The front of AWS writes `Message`.
    const message = own.message ?? nonEmpty(member(document, 'Message'));
    const row = exceptionRows.get(name ?? '') ?? { status };
    const fault = faultOf(row, message) ?? own.fault;
    return { ...own, status: row.status, message, code: own.code ?? name, fault };
  };
}

function faultOf({ status, fault }: ExceptionRow, message = ''): FailureReport['fault'] {
  if ((status === 401 || status === 403) && keyRefused.test(message)) return 'credential';
  return status === 400 && modelInvalid.test(message) ? 'model' : fault;
}

/** `ThrottlingException` of `com.amazon.coral#ThrottlingException:http://internal/`. */
function exceptionName(stated: JsonValue | undefined): string | undefined {
  if (typeof stated !== 'string') return undefined;
  const [name = ''] = stated.split(':', 1);
  return nonEmpty(name.slice(name.indexOf('#') + 1).trim());
}

/** Anthropic's type of an exception inside a stream, which spells it `throttlingException`. */
export function streamErrorType(exception: string): string {
  const name = `${exception.charAt(0).toUpperCase()}${exception.slice(1)}`;
  const { status, fault } = exceptionRows.get(name) ?? modelFailed;
  if (fault === 'account') return 'billing_error';
  return fault === 'credential' ? 'authentication_error' : errorTypeOf(status);
}
