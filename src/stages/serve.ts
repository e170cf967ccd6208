/**
 * Runs the stages of a request in order. Each stage takes the call's record with what the stages
 * before it have added, and throws a GatewayError for every refusal and failure.
 */

import type { Body } from '../bytes/body/body.ts';
import type { FairShares } from '../bytes/body/fair-shares.ts';
import { type GatewayError, withDetails } from '../errors.ts';
import type { GatewayResponse } from '../http.ts';
import type { JsonObject } from '../json.ts';
import type { MaybePromise } from '../ports/call-options.ts';
import type { CallRoute, Route } from '../protocols/protocol.ts';
import { beginningCall } from './begin.ts';
import type { Admitted, Authenticated, Begun, Held, Read, Received } from './call-record.ts';
import { checkByGuard } from './guard.ts';
import type { Idempotency } from './idempotency/idempotency.ts';
import { authenticate } from './keys/authenticate.ts';
import { describeKey } from './keys/describe-key.ts';
import { authenticateLimited, type FailedKeys } from './keys/failed-keys.ts';
import { type AdmittedCall, admit, listModels } from './models/admit.ts';
import type { ModelLookup } from './models/model-errors.ts';
import type { ModelPlans } from './models/model-plan.ts';
import { isPending, whenKnown } from './ports/port-calls.ts';
import { limit, mayBeLimited, ratesOf } from './rates/limit.ts';
import { limitModel } from './rates/limit-model.ts';
import { readCallInTurns, receiveBody, reserveTape } from './read-call.ts';
import type { ReportSplitIndex } from './references/references.ts';
import { rememberWhole } from './references/remember-reply.ts';
import { storedReply } from './references/stored-reply.ts';
import { shuttingDown } from './refuse.ts';
import { copyMade, relay } from './relay/relay.ts';
import { reportRepeat, reportStart } from './request-events.ts';
import { answerOf, answerToThrown, jsonReply, paced } from './respond.ts';
import { type RunningCalls, sendWhole } from './running.ts';
import { holdFor } from './settle/hold.ts';
import type { Reserve } from './settle/reserve.ts';
import type { Settle } from './settle/settle.ts';
import type { UpstreamOutcome, Upstreams } from './upstream/attempt.ts';
import { callUpstream } from './upstream/call-upstream.ts';
import { fallBack, mayFallBack } from './upstream/fall-back.ts';

export interface Shared extends ModelLookup {
  readonly intake: Intake;
  readonly plans: ModelPlans;
  readonly idempotency: Idempotency;
  readonly reserve: Reserve;
  readonly settle: Settle;
  readonly upstreams: Upstreams;
  /** Warns the host that nothing bounds the output of this model. */
  reportUnbounded(modelId: string): void;
  readonly reportSplitIndex: ReportSplitIndex;
}

export interface Intake {
  readonly calls: RunningCalls;
  /** Limits the memory that the request bodies of one key may take. */
  readonly bodies: FairShares;
  readonly failedKeys: FailedKeys;
  isClosed(): boolean;
}

export type ServedRoute = Exclude<Route, { readonly kind: 'refused' | 'options' }>;

export type Serve = (received: Received, route: ServedRoute) => MaybePromise<GatewayResponse>;

export function serving(shared: Shared): Serve {
  const { failedKeys, isClosed } = shared.intake;
  return (received, route) => {
    if (isClosed()) throw shuttingDown();
    if (route.kind === 'root') return jsonReply(received.responseContext, runs(route.served));
    const found =
      received.settings.failedKeyLimit === undefined
        ? authenticate(received, route.caller, shared.records)
        : authenticateLimited(received, route.caller, shared.records, failedKeys);
    return whenKnown(found, (key) => {
      // The gateway may have closed while the key was looked up. From here on it waits for this
      // call.
      if (isClosed()) throw shuttingDown();
      const authenticated = { received, key };
      if (route.kind === 'call') return runCall(authenticated, route, shared);
      if (route.kind === 'stored_reply') return storedReply(authenticated, route, shared);
      return describe(authenticated, route, shared);
    });
  };
}

/** Describes the key, the models that it may use, or one of them. */
async function describe(
  authenticated: Authenticated,
  route: Extract<Route, { readonly kind: 'key' | 'models' }>,
  shared: Shared,
): Promise<GatewayResponse> {
  const document =
    route.kind === 'key'
      ? await describeKey(authenticated, route.caller)
      : await listModels(route, authenticated, shared);
  const { replies } = shared.intake.calls;
  const reply = jsonReply(authenticated.received.responseContext, document);
  return paced(reply, (pieces) => replies.add(pieces));
}

/** The answer to people who look whether the gateway runs, without a key. */
function runs(served: string): JsonObject {
  return { message: `The gateway runs. With a key it serves ${served}.` };
}

async function runCall(
  authenticated: Authenticated,
  route: CallRoute,
  shared: Shared,
): Promise<GatewayResponse> {
  const { received, key } = authenticated;
  const { intake, idempotency, reserve, settle } = shared;
  const running = intake.calls.begin(beginningCall(authenticated, route.protocol));
  try {
    route.protocol.checkHeaders?.(received.request.headers);
    const isLimited = ratesOf(key, received.settings) !== undefined;
    if (isLimited) await limit(authenticated, route.caller);
    const begun = { received, key, route, running };
    const receiving = receiveBody(begun, intake.bodies);
    const body = isPending(receiving) ? await receiving : receiving;
    const admitting = admitCall(begun, body, shared);
    const admitted = isPending(admitting) ? await admitting : admitting;
    const claiming = idempotency.claimOrRepeat(admitted);
    const claimOrRepeat = isPending(claiming) ? await claiming : claiming;
    if ('repeat' in claimOrRepeat) return sendRepeat(claimOrRepeat.repeat, admitted);
    const { claim } = claimOrRepeat;
    const { call, model, plan } = admitted;
    const rates = mayBeLimited(key, model, received.settings)
      ? await claim.abandonOnFailure(() => limitModel(admitted))
      : undefined;
    const reserving = claim.abandonOnFailure(() => reserve(admitted));
    const reservation = isPending(reserving) ? await reserving : reserving;
    const settlement = settle(admitted, reservation, rates);
    claim.endTogetherWith(settlement);
    running.hold.keepAlive(settlement, plan);
    const continuesAfterDisconnect = call.operation.isBoughtOnce || claim.copy !== undefined;
    const held = { admitted, settlement, rates, continuesAfterDisconnect, copy: claim.copy };
    return await callAndSettle(held, shared);
  } catch (error) {
    running.done();
    throw error;
  }
}

/** Reads the body into a call, and finds its model. */
function admitCall(begun: Begun, body: Body, shared: Shared): MaybePromise<Admitted> {
  const { received, key, route, running } = begun;
  const startedAtMs = received.settings.clock.now();
  const reading = readCallInTurns(body, route, received.settings);
  return whenKnown(reading, (sent) => {
    const read = { received, key, route, running, startedAtMs, call: sent };
    reserveTape(read, shared.intake.bodies);
    return whenKnown(admit(read, shared), (admission) => heldFor(read, admission, shared));
  });
}

/** Bounds the cost of the call, and asks the guard. */
function heldFor(
  read: Read,
  { model, plan, call, references }: AdmittedCall,
  shared: Shared,
): MaybePromise<Admitted> {
  const { received, key, route, running, startedAtMs } = read;
  const hold = holdFor(call, model);
  if (!hold.isBounded) shared.reportUnbounded(model.id);
  if (route.protocol.storedReplies !== undefined) {
    shared.reportSplitIndex({ key, model, plan, received, route });
  }
  const { guard } = received.settings;
  const labels =
    guard === undefined ? key.metadata : checkByGuard(guard, read, model, shared.upstreams.emit);
  // Listed, because V8 copies a spread with new members slowly.
  return whenKnown(labels, (metadata) => ({
    received,
    key,
    route,
    running,
    startedAtMs,
    call,
    model,
    plan,
    references,
    hold,
    metadata,
  }));
}

function sendRepeat(repeat: GatewayResponse, admitted: Admitted): GatewayResponse {
  const { running } = admitted;
  reportRepeat(admitted, repeat.headers['original-request']);
  const response = paced(repeat, (pieces) => sendWhole(running, pieces));
  running.done();
  return response;
}

/** From here the settlement owns the hold and ends it on every path. */
async function callAndSettle(held: Held, shared: Shared): Promise<GatewayResponse> {
  const { settlement, admitted } = held;
  const { running } = admitted;
  const { upstreams } = shared;
  reportStart(admitted, settlement.reservation);
  let outcome: UpstreamOutcome | undefined;
  try {
    let served = held;
    outcome = await callUpstream(held, upstreams);
    if ('failure' in outcome && mayFallBack(outcome.failure, admitted)) {
      ({ served, outcome } = await fallBack(outcome.failure, held, shared));
    }
    if ('reply' in outcome) {
      running.caller.detach();
      const { reply } = outcome;
      if (reply.kind === 'whole' && reply.referable !== undefined) {
        const remembering = rememberWhole(reply, outcome, served);
        if (remembering !== undefined) await remembering;
      }
      if (reply.kind === 'made' && served.copy !== undefined) await copyMade(reply, served.copy);
      return relay(outcome, served, upstreams);
    }
    const { error, ending, reason, countedTokens, usage } = outcome.failure;
    // The usage record is written before the error is sent, because the error may point to it.
    const answer = answerOf(error, reason, admitted.route.caller);
    await settlement.close({ ...answer, ending, countedTokens, usage });
    throw held.copy === undefined || ending === 'not_run' ? error : failedForGood(error);
  } catch (error) {
    // The attempt of a streamed reply was still running, because it ends with its stream.
    if (outcome !== undefined && 'reply' in outcome) {
      const { status, report } = outcome;
      report?.ended({ status, reason: 'internal_error', mayHaveRun: true });
    }
    const ending = settlement.mayHaveRun() ? 'failed' : 'not_run';
    await settlement.close({ ...answerToThrown(error, admitted.route.caller), ending });
    throw error;
  }
}

/** The error of a call that its key never runs again: a retry would only get it once more. */
function failedForGood(error: GatewayError): GatewayError {
  return withDetails(error, { shouldRetry: false, retryAfterMs: undefined });
}
