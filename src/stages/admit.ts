/**
 * Finds the model that a call names, checks that the key's group may use it, and resolves what the
 * call refers to.
 */
import type { FairShares } from '../bytes/body/fair-shares.ts';
import type { Call } from '../call.ts';
import { GatewayError } from '../errors.ts';
import type { Model } from '../ports/catalog.ts';
import type { ApiKey } from '../ports/key-store.ts';
import { protocolsOf } from '../ports/model-defaults.ts';
import type { Caller, CallRoute, Protocol } from '../protocols/protocol.ts';
import type { Admitted, Read } from './call-record.ts';
import { checkMembers } from './check-members.ts';
import type { ModelPlans } from './model-plan.ts';
import type { RecordChecks } from './record-checks.ts';
import { resolveReferences } from './references.ts';
import { relayedChannels } from './relayed-channels.ts';

/** What is needed to find a model, or to say why there is none. */
export interface ModelLookup {
  readonly records: RecordChecks;
  /** The requests that call models of these protocols; empty if none does. */
  requestsFor(protocols: readonly string[]): string;
}

/** The parts of a gateway that `admit` needs. */
export interface AdmitDeps extends ModelLookup {
  readonly plans: ModelPlans;
  /** Limits the memory that the request bodies of one key may take. */
  readonly intake: { readonly bodies: FairShares };
}

/** What a key may call: a model, and what the call refers to. */
export type AdmittedCall = Pick<Admitted, 'model' | 'plan' | 'call' | 'references'>;

/**
 * Returns the model with this id or alias, compared byte for byte, and the call with what it refers
 * to.
 *
 * @throws GatewayError `model_not_found`, `model_not_allowed`, `store_unavailable`,
 *   `invalid_request` for members that the model does not allow, and as `resolveReferences`
 */
export async function admit(read: Read, lookup: AdmitDeps): Promise<AdmittedCall> {
  const { call, key, route, received } = read;
  const { protocol } = route;
  const { settings, ports } = received;
  received.progress.requestedModel = call.modelId;
  const model = await ports.ask('catalog', 'find', lookup.records.isModelOrMissing, () =>
    settings.catalog.find(call.modelId),
  );
  if (!model) throw unknownModel(call.modelId, protocol.caller);
  received.progress.modelId = model.id;
  if (!protocolsOf(model).includes(call.protocol) && !isOfferedToo(model, route)) {
    throw otherApi({ modelId: call.modelId, model, key }, protocol.caller, lookup);
  }
  if (!model.groups.includes(key.group)) {
    throw new GatewayError(
      'model_not_allowed',
      `This key's group may not use the model ${named(call.modelId)}.`,
      { param: 'model' },
    );
  }
  checkCandidates(call, protocol, model);
  const plan = lookup.plans.of(model, settings);
  checkMembers(call, model, protocol, () => relayedChannels({ key, plan, route }).length > 0);
  if (call.references === undefined) return { model, plan, call };
  const resolved = await resolveReferences(read, call.references, plan, lookup.intake.bodies);
  return { model, plan, call: resolved.call, references: resolved.references };
}

/** Whether the model offers another API to which this route belongs too. */
export function isOfferedToo(model: Model, { alsoFor }: Pick<CallRoute, 'alsoFor'>): boolean {
  return alsoFor !== undefined && protocolsOf(model).some((name) => alsoFor.includes(name));
}

/** @throws GatewayError `invalid_request` if the model makes fewer candidates than requested */
export function checkCandidates(
  { demand }: Call,
  { candidates: { member: param, maximum } }: Protocol,
  { maxCandidates = maximum }: Model,
): void {
  if (demand.candidates <= maxCandidates) return;
  throw new GatewayError(
    'invalid_request',
    `\`${param}\` may be at most ${maxCandidates} for this model.`,
    { param },
  );
}

/** The model that was found under the id that a caller named. */
interface FoundModel {
  readonly modelId: string;
  readonly model: Model;
  readonly key: ApiKey;
}

/**
 * The error for a model that another API of the gateway serves. A key that may not use the model
 * gets the same error as for an unknown one.
 */
export function otherApi(
  { modelId, model, key }: FoundModel,
  caller: Caller,
  { requestsFor }: ModelLookup,
): GatewayError {
  const requests = requestsFor(protocolsOf(model));
  if (requests === '' || !model.groups.includes(key.group)) return unknownModel(modelId, caller);
  return new GatewayError(
    'model_not_found',
    `The model ${named(modelId)} is not served by this API. Call it with ${requests}.`,
    { param: 'model' },
  );
}

/** The error for an unknown model, the same for a call and for `GET /v1/models/<id>`. */
export function unknownModel(modelId: string, { models }: Caller): GatewayError {
  return new GatewayError(
    'model_not_found',
    models.unknown?.(readable(modelId)) ??
      `There is no model ${named(modelId)} here. ` +
        `List the models with ${models.request} and copy a name.`,
    { param: 'model' },
  );
}

/** Quotes a model's name. */
function named(modelId: string): string {
  return JSON.stringify(readable(modelId));
}

/**
 * A model's name, the only input that error messages echo: truncated, and without control
 * characters.
 */
function readable(modelId: string): string {
  return modelId.slice(0, 128).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?');
}
