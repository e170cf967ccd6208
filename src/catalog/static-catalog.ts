/** A catalog of a fixed list of models; to change them, a host gives the gateway a new catalog. */
import { ConfigurationError } from '../errors.ts';
import type { Catalog, Model, ProtocolName } from '../ports/models/catalog.ts';
import { isModel, type ListedModel } from '../ports/models/listed-model.ts';
import { protocolsOf } from '../ports/models/model-defaults.ts';
import { refuseProblems } from '../ports/problems.ts';
import { modelProblems } from './model-problems.ts';
import { wildcardsIn } from './wildcards.ts';

/** A {@link Catalog} whose methods return directly, never a promise. */
export interface StaticCatalog extends Catalog {
  find(modelId: string): Model | undefined;
  list(group: string, protocol: ProtocolName): readonly Model[];
  /** All models and wildcards, in the order given; for operators. */
  models(): readonly ListedModel[];
}

/**
 * A catalog of these models, listed in the order given. Reads the list once: later changes of the
 * array and of its models are not seen.
 *
 * @throws ConfigurationError that names the model and says how to fix it
 */
export function staticCatalog(models: readonly ListedModel[]): StaticCatalog {
  checkModels(models);
  return catalogOf(models);
}

/** Checks models of unknown origin: those of a host in JavaScript. */
function checkModels(models: unknown): asserts models is readonly ListedModel[] {
  if (!Array.isArray(models)) {
    throw new ConfigurationError('staticCatalog: models must be a list. Give it [] for none.');
  }
  const [first, ...others] = modelProblems(models);
  if (first === undefined) return;
  const sentence = first.sentence.replace(/^models/, 'staticCatalog: models');
  refuseProblems([{ ...first, sentence }, ...others]);
}

/** The same as {@link staticCatalog}, for models that have been checked. */
export function catalogOf(models: readonly ListedModel[]): StaticCatalog {
  const byName = new Map<string, Model>();
  const lists = new Map<string, Model[]>();
  const all = models.map(withSharedShape);
  for (const model of all.filter(isModel)) {
    for (const name of [model.id, ...(model.aliases ?? [])]) byName.set(name, model);
    for (const list of listsOf(model)) {
      const listed = lists.get(list);
      if (listed === undefined) lists.set(list, [model]);
      else listed.push(model);
    }
  }
  const none: readonly Model[] = [];
  const wildcards = wildcardsIn(all);

  return {
    find:
      wildcards === undefined
        ? (modelId) => byName.get(modelId)
        : (modelId) => byName.get(modelId) ?? wildcards(modelId),
    list: (group, protocol) => lists.get(listName(group, protocol)) ?? none,
    models: () => all,
  };
}

/**
 * A copy, made member by member. V8 gives each `{ ...defaults, id }` a separate hidden class, and
 * with ten thousand of these every property access in a call would be slow.
 */
function withSharedShape(model: ListedModel): ListedModel {
  // An instance of a class already shares its shape, and a copy would lose inherited members.
  const isPlain = Object.getPrototypeOf(model) === Object.prototype;
  return isPlain ? Object.assign({}, model) : model;
}

function listsOf(model: Model): ReadonlySet<string> {
  const protocols = protocolsOf(model);
  return new Set(model.groups.flatMap((group) => protocols.map((name) => listName(group, name))));
}

// No protocol's name contains a slash, so the names of lists are unique.
function listName(group: string, protocol: ProtocolName): string {
  return `${protocol}/${group}`;
}
