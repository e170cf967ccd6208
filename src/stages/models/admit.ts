/**
 * Finds the model that a call names, checks that the key may use it, and resolves what the call
 * refers to. It also lists the models that a key may use.
 */
import type { FairShares } from '../../bytes/body/fair-shares.ts';
import type { Call } from '../../call.ts';
import { type GatewayError, invalidRequest } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { mayUse, protocolsOf, weightOf } from '../../ports/models/model-defaults.ts';
import type { CallRoute, Protocol, Route } from '../../protocols/protocol.ts';
import type { Admitted, Authenticated, Read } from '../call-record.ts';
import { isPending, whenKnown } from '../ports/port-calls.ts';
import { relayedChannels, resolveReferences } from '../references/references.ts';
import { checkMembers } from './check-members.ts';
import {
  asListed,
  type ModelLookup,
  modelNotAllowed,
  type NamedModel,
  otherApi,
  unknownModel,
  visibleModels,
} from './model-errors.ts';
import type { ModelPlan, ModelPlans } from './model-plan.ts';

export interface AdmitDeps extends ModelLookup {
  readonly plans: ModelPlans;
  readonly intake: { readonly bodies: FairShares };
}

export type AdmittedCall = Pick<Admitted, 'model' | 'plan' | 'call' | 'references'>;

/**
 * Returns the model with this id or alias, compared byte for byte, and the call with what it refers
 * to.
 */
export function admit(read: Read, lookup: AdmitDeps): MaybePromise<AdmittedCall> {
  const { call, received } = read;
  const { settings, ports } = received;
  received.progress.requestedModel = call.modelId;
  const found = ports.ask('catalog', 'find', lookup.records.isModelOrMissing, () =>
    settings.catalog.find(call.modelId),
  );
  return whenKnown(found, (model) => admitTo(model, read, lookup));
}

function admitTo(
  model: Model | undefined,
  read: Read,
  lookup: AdmitDeps,
): MaybePromise<AdmittedCall> {
  const { call, key, route, received } = read;
  const { protocol } = route;
  if (!model) return refused(unknownModel(namedBy(read), read, lookup));
  received.progress.modelId = model.id;
  if (!protocolsOf(model).includes(call.protocol) && !isOfferedToo(model, route)) {
    return refused(otherApi(namedBy(read), model, read, lookup));
  }
  if (!mayUse(key, model)) {
    return refused(modelNotAllowed(namedBy(read), model, read, lookup));
  }
  checkCandidates(call, protocol, model);
  const planned = lookup.plans.of(model, received.settings);
  return isPending(planned)
    ? planned.then((plan) => admitWith(plan, model, read, lookup))
    : admitWith(planned, model, read, lookup);
}

function admitWith(
  plan: ModelPlan,
  model: Model,
  read: Read,
  lookup: AdmitDeps,
): MaybePromise<AdmittedCall> {
  const { call, key, route } = read;
  const mayBeRelayed = (): boolean => relayedChannels({ key, plan, route }).length > 0;
  checkMembers(call, model, route.protocol, mayBeRelayed);
  if (call.references === undefined) return { model, plan, call };
  const resolved = resolveReferences(read, call.references, plan, lookup.intake.bodies);
  return resolved.then(({ call, references }) => ({ model, plan, call, references }));
}

async function refused(error: Promise<GatewayError>): Promise<never> {
  throw await error;
}

function namedBy({ call, route }: Read): NamedModel {
  const { caller } = route.protocol;
  return { modelId: call.modelId, caller, protocols: [call.protocol] };
}

export function isOfferedToo(model: Model, { alsoFor }: Pick<CallRoute, 'alsoFor'>): boolean {
  return alsoFor !== undefined && protocolsOf(model).some((name) => alsoFor.includes(name));
}

export function checkCandidates(
  { demand }: Call,
  { candidates: { member: param, maximum } }: Protocol,
  { maxCandidates = maximum }: Model,
): void {
  if (demand.candidates <= maxCandidates) return;
  throw invalidRequest(`\`${param}\` may be at most ${maxCandidates} for this model.`, param);
}

type ModelsRoute = Extract<Route, { readonly kind: 'models' }>;

export async function listModels(
  route: ModelsRoute,
  caller: Authenticated,
  lookup: ModelLookup,
): Promise<JsonObject> {
  const { models: lists } = route.caller;
  if (route.modelId !== undefined) {
    return lists.one(asListed(await visibleModel(route.modelId, route, caller, lookup)));
  }
  const visible = await visibleModels(caller, route.protocols, lookup.records);
  if (visible.length === 0) await lookup.checkGroup(caller);
  return lists.list(visible.filter(takesCalls), caller.received.request.search);
}

/** A model whose channels all have weight 0 was taken out of service by an operator. */
function takesCalls({ channels }: Model): boolean {
  return channels.some((channel) => weightOf(channel) > 0);
}

async function visibleModel(
  modelId: string,
  { protocols, caller }: ModelsRoute,
  authenticated: Authenticated,
  lookup: ModelLookup,
): Promise<Model> {
  const { key, received } = authenticated;
  const model = await received.ports.ask('catalog', 'find', lookup.records.isModelOrMissing, () =>
    received.settings.catalog.find(modelId),
  );
  const named = { modelId, caller, protocols };
  if (!model || !mayUse(key, model)) throw await unknownModel(named, authenticated, lookup);
  if (!protocolsOf(model).some((protocol) => protocols.includes(protocol))) {
    throw await otherApi(named, model, authenticated, lookup);
  }
  return model;
}
