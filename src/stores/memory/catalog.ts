/** A catalog that is one fixed list; a host that changes its models hands the gateway a new one. */
import type { Catalog, Model, ProtocolName } from '../../ports/catalog.ts';
import { protocolsOf } from '../../ports/model-defaults.ts';
import { checkModels } from './check-models.ts';

/** A {@link Catalog} that answers at once. */
export interface StaticCatalog extends Catalog {
  find(modelId: string): Model | undefined;
  list(group: string, protocol: ProtocolName): readonly Model[];
}

/**
 * A catalog of these models, listed in the order given. Reads the list once: later changes of the
 * array and of its models are not seen.
 *
 * @throws ConfigurationError that names the model and the cure
 */
export function staticCatalog(models: readonly Model[]): StaticCatalog {
  checkModels(models);
  return catalogOf(models);
}

/** The same of models that were checked. */
export function catalogOf(models: readonly Model[]): StaticCatalog {
  const byName = new Map<string, Model>();
  const lists = new Map<string, Model[]>();
  for (const model of models.map(ofOneShape)) {
    for (const name of [model.id, ...(model.aliases ?? [])]) byName.set(name, model);
    for (const list of listsOf(model)) {
      const listed = lists.get(list);
      if (listed === undefined) lists.set(list, [model]);
      else listed.push(model);
    }
  }
  const none: readonly Model[] = [];

  return {
    find: (modelId) => byName.get(modelId),
    list: (group, protocol) => lists.get(listName(group, protocol)) ?? none,
  };
}

/**
 * A copy, made member by member. V8 gives each `{ ...defaults, id }` a hidden class of its own, and
 * a member of ten thousand classes is looked up the long way by every call.
 */
function ofOneShape(model: Model): Model {
  // What is of a class has that shape, and may have members that a copy would not.
  const isPlain = Object.getPrototypeOf(model) === Object.prototype;
  return isPlain ? Object.assign({}, model) : model;
}

/** The lists a model stands in; a group or a protocol named twice counts once. */
function listsOf(model: Model): ReadonlySet<string> {
  const protocols = protocolsOf(model);
  return new Set(model.groups.flatMap((group) => protocols.map((name) => listName(group, name))));
}

// No protocol's name holds a slash, so no two pairs share a name.
function listName(group: string, protocol: ProtocolName): string {
  return `${protocol}/${group}`;
}
