/**
 * Ends a Responses stream with an error. Clients differ in what they raise on: most need an `error`
 * event with a nested `error` object, as OpenAI sends it, some its documented flat members, and
 * Codex only `response.failed`. So the stream ends with both events, and the first has both forms.
 */
import { type JsonNode, jsonText } from '../../canonical/raw-json.ts';
import type { GatewayError } from '../../errors.ts';
import { openaiErrorObject } from '../openai/errors.ts';

/** What is known about the response that fails. */
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

/** One event of a Responses stream. */
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
