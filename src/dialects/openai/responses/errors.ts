/** Recognises failures in the replies and events of a Responses upstream. */
import { parseBounded } from '../../../bounded-json.ts';
import { type JsonNode, jsonText } from '../../../canonical/raw-json.ts';
import type { GatewayError } from '../../../errors.ts';
import { isJsonObject, type JsonValue, member } from '../../../json.ts';
import { brokenReply, type FailureReport } from '../../taps/tap.ts';
import { openaiErrorIn, openaiErrorObject, openaiInBandFailure } from '../errors.ts';

/**
 * Codes of OpenAI's `response.error` for which the request is at fault, besides the codes that all
 * of its APIs have: images that it can't read or fetch, and references that it doesn't know.
 */
const requestCodes =
  /^(?:invalid_|empty_image|failed_to_download_image|image_|unsupported_image|previous_response)/;

/** The failure that a whole reply or a response object states; undefined if it states none. */
export function responseFailure(response: JsonValue): FailureReport | undefined {
  const error = member(response, 'error');
  if (isJsonObject(error)) return withRequestCodes(openaiErrorIn({ error }));
  const failure = bareFailure(response);
  if (failure !== undefined) return failure;
  return member(response, 'status') === 'failed' ? brokenReply('upstream_error') : undefined;
}

/**
 * The failure that an event states: OpenAI sends `error` events with a nested object, its
 * documentation has flat ones, and some vendors send a bare error object as chat does.
 */
export function eventFailure(
  type: string | undefined,
  document: JsonValue,
): FailureReport | undefined {
  if (type === 'error') {
    const nested = member(document, 'error');
    if (isJsonObject(nested)) return withRequestCodes(openaiErrorIn(document));
    const [code, message, param] = ['code', 'message', 'param'].map((name) =>
      member(document, name),
    );
    return withRequestCodes(
      openaiErrorIn({
        code: code ?? null,
        message: message ?? nested ?? null,
        param: param ?? null,
      }),
    );
  }
  if (type === undefined) {
    // A status message of a vendor, which may have a text too.
    const isOther = typeof member(document, 'object') === 'string' && !member(document, 'error');
    return isOther ? undefined : bareFailure(document);
  }
  const response = member(document, 'response') ?? null;
  if (type !== 'response.failed' && member(response, 'status') !== 'failed') return undefined;
  // A proxy has put the error beside a response whose own error was null (openai/codex#24973).
  const holder = member(response, 'error') ? response : document;
  return responseFailure(holder) ?? brokenReply('upstream_error');
}

export function unframedFailure(text: string): FailureReport | undefined {
  const document = text === '' ? undefined : parseBounded(text);
  return document === undefined ? undefined : bareFailure(document);
}

/** The failure in a document of no kind that the API has. */
export function bareFailure(document: JsonValue): FailureReport | undefined {
  const report = openaiInBandFailure(document);
  return report === undefined ? undefined : withRequestCodes(report);
}

function withRequestCodes(report: FailureReport): FailureReport {
  const { fault, status, code } = report;
  if (fault !== undefined || status < 500 || !requestCodes.test(code ?? '')) return report;
  return { ...report, status: 400, fault: 'request' };
}

export interface FailingResponse {
  /** The sequence number of the first of the two events. */
  readonly sequenceNumber: number;
  /** The members of the response object; its status and its error are written by this module. */
  readonly response: { readonly [name: string]: JsonNode };
}

/** The two events, each with its blank line. Both must be sent, the second one last. */
export function failureEvents(
  error: GatewayError,
  { sequenceNumber, response }: FailingResponse,
): readonly [error: string, failed: string] {
  const { type, message, param, code: ownCode } = openaiErrorObject(error);
  const code = streamCode(type, ownCode);
  const first = {
    type: 'error',
    sequence_number: sequenceNumber,
    ...{ code, message, param },
    error: { type, code, message, param },
  };
  const second = {
    type: 'response.failed',
    sequence_number: sequenceNumber + 1,
    response: { ...response, status: 'failed', error: { code, message } },
  };
  return [eventText('error', first), eventText('response.failed', second)];
}

function eventText(name: string, document: JsonNode): string {
  return `event: ${name}\ndata: ${jsonText(document)}\n\n`;
}

/**
 * Clients choose by the code whether to retry: the AI SDK and Codex know `server_error`,
 * `rate_limit_exceeded`, `insufficient_quota` and `context_length_exceeded`, and the AI SDK takes
 * whatever begins with `invalid` for a mistake of the request. The gateway's finer codes of server
 * errors are in its usage records.
 */
function streamCode(type: string, code: string | null): string {
  return type === 'server_error' ? type : (code ?? type);
}

/**
 * The code is missing in some of these errors. Their message says that the content could not be
 * verified, decrypted or parsed (openai/codex#8145).
 */
export function refusesSealedContent({ status, code, message = '' }: FailureReport): boolean {
  if (status !== 400) return false;
  if (code === 'invalid_encrypted_content') return true;
  return /encrypted[ _]content/i.test(message) && /verif|decrypt|parse|invalid/i.test(message);
}
