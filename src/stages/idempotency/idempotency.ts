/**
 * Lets a repeatable call run only once: the first one claims its name, and the others wait for it
 * or get its outcome. Nothing here holds quota.
 */
import { bodyBudget, type FairShares, fairShares } from '../../bytes/body/fair-shares.ts';
import type { Clock } from '../../clock.ts';
import { GatewayError, isGatewayError, isUpstreamError } from '../../errors.ts';
import type { EventListener } from '../../events.ts';
import type { GatewayResponse } from '../../http.ts';
import type { ClaimRecord } from '../../ports/idempotency-store.ts';
import type { Admitted } from '../call-record.ts';
import { isClaimResult, isFoundResult } from '../ports/port-answers.ts';
import { type PortCalls, portCalls } from '../ports/port-calls.ts';
import type { PortTimer } from '../ports/port-times.ts';
import { shuttingDown } from '../refuse.ts';
import type { RunningCall } from '../running.ts';
import { abandonClaim, type Claim, claimOf, noClaim, resultName } from './claim.ts';
import { maxCopiedBytes, replyCopy } from './copy.ts';
import { type CallInFlight, type CallsInFlight, callsInFlight } from './in-flight.ts';
import { type Repeatable, repeatableOf } from './key.ts';
import { type FinalOutcome, replayOutcome } from './repeat.ts';

export type ClaimOrRepeat = { readonly claim: Claim } | { readonly repeat: GatewayResponse };

export interface Idempotency {
  /**
   * @throws GatewayError `idempotency_mismatch`, `idempotency_in_progress`, `result_expired`,
   *   `store_unavailable`, `invalid_request` for a malformed key, or the first call's 5xx again
   */
  claimOrRepeat(admitted: Admitted): Promise<ClaimOrRepeat>;
}

interface ClaimRequest {
  readonly admitted: Admitted;
  readonly repeatable: Repeatable;
  /** Port calls with a longer deadline, because a host's object storage may be slow. */
  readonly resultPorts: PortCalls;
}

/** How long a claim may last beyond the call's total time. */
const leaseMarginMs = 60_000;
/** The pauses between two polls of another process's call double up to the longest. */
const firstPollMs = 250;
const maxPollMs = 5_000;
/** Object storage is slower than a store of small records. */
const resultTimeoutMs = 10_000;
const unclaimed: ClaimOrRepeat = { claim: noClaim };

interface IdempotencyDeps {
  readonly inFlight: CallsInFlight;
  readonly copies: FairShares;
  readonly emit: EventListener;
  readonly times: PortTimer;
}

export function idempotency(emit: EventListener, times: PortTimer): Idempotency {
  const deps: IdempotencyDeps = {
    inFlight: callsInFlight(),
    copies: fairShares(() => maxCopiedBytes),
    emit,
    times,
  };
  return {
    claimOrRepeat: async (admitted) => {
      const repeatable = repeatableOf(admitted);
      return repeatable === undefined ? unclaimed : claimOrWait(admitted, repeatable, deps);
    },
  };
}

async function claimOrWait(
  admitted: Admitted,
  repeatable: Repeatable,
  { inFlight, copies, emit, times }: IdempotencyDeps,
): Promise<ClaimOrRepeat> {
  const { received, running } = admitted;
  const { settings, responseContext } = received;
  const resultSettings = { clock: settings.clock, storeTimeoutMs: resultTimeoutMs };
  const user = { requestId: responseContext.requestId, secrets: received.secrets };
  const resultPorts = portCalls(user, resultSettings, emit, undefined, times);
  const id = `${repeatable.name}.${repeatable.fingerprint}`;
  for (;;) {
    const callInFlight = repeatable.ifTaken === 'answer' ? inFlight.find(id) : undefined;
    if (callInFlight === undefined) {
      return runAsLeader({ admitted, repeatable, resultPorts }, inFlight.add(id), copies);
    }
    const outcome = await untilAborted(callInFlight.outcome, running);
    if (outcome.kind !== 'free') return { repeat: replayOutcome(outcome, responseContext) };
  }
}

/** Runs the call, also on behalf of the calls that wait for it. */
async function runAsLeader(
  request: ClaimRequest,
  callInFlight: CallInFlight,
  copies: FairShares,
): Promise<ClaimOrRepeat> {
  const { repeatable, resultPorts, admitted } = request;
  const { received } = admitted;
  try {
    const claimId = received.settings.ids();
    const outcome = await claimName(request, claimId);
    if (outcome === undefined) {
      const copy = replyCopy(bodyBudget(copies, repeatable.keyId, undefined));
      return {
        claim: claimOf({ received, repeatable, resultPorts, claimId, callInFlight, copy }),
      };
    }
    callInFlight.remove();
    callInFlight.resolve(outcome);
    return { repeat: replayOutcome(outcome, received.responseContext) };
  } catch (error) {
    callInFlight.remove();
    // If only the caller disconnected, nothing is known about the call itself, so one of the
    // waiting calls runs next.
    callInFlight.resolve(
      isCallerDisconnected(error) ? { kind: 'free' } : { kind: 'refused', error },
    );
    throw error;
  }
}

/** Returns undefined if it was granted, else the outcome of the call that has it. */
async function claimName(
  request: ClaimRequest,
  claimId: string,
): Promise<FinalOutcome | undefined> {
  const { admitted, repeatable } = request;
  const { model, running, received } = admitted;
  const { settings } = received;
  const { clock } = settings;
  const untilMs = clock.monotonicMs() + { ...settings.timeouts, ...model.timeouts }.firstByteMs;
  for (let waitMs = firstPollMs; ; waitMs = Math.min(2 * waitMs, maxPollMs)) {
    const record = await tryClaim(request, claimId);
    if (record === undefined) return undefined;
    if (record.fingerprint !== repeatable.fingerprint) throw mismatch();
    if (record.state !== 'running') return outcomeOf(record, request);
    const leftMs = untilMs - clock.monotonicMs();
    if (leftMs <= 0) throw inProgress();
    await untilAborted(pause(Math.min(waitMs, leftMs), clock), running);
  }
}

/** Returns the record of the call that has the name, or undefined if it was granted. */
async function tryClaim(request: ClaimRequest, claimId: string): Promise<ClaimRecord | undefined> {
  const { repeatable, admitted } = request;
  const { received, plan } = admitted;
  const { responseContext, settings, ports } = received;
  const { requestId } = responseContext;
  // No call takes longer.
  const leaseMs = plan.longestMs + leaseMarginMs;
  const input = { ...repeatable, claimId, requestId, leaseMs };
  try {
    const result = await ports.ask('idempotency', 'claim', isClaimResult, (options) =>
      settings.idempotency.claim(input, options),
    );
    return result.status === 'taken' ? result.record : undefined;
  } catch (error) {
    // The claim may exist although the store did not answer.
    void abandonClaim({ repeatable, claimId, received });
    throw error;
  }
}

async function outcomeOf(record: ClaimRecord, request: ClaimRequest): Promise<FinalOutcome> {
  const { requestId, status, claimId } = record;
  if (record.state !== 'done') return { kind: 'unknown', requestId, status };
  const { repeatable, resultPorts, admitted } = request;
  const { settings } = admitted.received;
  const result = await resultPorts.ask('results', 'get', isFoundResult, (options) =>
    settings.results.get(resultName(repeatable, claimId), options),
  );
  return { kind: 'done', requestId, result: result ?? undefined };
}

function untilAborted<T>(promise: Promise<T>, { caller }: RunningCall): Promise<T> {
  return new Promise((resolve, reject) => {
    caller.onAbort((reason) => reject(abortError(reason)));
    promise.then(resolve, reject);
  });
}

function abortError(reason: Error): GatewayError {
  if (isUpstreamError(reason) && reason.reason === 'draining') return shuttingDown();
  return new GatewayError('internal_error', 'The caller went away.', { reason: 'caller_left' });
}

function isCallerDisconnected(error: unknown): boolean {
  return isGatewayError(error) && error.reason === 'caller_left';
}

function pause(waitMs: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const stop = clock.every(waitMs, () => {
      stop();
      resolve();
    });
  });
}

function mismatch(): GatewayError {
  return new GatewayError(
    'idempotency_mismatch',
    'This Idempotency-Key was sent before with another body. Choose a new one for a new call.',
  );
}

function inProgress(): GatewayError {
  return new GatewayError(
    'idempotency_in_progress',
    'A call with this Idempotency-Key is still running. Send it again shortly, with the same key.',
    { retryAfterMs: maxPollMs },
  );
}
