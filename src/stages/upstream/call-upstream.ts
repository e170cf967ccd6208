/**
 * Calls the channels of a model, one after the other, until one replies or no other may be tried:
 * {@link mayTryAnother} says when after a failure, and the candidates give up when none is left.
 * {@link finalFailure} says which failure is reported, what the caller pays for it, and when the
 * caller's SDK should retry.
 */

import { GatewayError, withDetails } from '../../errors.ts';
import type { Held } from '../call-record.ts';
import { isPending } from '../ports/port-calls.ts';
import type { Leased, UpstreamOutcome, UpstreamReply, Upstreams } from './attempt.ts';
import { Candidates } from './candidates.ts';
import { type CallFailure, isPaidRefusal, possibleRuns } from './failure.ts';
import { tryChannel } from './try-channel.ts';

const maxAttempts = 3;

/**
 * Sends the call upstream. The time for a first byte counts from `startedMs`. Never rejects because
 * of an upstream's failure.
 */
export async function callUpstream(
  held: Held,
  upstreams: Upstreams,
  startedMs: number = held.settlement.startedMs,
): Promise<UpstreamOutcome> {
  const { running, model, references } = held.admitted;
  if (running.caller.isDisconnected) return { failure: callerDisconnected('not_run') };
  // An image is bought as soon as it is sent, and a call with an Idempotency-Key may be repeated.
  // From here on both continue even if the caller disconnects.
  if (held.continuesAfterDisconnect) running.caller.detach();
  const budget = upstreams.retries.begin(model.id);
  running.onDone(() => budget.end());
  const candidates = new Candidates(held, upstreams, budget, startedMs);
  const failures: CallFailure[] = [];
  do {
    const choosing = candidates.next(failures);
    const candidate = isPending(choosing) ? await choosing : choosing;
    if (candidate === 'give_up') break;
    if ('reply' in candidate) return candidate;
    const outcome = await tryChannel(candidate, upstreams);
    if ('reply' in outcome) {
      if (failures.length === 0) return outcome;
      budget.answered();
      return withEarlierFailures(outcome, failures);
    }
    if (references?.mustResend === true) {
      // Sent once more without what the account could not read, to any channel.
      references.mustResend = false;
      candidates.readmit();
      failures.push({ ...outcome.failure, retry: 'elsewhere' });
    } else failures.push(retriedAfterTrial(outcome.failure, candidate));
  } while (mayTryAnother(failures, held));
  return { failure: finalFailure(failures, candidates, held, upstreams) };
}

/** True if another channel may be tried after these failures. */
function mayTryAnother(failures: readonly CallFailure[], held: Held): boolean {
  const last = failures.at(-1);
  if (last === undefined || failures.length >= maxAttempts || isAbandoned(held)) return false;
  return last.retry === 'elsewhere' || (last.retry === 'once' && possibleRuns(failures) === 1);
}

/**
 * A call that timed out is not retried, with one exception: a half-open trial of a channel. Its
 * caller waited through no fault of its own, and there is one such call per cooldown.
 */
function retriedAfterTrial(failure: CallFailure, { isTrial }: Leased): CallFailure {
  return isTrial && failure.reason === 'headers_timeout' ? { ...failure, retry: 'once' } : failure;
}

/** A call that its last channel did not run may have run on an earlier one. */
function withEarlierFailures(
  upstreamReply: UpstreamReply,
  failures: readonly CallFailure[],
): UpstreamReply {
  const { reply } = upstreamReply;
  const isOpen = reply.kind === 'whole' && reply.ending === 'not_run' && possibleRuns(failures) > 0;
  return isOpen ? { ...upstreamReply, reply: { ...reply, ending: 'failed' } } : upstreamReply;
}

/** SDKs ignore a shorter wait. */
const minWaitMs = 1_000;

/** The failure of a call, from the failures of all its attempts. */
function finalFailure(
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
function callerDisconnected(ending: 'not_run' | 'failed' | 'left_early' | 'left'): CallFailure {
  const reason = 'caller_left';
  return {
    error: new GatewayError('internal_error', 'The caller went away.', { reason }),
    ending,
    retry: 'never',
    healthSignal: { kind: 'neutral' },
    reason,
  };
}
