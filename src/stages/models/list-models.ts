/**
 * Answers requests for the list of models or for one model, restricted to what the key and the
 * protocol allow.
 */
import type { JsonObject } from '../../json.ts';
import type { Model } from '../../ports/models/catalog.ts';
import { mayUse, protocolsOf, weightOf } from '../../ports/models/model-defaults.ts';
import type { Route } from '../../protocols/protocol.ts';
import type { Authenticated } from '../call-record.ts';
import {
  asListed,
  type ModelLookup,
  otherApi,
  unknownModel,
  visibleModels,
} from './model-errors.ts';

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
