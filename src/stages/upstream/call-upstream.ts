/**
 * Calls the channels of a model, one after the other, until one replies or no other may be tried:
 * {@link mayTryAnother} says when after a failure, and the candidates give up when none is left.
 * What the caller pays for failed attempts is in `final-failure.ts`.
 */
import type { Held } from '../call-record.ts';
import { isPending } from '../ports/port-calls.ts';
import type { Leased, UpstreamOutcome, UpstreamReply, Upstreams } from './attempt.ts';
import { Candidates } from './candidates.ts';
import { type CallFailure, possibleRuns } from './failure.ts';
import { callerDisconnected, finalFailure, isAbandoned } from './final-failure.ts';
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
