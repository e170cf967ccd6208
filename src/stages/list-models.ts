/**
 * Answers requests for the list of models or for one model, restricted to what the key's group and
 * the protocol allow.
 */
import type { JsonObject } from '../json.ts';
import type { Model } from '../ports/catalog.ts';
import { protocolsOf, weightOf } from '../ports/model-defaults.ts';
import type { Route } from '../protocols/protocol.ts';
import { type ModelLookup, otherApi, unknownModel } from './admit.ts';
import type { Authenticated } from './call-record.ts';

type ModelsRoute = Extract<Route, { readonly kind: 'models' }>;

/**
 * @throws GatewayError `model_not_found`, the same for an unknown model and for one that this group
 *   must not see; for one that another API serves it names that API
 */
export async function listModels(
  route: ModelsRoute,
  caller: Authenticated,
  lookup: ModelLookup,
): Promise<JsonObject> {
  const { received, key } = caller;
  const { settings, ports, request } = received;
  const { models: lists } = route.caller;
  if (route.modelId !== undefined) {
    const model = await visibleModel(route.modelId, route, caller, lookup);
    return lists.one(model);
  }
  // Asked for together, so that a catalog that fails is reported once.
  const found = await ports.ask('catalog', 'list', lookup.records.areModelLists, () =>
    Promise.all(route.protocols.map((protocol) => settings.catalog.list(key.group, protocol))),
  );
  const served = found.flat().filter(takesCalls);
  const models = [...new Map(served.map((model) => [model.id, model])).values()];
  return lists.list(models, request.search);
}

/** A model whose channels all have weight 0 was taken out of service by an operator. */
function takesCalls({ channels }: Model): boolean {
  return channels.some((channel) => weightOf(channel) > 0);
}

async function visibleModel(
  modelId: string,
  { protocols, caller }: ModelsRoute,
  { key, received: { settings, ports } }: Authenticated,
  lookup: ModelLookup,
): Promise<Model> {
  const model = await ports.ask('catalog', 'find', lookup.records.isModelOrMissing, () =>
    settings.catalog.find(modelId),
  );
  if (!model?.groups.includes(key.group)) throw unknownModel(modelId, caller);
  if (!protocolsOf(model).some((protocol) => protocols.includes(protocol))) {
    throw otherApi({ modelId, model, key }, caller, lookup);
  }
  return model;
}
