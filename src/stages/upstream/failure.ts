/**
 * Turns an upstream's failure into its consequences: what the caller is told, whether another
 * channel may be tried, how the call ends for its charge, and how the channel's health is affected.
 */
import type { Call } from '../../call.ts';
import type { CallEnding } from '../../charge-policy.ts';
import { isWellKnownCode } from '../../dialects/failure-meaning.ts';
import type { FailureReport } from '../../dialects/taps/tap.ts';
import { type ErrorCode, GatewayError, type UpstreamError } from '../../errors.ts';
import { type FailureReason, failureReasonOf } from '../../failure-reasons.ts';
import type { Usage } from '../../money.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { vendorOf } from '../../ports/models/model-defaults.ts';
import type { HealthSignal } from '../../upstream/record-health.ts';
import type { BadReply, CallerParam, RequestSeries } from '../prepare/prepared-call.ts';
import { type FailureRow, type Retry, rowOf } from './failure-table.ts';
import { type AccountSecrets, shownText } from './upstream-text.ts';

/** A failed attempt. */
export interface CallFailure {
  readonly error: GatewayError;
  readonly ending: CallEnding;
  readonly retry: Retry;
  /** What the failure says about the channel. */
  readonly healthSignal: HealthSignal;
  /** The reason in events and usage records. */
  readonly reason: FailureReason;
  /** Tokens counted in the part of the reply that arrived. */
  readonly countedTokens?: number | undefined;
  /** The usage that the upstream reported. */
  readonly usage?: Usage | undefined;
  /** The upstream's status and headers had arrived. */
  readonly hasResponse?: boolean;
}

/** How many of these attempts may have run. */
export function possibleRuns(failures: readonly CallFailure[]): number {
  return failures.filter(({ ending }) => ending !== 'not_run').length;
}

/** Which parts of an upstream's error text may reach the caller. */
export interface ErrorRedaction extends AccountSecrets {
  readonly hideErrors: boolean;
  /** The account returns 503 and 529 only before it does any work. */
  readonly rejectsBeforeWork: boolean;
}

/** Which parts of an upstream's error the caller may see, and how it names the wrong member. */
export interface ErrorExposure {
  readonly redaction: ErrorRedaction;
  readonly callerParam?: CallerParam | undefined;
}

/** The bounds of an upstream's `Retry-After`, the same as those of a channel's cooldown. */
const minWaitMs = 1_000;
const maxWaitMs = 3_600_000;

/**
 * The failure for an upstream's refusal, by its status or by the one that an error inside the reply
 * names.
 */
export function refusedByUpstream(
  report: FailureReport,
  call: Pick<Call, 'operation'>,
  model: Model,
  exposure: ErrorExposure,
): CallFailure {
  const { redaction } = exposure;
  const row = withDeclaredBehavior(rowOf(report), redaction);
  const reason = report.reason ?? row.reason;
  const message =
    row.forwardsMessage === true && !redaction.hideErrors && report.message !== undefined
      ? shownText(report.message, redaction)
      : undefined;
  const { isBoughtOnce } = call.operation;
  // `no_channel` invites a retry. A caller whose image may have been made must check the usage log
  // first.
  const code =
    isBoughtOnce && row.mayHaveRun && row.code === 'no_channel' ? 'upstream_failed' : row.code;
  const waits = code === 'upstream_rate_limited' || code === 'no_channel';
  return {
    error: new GatewayError(
      code,
      message ?? row.persistentMessage ?? messageFor(code, row.mayHaveRun, call, model),
      {
        reason,
        ...(row.forwardsMessage === true ? clientCode(report, redaction) : {}),
        ...(message === undefined ? {} : plainParam(report, exposure)),
        ...(waits ? { ...clampedWait(report.retryAfterMs), upstreamStatus: report.status } : {}),
        ...(row.persistentMessage === undefined ? {} : { shouldRetry: false }),
        ...(row.code === 'model_not_found' ? { param: 'model' } : {}),
      },
    ),
    ending: row.mayHaveRun ? 'failed' : 'not_run',
    retry: isBoughtOnce && row.retry === 'once' ? 'never' : row.retry,
    healthSignal: healthSignalFor(row, report, reason, model),
    reason,
  };
}

/** A channel's own declaration overrides the general meaning of a status. */
function withDeclaredBehavior(row: FailureRow, { rejectsBeforeWork }: ErrorRedaction): FailureRow {
  const isPromised = rejectsBeforeWork && row.isBeforeWork === true;
  return isPromised ? { ...row, mayHaveRun: false, retry: 'elsewhere' } : row;
}

function healthSignalFor(
  { health, code }: FailureRow,
  report: FailureReport,
  reason: FailureReason,
  { exactId }: Pick<Model, 'exactId'>,
): HealthSignal {
  switch (health) {
    case 'none':
      return { kind: 'neutral' };
    case 'counts':
      return { kind: 'failed', reason, where: 'model' };
    case 'timed_out':
      return { kind: 'failed', reason, where: 'model', timedOut: true };
    case 'forbidden':
      // Two names that a caller has chosen prove nothing about the account.
      return exactId === undefined
        ? { kind: health, reason }
        : { kind: 'cooldown', reason, where: 'model', forMs: 60_000, lastResort: true };
    case 'refused':
      return { kind: health, reason };
    default: {
      const { cooldownScope, forMs = report.retryAfterMs, isLastResort } = health;
      const isRateLimit = code === 'upstream_rate_limited';
      return {
        kind: 'cooldown',
        reason,
        where: cooldownScope,
        forMs,
        lastResort: isLastResort,
        isRateLimit,
      };
    }
  }
}

/**
 * The failure of a call that the gateway refuses itself: the upstream does not support it, or its
 * JSON is invalid.
 */
export function refusedByGateway(error: GatewayError): CallFailure {
  return {
    error,
    ending: 'not_run',
    retry: 'never',
    healthSignal: { kind: 'neutral' },
    reason: error.reason ?? failureReasonOf(error.code),
  };
}

/**
 * The failure of a call whose connection broke or was cut by the gateway, before or during the
 * reply.
 */
export function failedTransport(
  error: UpstreamError,
  call: Pick<Call, 'operation' | 'framing'>,
  model: Model,
): CallFailure {
  const { stage, reason } = error;
  const mayHaveRun = stage !== 'connect';
  const code = transportCode(error);
  return {
    error: new GatewayError(code, messageFor(code, mayHaveRun, call, model), {
      reason,
      cause: error,
      ...(code === 'draining' || code === 'overloaded' ? { retryAfterMs: minWaitMs } : {}),
    }),
    ending: stage === 'body' ? endingOfLostReply(call) : mayHaveRun ? 'failed' : 'not_run',
    retry: retryAfterBreak(error, call),
    healthSignal: healthSignalOfBreak(error),
    reason,
    hasResponse: stage === 'body',
  };
}

function transportCode({ stage, reason, timedOut }: UpstreamError): ErrorCode {
  if (reason === 'hold_used_up') return 'insufficient_quota';
  if (reason === 'draining') return 'draining';
  if (reason === 'too_many_files' || reason === 'out_of_ports') return 'overloaded';
  return timedOut && stage !== 'connect' ? 'upstream_timeout' : 'upstream_failed';
}

/** True if the gateway itself ended the call, at one of its limits. No other channel would help. */
export function isGatewayCut(reason: FailureReason): boolean {
  return reason === 'total_timeout' || reason === 'hold_used_up' || reason === 'draining';
}

function retryAfterBreak(
  { stage, reason, timedOut }: UpstreamError,
  call: Pick<Call, 'operation' | 'framing'>,
): Retry {
  if (isGatewayCut(reason)) return 'never';
  if (stage === 'connect') return 'elsewhere';
  if (timedOut || call.operation.isBoughtOnce) return 'never';
  // Part of a document was generated. A stream that gets here has had no content yet.
  const isHalf = stage === 'body' && call.framing === 'json' && !call.operation.isRepeatable;
  return isHalf || replySizeReasons.has(reason) ? 'never' : 'once';
}

/** Another channel's reply would be as large. */
const replySizeReasons: ReadonlySet<string> = new Set(['event_too_large', 'reply_too_large']);

/** Reasons in which the upstream had no part. */
const gatewayReasons: ReadonlySet<string> = new Set([
  'caller_left',
  'caller_stalled',
  'closed',
  'internal_error',
  'out_of_ports',
  'queue_timeout',
  'refused_locally',
  'too_many_files',
]);

function healthSignalOfBreak({ stage, reason, timedOut }: UpstreamError): HealthSignal {
  if (isGatewayCut(reason) || gatewayReasons.has(reason)) return { kind: 'neutral' };
  return { kind: 'failed', reason, where: stage === 'connect' ? 'account' : 'model', timedOut };
}

/** The failure for a 2xx response without a valid reply. What was billed for it is charged. */
export function badReply(bad: BadReply, call: Call, model: Model): CallFailure {
  const { reason, countedTokens, usage, endedBeforeContent } = bad;
  const { isBoughtOnce, isRepeatable } = call.operation;
  const maySendAgain = isRepeatable || (endedBeforeContent === true && !isBoughtOnce);
  const code = 'upstream_failed';
  return {
    error: new GatewayError(code, messageFor(code, true, call, model), { reason }),
    ending: endingOfBadReply(bad, call),
    countedTokens,
    usage,
    retry: maySendAgain ? 'once' : 'never',
    healthSignal: { kind: 'failed', reason, where: 'model' },
    reason,
  };
}

/** The refusals that blame the request. */
const requestFaults: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_request',
  'item_not_found',
  'body_too_large',
]);

/**
 * The failure of a call that was split into several requests. Nothing of their replies reaches the
 * caller, so that it pays nothing if the upstream is at fault. If the upstream refuses a request,
 * the caller is at fault and pays for the requests before it: otherwise it could run any number of
 * them for free by appending one that is refused. A call of a single request fails like any other.
 */
export function failedSeries(
  failure: CallFailure,
  series: Pick<RequestSeries, 'isSplit' | 'used' | 'sent'>,
): CallFailure {
  if (!series.isSplit) return failure;
  // A caller that leaves pays for the request in flight too, and not for those that were not sent.
  const isLeft = failure.reason === 'caller_left' && failure.ending !== 'not_run';
  const usage = isLeft ? series.sent() : series.used();
  if (usage === undefined) {
    return failure.ending === 'truncated' ? { ...failure, ending: 'failed' } : failure;
  }
  const ending = requestFaults.has(failure.error.code) ? 'truncated' : 'failed';
  return { ...failure, usage, ending };
}

/** True for a refusal of the caller's request whose earlier parts are charged. */
export function isPaidRefusal({ error, ending }: CallFailure): boolean {
  return ending === 'truncated' && requestFaults.has(error.code);
}

/**
 * Part of a document may have been billed; a page of another server or an empty reply was not. A
 * document that ends early without an error is treated like one whose connection broke, because it
 * depends on proxies which of the two happens.
 */
function endingOfBadReply(
  { reason, countedTokens, usage, stillRuns }: BadReply,
  call: Pick<Call, 'framing'>,
): CallEnding {
  if (stillRuns === true) return 'still_running';
  if (usage !== undefined) return 'truncated';
  const mayBeBilled = countedTokens !== 0 || reason === 'upstream_truncated';
  return mayBeBilled ? endingOfLostReply(call) : 'failed';
}

/**
 * The ending of a reply that did not reach the caller. A document was being generated, and may have
 * been billed. A stream without content costs nothing: another gateway that charged the prompts of
 * such streams had to refund them.
 */
function endingOfLostReply({ framing }: Pick<Call, 'framing'>): CallEnding {
  return framing === 'json' ? 'truncated' : 'failed';
}

/** The error text. An image that may have been made must not be bought again blindly. */
function messageFor(
  code: ErrorCode,
  mayHaveRun: boolean,
  call: Pick<Call, 'operation'>,
  model: Model,
): string {
  return mayHaveRun && call.operation.isBoughtOnce
    ? 'The upstream failed, but the image may have been made. Check the usage log before retrying.'
    : errorText(code, model);
}

/** The error text for each code; none of it comes from the upstream. */
export function errorText(code: ErrorCode, model: Model): string {
  switch (code) {
    case 'no_channel':
      return `No available ${vendorOf(model)} accounts`;
    case 'upstream_rate_limited':
      return 'The upstream is receiving too many requests. Reduce concurrency and retry later.';
    case 'upstream_overloaded':
      return 'The upstream is overloaded. Retry later.';
    case 'upstream_timeout':
      return 'The upstream did not answer in time. Retry later.';
    case 'insufficient_quota':
      return 'The quota of this key ran out during the reply.';
    case 'overloaded':
      return 'The gateway is running too many calls. Try again shortly.';
    case 'draining':
      return 'The gateway is shutting down and cut off the reply. Try again shortly.';
    case 'body_too_large':
      return 'The request is too large for this model.';
    case 'invalid_request':
      return (
        'The upstream refused the request as invalid. ' +
        'Check its fields against the model’s documentation.'
      );
    case 'item_not_found':
      return 'The upstream does not have something that the request names. Send it whole instead.';
    default:
      return 'The upstream failed to answer this request. Retry later.';
  }
}

function clampedWait(waitMs: number | undefined): { readonly retryAfterMs?: number } {
  if (waitMs === undefined) return {};
  return { retryAfterMs: Math.min(Math.max(waitMs, minWaitMs), maxWaitMs) };
}

/**
 * The error code that the caller's client may act on. Well-known codes are the gateway's own and
 * always pass; any other is text of the upstream, and is hidden as such.
 */
function clientCode(
  { clientCode: code = '' }: FailureReport,
  redaction: ErrorRedaction,
): { readonly clientCode?: string } {
  if (isWellKnownCode(code)) return { clientCode: code };
  const isPlain = /^[a-z][a-z0-9_]{2,63}$/.test(code) && shownText(code, redaction) === code;
  return isPlain && !redaction.hideErrors ? { clientCode: code } : {};
}

/** The caller's name of the member that the upstream names, if that is a plain name. */
function plainParam(
  { param = '' }: FailureReport,
  { redaction, callerParam }: ErrorExposure,
): { readonly param?: string } {
  const isName = /^[\w.[\]-]{1,64}$/.test(param) && shownText(param, redaction) === param;
  const name = isName ? callerParam?.(param) : undefined;
  return name === undefined ? {} : { param: name };
}
