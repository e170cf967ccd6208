/**
 * The failure of a call whose attempts have all failed: which one is reported, what the caller pays
 * for it, and when the caller's SDK should retry.
 */
import { GatewayError, withDetails } from '../../errors.ts';
import type { Held } from '../call-record.ts';
import type { Upstreams } from './attempt.ts';
import type { Candidates } from './candidates.ts';
import { type CallFailure, isPaidRefusal, possibleRuns } from './failure.ts';

/** SDKs ignore a shorter wait. */
const minWaitMs = 1_000;

/** The failure of a call, from the failures of all its attempts. */
export function finalFailure(
  failures: readonly CallFailure[],
  candidates: Candidates,
  held: Held,
  upstreams: Upstreams,
): CallFailure {
  const reported = reportedFailure(failures);
  if (reported === undefined) return candidates.noneChosen();
  // An earlier attempt may have run, although the reported one certainly did not.
  const isUnknown = reported.ending === 'not_run' && possibleRuns(failures) > 0;
  const failure: CallFailure = isUnknown ? { ...reported, ending: 'failed' } : reported;
  return isAbandoned(held)
    ? abandonedFailure(failure, held, upstreams)
    : withRetryAdvice(failure, candidates);
}

/**
 * The failure to report: the last one, unless another channel was only rate limited, or the last
 * one lasts and another does not. Then a retry is worthwhile; {@link withRetryAdvice} says when.
 */
function reportedFailure(failures: readonly CallFailure[]): CallFailure | undefined {
  const last = failures.at(-1);
  if (last?.retry === 'never') return last;
  return (
    failures.find(({ error }) => error.code === 'upstream_rate_limited') ??
    failures.findLast(({ error }) => error.shouldRetry !== false) ??
    last
  );
}

/** The failure of a call whose caller disconnected, which decides what the caller pays. */
function abandonedFailure(
  failure: CallFailure,
  { admitted: { key, running, call } }: Held,
  { freeDisconnects }: Upstreams,
): CallFailure {
  if (failure.ending === 'not_run') return callerDisconnected('not_run');
  // A caller pays for what it made fail itself, whether or not it waited for the error.
  if (isPaidRefusal(failure)) return { ...failure, ...callerDisconnected('left') };
  // The attempt had failed before the caller disconnected.
  if (failure.reason !== 'caller_left') return callerDisconnected('failed');
  // A caller that disconnects pays nothing if the account kept it waiting.
  if (freeDisconnects.isFree(key.id, running)) return callerDisconnected('failed');
  const hasReplyStarted = failure.hasResponse === true && call.framing !== 'json';
  const { usage } = failure;
  return { ...callerDisconnected(hasReplyStarted ? 'left' : 'left_early'), usage };
}

/**
 * Adds when to retry, and whether. The wait is that until any channel is available, which may be
 * shorter than the one that this upstream stated; a channel whose upstream stated none cools down
 * as well. A call that certainly did not run can be sent again without cost.
 */
function withRetryAdvice(failure: CallFailure, candidates: Candidates): CallFailure {
  const { error, ending } = failure;
  const { code, shouldRetry } = error;
  const isWaiting = code === 'upstream_rate_limited' || code === 'no_channel';
  const waitMs = isWaiting ? candidates.soonestAvailableMs() : undefined;
  const isSafe = shouldRetry === undefined && ending === 'not_run';
  if (waitMs === undefined && !isSafe) return failure;
  const details = {
    ...(waitMs === undefined ? {} : { retryAfterMs: Math.max(waitMs, minWaitMs) }),
    ...(isSafe ? { shouldRetry: true } : {}),
  };
  return { ...failure, error: withDetails(error, details) };
}

/**
 * True if the caller disconnected and the call does not continue without it. A call that continues
 * keeps its real failure, for the usage record.
 */
export function isAbandoned({ admitted, continuesAfterDisconnect }: Held): boolean {
  return admitted.running.caller.isDisconnected && !continuesAfterDisconnect;
}

/** The failure of a call whose caller disconnected. Nobody reads its error text. */
export function callerDisconnected(
  ending: 'not_run' | 'failed' | 'left_early' | 'left',
): CallFailure {
  const reason = 'caller_left';
  return {
    error: new GatewayError('internal_error', 'The caller went away.', { reason }),
    ending,
    retry: 'never',
    healthSignal: { kind: 'neutral' },
    reason,
  };
}
