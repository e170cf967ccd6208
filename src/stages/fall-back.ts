/**
 * Serves a call with another model if all accounts of the requested one are out: cooling down,
 * with an open circuit, at their limit, or failing before they run anything.
 */
import { type ErrorCode, isGatewayError } from '../errors.ts';
import type { EventListener } from '../events.ts';
import type { Model } from '../ports/catalog.ts';
import { protocolsOf } from '../ports/model-defaults.ts';
import { checkCandidates, isOfferedToo } from './admit.ts';
import type { Admitted, Held } from './call-record.ts';
import { callUpstream } from './call-upstream.ts';
import { checkMembers } from './check-members.ts';
import { growHold } from './cover-prompt.ts';
import type { CallFailure } from './failure.ts';
import { checkByGuard } from './guard.ts';
import { holdFor } from './hold.ts';
import { limitFallback } from './limit-model.ts';
import type { ModelPlans } from './model-plan.ts';
import type { RecordChecks } from './record-checks.ts';
import type { UpstreamOutcome, Upstreams } from './try-channel.ts';

/** The parts of a gateway that `fallBack` needs. */
export interface FallBackDeps {
  readonly records: RecordChecks;
  readonly plans: ModelPlans;
  readonly upstreams: Upstreams;
  reportUnbounded(modelId: string): void;
}

/** The outcome of a call, and the call with the model that has served it. */
export interface FallenBack {
  readonly outcome: UpstreamOutcome;
  readonly served: Held;
}

/** The failures of an account: another account, or another model, may still serve the call. */
const accountFailures: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'no_channel',
  'upstream_failed',
  'upstream_overloaded',
  'upstream_rate_limited',
]);

/**
 * True if another model may be asked after this failure. A call that may have run is not sent to
 * another model, because the caller would pay for one reply and its operator for two.
 */
export function mayFallBack(failure: CallFailure, { model }: Admitted): boolean {
  return model.fallbacks !== undefined && isAccountsFault(failure);
}

/** True if the accounts are out, and nothing has run on them. */
function isAccountsFault({ error, ending }: CallFailure): boolean {
  return ending === 'not_run' && accountFailures.has(error.code);
}

/**
 * Asks the fallbacks of a call's model, in order, until one serves the call or fails in a way that
 * is not its accounts' fault. If all of their accounts are out too, the first failure stands, or
 * an account of the requested model that cools down is tried after all.
 */
export async function fallBack(
  failure: CallFailure,
  held: Held,
  deps: FallBackDeps,
): Promise<FallenBack> {
  const { running, model } = held.admitted;
  for (const modelId of model.fallbacks ?? []) {
    if (running.caller.isDisconnected && !held.continuesAfterDisconnect) break;
    const next = await heldFor(modelId, held, deps);
    if (next === undefined) continue;
    reportFallback(failure, held, next, deps.upstreams.emit);
    const outcome = await callUpstream(next, deps.upstreams, startOf(next));
    if ('reply' in outcome) return { served: next, outcome: withModelNote(outcome, modelId) };
    if (!isAccountsFault(outcome.failure)) return { served: next, outcome };
  }
  const { settlement, admitted } = held;
  settlement.serveWith(admitted.model, admitted.hold, admitted.metadata);
  // A cooling channel still takes one call at a time where nothing else is left.
  if (failure.reason !== 'cooling_down') return { served: held, outcome: { failure } };
  const last = { ...held, admitted: { ...admitted, isLastModel: true } };
  return { served: last, outcome: await callUpstream(last, deps.upstreams, startOf(last)) };
}

/** Each model gets the whole time for a first byte. */
function startOf({ admitted }: Held): number {
  return admitted.received.settings.clock.monotonicMs();
}

/**
 * The call with another model, whose cost is held from here on; undefined if the key may not use
 * that model, if it does not support the request, or if its rate limits or the quota do not suffice
 * for it.
 */
async function heldFor(
  modelId: string,
  held: Held,
  { records, plans, upstreams, reportUnbounded }: FallBackDeps,
): Promise<Held | undefined> {
  const { admitted, settlement } = held;
  const { settings, ports } = admitted.received;
  const model = await ports.ask('catalog', 'find', records.isModelOrMissing, () =>
    settings.catalog.find(modelId),
  );
  if (!model) return undefined;
  const candidate = admittedWith(model, admitted, plans);
  const next = candidate && (await ifGuardAllows(candidate, upstreams.emit));
  if (next === undefined) return undefined;
  const { nanos, isBounded } = next.hold;
  // The hold of a free call has no line that a charge could be booked on.
  if (nanos > 0n && settlement.reservation.nanos === 0n) return undefined;
  if (held.rates !== undefined && !(await limitFallback(next, held.rates))) return undefined;
  if (!isBounded) reportUnbounded(model.id);
  const missing = nanos - settlement.heldNanos();
  if (missing > 0n && (await growHold(missing, held)) !== undefined) return undefined;
  settlement.serveWith(next.model, next.hold, next.metadata);
  return { ...held, admitted: next };
}

function admittedWith(model: Model, admitted: Admitted, plans: ModelPlans): Admitted | undefined {
  const { call, key, route, received } = admitted;
  const isOffered = protocolsOf(model).includes(call.protocol) || isOfferedToo(model, route);
  if (!isOffered || !model.groups.includes(key.group)) return undefined;
  try {
    checkCandidates(call, route.protocol, model);
    checkMembers(call, model, route.protocol);
    const hold = holdFor(call, model);
    const plan = plans.of(model, received.settings);
    return { ...admitted, model, hold, plan, isLastModel: true };
  } catch (error) {
    if (isGatewayError(error)) return undefined;
    throw error;
  }
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
