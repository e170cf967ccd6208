/**
 * Serves a call with another model if all accounts of the requested one are out: cooling down,
 * with an open circuit, at their limit, or failing before they run anything.
 */
import { type ErrorCode, isGatewayError } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { exactIdOf, mayUse, protocolsOf } from '../../ports/models/model-defaults.ts';
import type { Admitted, Held } from '../call-record.ts';
import { checkByGuard } from '../guard.ts';
import { checkCandidates, isOfferedToo } from '../models/admit.ts';
import { checkMembers } from '../models/check-members.ts';
import type { ModelPlans } from '../models/model-plan.ts';
import type { RecordChecks } from '../ports/record-checks.ts';
import { limitFallback } from '../rates/limit-model.ts';
import { relayedChannels } from '../references/references.ts';
import { growHold } from '../settle/cover-prompt.ts';
import { holdFor } from '../settle/hold.ts';
import { coversModel } from '../settle/reserve.ts';
import type { UpstreamOutcome, Upstreams } from './attempt.ts';
import { callUpstream, isAbandoned } from './call-upstream.ts';
import { choose } from './choose-channel.ts';
import { type CallFailure, isGatewayCut } from './failure.ts';

export interface FallBackDeps {
  readonly records: RecordChecks;
  readonly plans: ModelPlans;
  readonly upstreams: Upstreams;
  reportUnbounded(modelId: string): void;
}

export interface FallenBack {
  readonly outcome: UpstreamOutcome;
  readonly served: Held;
}

/** The failures of an account: another account, or another model, may still serve the call. */
const accountFailures: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'model_not_found',
  'no_channel',
  'upstream_failed',
  'upstream_overloaded',
  'upstream_rate_limited',
]);

/** A call that may have run is not sent again: its operator would pay for two replies. */
export function mayFallBack(failure: CallFailure, { model }: Admitted): boolean {
  return model.fallbacks !== undefined && isAccountsFault(failure);
}

function isAccountsFault({ error, ending }: CallFailure): boolean {
  return ending === 'not_run' && accountFailures.has(error.code);
}

interface Fallback extends FallBackDeps {
  readonly held: Held;
  /** Models that were not asked, because their channels cool down. */
  readonly spared: Admitted[];
  /** The failure of the requested model. */
  failure: CallFailure;
}

/**
 * Asks the fallbacks of a call's model, in order, until one serves the call or may have run it. If
 * none did, those whose channels cool down are asked after all, the requested model first. The
 * error that the caller gets is that of the requested model, because the caller sends this one
 * again.
 */
export async function fallBack(
  failure: CallFailure,
  held: Held,
  deps: FallBackDeps,
): Promise<FallenBack> {
  const { admitted, settlement } = held;
  const fallback: Fallback = { ...deps, held, spared: [], failure };
  if (isSpared(failure.reason)) fallback.spared.push(admitted);
  const ended = (await askFallbacks(fallback)) ?? (await askSpared(fallback));
  if (ended !== undefined) return ended;
  settlement.serveWith(admitted.model, admitted.hold, admitted.metadata);
  return { served: held, outcome: { failure: fallback.failure } };
}

async function askFallbacks(fallback: Fallback): Promise<FallenBack | undefined> {
  const { spared, held, upstreams } = fallback;
  for (const modelId of held.admitted.model.fallbacks ?? []) {
    if (isAbandoned(held)) return undefined;
    const candidate = await candidateFor(modelId, fallback);
    if (candidate === undefined) continue;
    const choice = choose(candidate, nothingConsidered, upstreams);
    if (choice.kind === 'channel') {
      const ended = await askModel(candidate, fallback);
      if (ended !== undefined) return ended;
    } else if (isSpared(choice.reason)) spared.push(candidate);
  }
  return undefined;
}

/** A cooling channel still takes one call at a time where nothing else is left. */
async function askSpared(fallback: Fallback): Promise<FallenBack | undefined> {
  for (const candidate of fallback.spared) {
    if (isAbandoned(fallback.held)) return undefined;
    const ended = await askModel({ ...candidate, isLastModel: true }, fallback);
    if (ended !== undefined) return ended;
  }
  return undefined;
}

const nothingConsidered = { passed: [], hasTried: false, credentials: undefined };

/** A model with a busy channel may have another that cools down. */
function isSpared(reason: FailureReason): boolean {
  return reason === 'cooling_down' || reason === 'busy';
}

/** Asks one model. Undefined if it did not run the call, so that another may. */
async function askModel(candidate: Admitted, fallback: Fallback): Promise<FallenBack | undefined> {
  const { held, upstreams } = fallback;
  const served = await heldFor(candidate, fallback);
  if (served === undefined) return undefined;
  const isFallback = candidate.model !== held.admitted.model;
  if (isFallback) reportFallback(fallback.failure, held, served, upstreams.emit);
  const outcome = await callUpstream(served, upstreams, startOf(served));
  if ('reply' in outcome) {
    return {
      served,
      outcome: isFallback ? withModelNote(outcome, exactIdOf(candidate.model)) : outcome,
    };
  }
  const { failure } = outcome;
  if (!isFallback) fallback.failure = failure;
  // An account that a function names is known only now.
  else if (!candidate.isLastModel && isSpared(failure.reason)) fallback.spared.push(candidate);
  const { ending, reason } = failure;
  if (isGatewayCut(reason) || reason === 'caller_left') return { served, outcome };
  if (ending === 'not_run') return undefined;
  // An image that may have been made keeps its own error, which says so: that of the requested
  // model would invite the caller to buy it again.
  const { error } = candidate.call.operation.isBoughtOnce ? failure : fallback.failure;
  return { served, outcome: { failure: { ...failure, error } } };
}

/** Each model gets the whole time for a first byte. */
function startOf({ admitted }: Held): number {
  return admitted.received.settings.clock.monotonicMs();
}

/** Undefined if the key, the model or the host's guard does not allow it. */
async function candidateFor(
  modelId: string,
  { held: { admitted, settlement }, records, plans, upstreams }: Fallback,
): Promise<Admitted | undefined> {
  const { settings, ports } = admitted.received;
  const model = await ports.ask('catalog', 'find', records.isModelOrMissing, () =>
    settings.catalog.find(modelId),
  );
  const candidate = model ? await admittedWith(model, admitted, plans) : undefined;
  // The hold of a free call has no line that a charge could be booked on.
  if (candidate === undefined) return undefined;
  if (candidate.hold.nanos > 0n && settlement.reservation.nanos === 0n) return undefined;
  // Nor has it a line for a budget that is only for the other model.
  if (!coversModel(settlement.reservation, candidate)) return undefined;
  return ifGuardAllows(candidate, upstreams.emit);
}

async function admittedWith(
  model: Model,
  admitted: Admitted,
  plans: ModelPlans,
): Promise<Admitted | undefined> {
  const { call, key, route, received } = admitted;
  const isOffered = protocolsOf(model).includes(call.protocol) || isOfferedToo(model, route);
  if (!isOffered || !mayUse(key, model)) return undefined;
  try {
    checkCandidates(call, route.protocol, model);
    const plan = await plans.of(model, received.settings);
    const mayBeRelayed = (): boolean => relayedChannels({ key, plan, route }).length > 0;
    checkMembers(call, model, route.protocol, mayBeRelayed);
    const hold = holdFor(call, model);
    return { ...admitted, model, hold, plan, isLastModel: false };
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}

/** Its cost is held from here on. Undefined if its rate limits or the quota do not suffice. */
async function heldFor(
  candidate: Admitted,
  { held, reportUnbounded }: Fallback,
): Promise<Held | undefined> {
  const { settlement } = held;
  const { nanos, isBounded } = candidate.hold;
  if (held.rates !== undefined && !(await limitFallback(candidate, held.rates))) return undefined;
  if (!isBounded) reportUnbounded(candidate.model.id);
  const missing = nanos - settlement.heldNanos;
  if (missing > 0n && (await growHold(missing, held)) !== undefined) return undefined;
  settlement.serveWith(candidate.model, candidate.hold, candidate.metadata);
  return { ...held, admitted: candidate };
}

/** The call with the labels of this decision; undefined if the host's guard refuses the model. */
async function ifGuardAllows(
  admitted: Admitted,
  emit: EventListener,
): Promise<Admitted | undefined> {
  const { guard } = admitted.received.settings;
  if (guard === undefined) return admitted;
  try {
    return { ...admitted, metadata: await checkByGuard(guard, admitted, admitted.model, emit) };
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
}

function reportFallback(
  { reason }: CallFailure,
  { admitted: { received, model } }: Held,
  next: Held,
  emit: EventListener,
): void {
  emit({
    type: 'model_fallback',
    requestId: received.responseContext.requestId,
    modelId: model.id,
    fallbackId: next.admitted.model.id,
    reason,
  });
}

/** Adds the header that names the model. Ids may have characters that a header may not. */
function withModelNote(
  outcome: Extract<UpstreamOutcome, { readonly reply: unknown }>,
  modelId: string,
): UpstreamOutcome {
  const name = /^[!-~]+$/.test(modelId) ? modelId : encodeURIComponent(modelId);
  return { ...outcome, notes: { ...outcome.notes, 'x-tollgate-model': name } };
}
