/**
 * Answers a repeated call: with the reply of the first call, or with the reason why there is none.
 */
import { type ErrorCode, GatewayError } from '../../errors.ts';
import type { GatewayResponse } from '../../http.ts';
import type { StoredResult } from '../../ports/result-store.ts';
import { type ResponseContext, replyHeaders } from '../respond.ts';

export type Outcome =
  /** Nothing ran; a repetition may run. */
  | { readonly kind: 'free' }
  /** The outcome could not be determined. */
  | { readonly kind: 'refused'; readonly error: unknown }
  /** It ran. `result` is undefined if its reply was not kept. */
  | { readonly kind: 'done'; readonly requestId: string; readonly result: StoredResult | undefined }
  /** It may have run. */
  | { readonly kind: 'unknown'; readonly requestId: string; readonly status: number | undefined };

export type FinalOutcome = Exclude<Outcome, { readonly kind: 'free' }>;

/**
 * The response to a repeated call, with the request id of the repetition.
 *
 * @throws GatewayError the first call's 5xx again, or `result_expired`
 */
export function replayOutcome(outcome: FinalOutcome, context: ResponseContext): GatewayResponse {
  switch (outcome.kind) {
    case 'refused':
      throw outcome.error;
    case 'unknown':
      throw mayHaveRun(outcome);
    case 'done':
      if (outcome.result === undefined) throw notKept(outcome);
      return replayed(outcome.result, outcome.requestId, context);
  }
}

function replayed(
  { headers, body }: StoredResult,
  requestId: string,
  context: ResponseContext,
): GatewayResponse {
  return {
    status: 200,
    headers: {
      ...headers,
      ...replyHeaders(context, 'json'),
      'content-length': String(body.byteLength),
      'idempotent-replayed': 'true',
      'original-request': requestId,
    },
    body,
  };
}

/**
 * The error code for the first call's status. A call whose gateway crashed has none, and one whose
 * stream broke off had sent 200.
 */
const codeOfStatus: ReadonlyMap<number | undefined, ErrorCode> = new Map([
  [500, 'internal_error'],
  [503, 'no_channel'],
  [504, 'upstream_timeout'],
] as const);

function mayHaveRun({
  requestId,
  status,
}: Extract<Outcome, { readonly kind: 'unknown' }>): GatewayError {
  return new GatewayError(
    codeOfStatus.get(status) ?? 'upstream_failed',
    'This call failed before, but may have run. Look for the request named in ' +
      'Original-Request in the usage log. To buy it again, choose a new Idempotency-Key.',
    { reason: 'repeated_unknown', originalRequestId: requestId },
  );
}

function notKept({ requestId }: Extract<Outcome, { readonly kind: 'done' }>): GatewayError {
  return new GatewayError(
    'result_expired',
    'This call has run and was charged, but its reply is no longer kept. ' +
      'To buy it again, choose a new Idempotency-Key.',
    { originalRequestId: requestId },
  );
}
