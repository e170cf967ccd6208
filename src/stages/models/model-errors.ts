/**
 * The models that a key may use, and the errors for one that a caller names and may not, or can't,
 * use through this API.
 */

import { protocolNames } from '../../apis.ts';
import { GatewayError } from '../../errors.ts';
import type { ApiKey } from '../../ports/keys/key-store.ts';
import { likeliestName } from '../../ports/likely-names.ts';
import type { Model, ProtocolName } from '../../ports/models/catalog.ts';
import { exactIdOf, isAmong, mayUse, protocolsOf } from '../../ports/models/model-defaults.ts';
import type { Caller } from '../../protocols/protocol.ts';
import type { Authenticated } from '../call-record.ts';
import type { RecordChecks } from '../ports/record-checks.ts';

export interface ModelLookup {
  readonly records: RecordChecks;
  requestsFor(protocols: readonly string[]): string;
  /** Warns the host once if the key's group may use no model at all. */
  checkGroup(caller: Authenticated): Promise<void>;
}

export interface NamedModel {
  readonly modelId: string;
  readonly caller: Caller;
  readonly protocols: readonly ProtocolName[];
}

/** A key that may not use the model gets the same error as for an unknown one. */
export async function otherApi(
  named: NamedModel,
  model: Model,
  authenticated: Authenticated,
  lookup: ModelLookup,
): Promise<GatewayError> {
  const requests = lookup.requestsFor(protocolsOf(model));
  if (requests === '' || !mayUse(authenticated.key, model)) {
    return await unknownModel(named, authenticated, lookup);
  }
  return new GatewayError(
    'model_not_found',
    `The model ${quoted(named.modelId)} is not served by this API. Call it with ${requests}.`,
    { param: 'model' },
  );
}

/** The error for an unknown model, the same for a call and for `GET /v1/models/<id>`. */
export async function unknownModel(
  named: NamedModel,
  authenticated: Authenticated,
  lookup: ModelLookup,
): Promise<GatewayError> {
  const { models } = named.caller;
  const message =
    models.unknown?.(readable(named.modelId)) ??
    `There is no model ${quoted(named.modelId)} here. ` +
      (await remedyFor(named, authenticated, lookup));
  return new GatewayError('model_not_found', message, { param: 'model' });
}

async function remedyFor(
  { modelId, caller, protocols }: NamedModel,
  authenticated: Authenticated,
  { records }: ModelLookup,
): Promise<string> {
  const list = caller.models.request;
  try {
    const models = await visibleModels(authenticated, protocols, records);
    const meant = meantModel(modelId, models);
    if (meant !== undefined) return `Did you mean ${quoted(meant)}? ${list} lists the models.`;
  } catch {
    // The event `port_failed` has reported it.
  }
  return `List the models with ${list} and copy a name.`;
}

/** The model with the same name without a provider's prefix, or with one, or one letter off. */
function meantModel(modelId: string, models: readonly Model[]): string | undefined {
  const ids = models.map(({ id }) => id);
  const name = bareName(modelId);
  // Names of other lengths are not near, and are not compared letter by letter.
  const near = ids.filter((id) => Math.abs(id.length - modelId.length) <= 2);
  return ids.find((id) => bareName(id) === name) ?? likeliestName(modelId, near.slice(0, 100));
}

function bareName(modelId: string): string {
  return modelId.slice(modelId.lastIndexOf('/') + 1).toLowerCase();
}

/** Also checks whether the key's group may use any model, for the host. */
export async function modelNotAllowed(
  { modelId, caller }: NamedModel,
  model: Model,
  authenticated: Authenticated,
  { checkGroup }: ModelLookup,
): Promise<GatewayError> {
  await checkGroup(authenticated);
  const { key } = authenticated;
  const whose = model.groups.includes(key.group) ? 'This key' : "This key's group";
  return new GatewayError(
    'model_not_allowed',
    `${whose} may not use the model ${quoted(modelId)}. ` +
      `Choose a model from ${caller.models.request}, or ask whoever issued the key.`,
    { param: 'model', remedy: allowingRemedy(key, model) },
  );
}

function allowingRemedy({ group, models = [] }: ApiKey, model: Model): string {
  const id = JSON.stringify(model.id);
  if (model.groups.includes(group)) {
    return `The \`models\` of the key are [${someOf(models)}]: add ${id} there, if it may use it.`;
  }
  return (
    `The key is in the group ${JSON.stringify(group)}, and the \`groups\` of the model ${id} are ` +
    `[${someOf(model.groups)}]: add the group there, or give the key one of these.`
  );
}

function someOf(names: readonly string[]): string {
  return names
    .slice(0, 8)
    .map((name) => JSON.stringify(name))
    .join(', ');
}

function quoted(modelId: string): string {
  return JSON.stringify(readable(modelId));
}

/** The only input that error messages echo: truncated, and without control characters. */
function readable(modelId: string): string {
  return modelId.slice(0, 128).replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?');
}

type ListChecks = Pick<RecordChecks, 'areModelLists'>;

/** The models that a key may use. */
export async function visibleModels(
  authenticated: Authenticated,
  protocols: readonly ProtocolName[],
  checks: ListChecks,
): Promise<readonly Model[]> {
  const { models } = authenticated.key;
  const ofGroup = await modelsOfGroup(authenticated, protocols, checks);
  return ofGroup.filter((model) => isAmong(models, model)).map(asListed);
}

async function modelsOfGroup(
  { key, received: { settings, ports } }: Authenticated,
  protocols: readonly ProtocolName[],
  { areModelLists }: ListChecks,
): Promise<readonly Model[]> {
  // Asked for together, so that a catalog that fails is reported once.
  const found = await ports.ask('catalog', 'list', areModelLists, () =>
    Promise.all(protocols.map(async (protocol) => settings.catalog.list(key.group, protocol))),
  );
  return [...new Map(found.flat().map((model) => [exactIdOf(model), model])).values()];
}

/** The model by the id that callers send, with which they find it again. */
export function asListed(model: Model): Model {
  return model.exactId === undefined ? model : { ...model, id: model.exactId };
}

/** Bounds the memory; a host has far fewer groups. */
const maxGroups = 10_000;

/** Asks once per group; warns if no model lists it: its name is then misspelt on one side. */
export function groupCheck(records: ListChecks): (caller: Authenticated) => Promise<void> {
  const checked = new Set<string>();
  return async (caller) => {
    const { id, group } = caller.key;
    if (checked.has(group) || checked.size >= maxGroups) return;
    checked.add(group);
    try {
      if ((await modelsOfGroup(caller, protocolNames, records)).length > 0) return;
    } catch {
      // The event `port_failed` has reported it.
      return;
    }
    process.emitWarning(
      `The key ${JSON.stringify(id)} is in the group ${JSON.stringify(group)}, which no model ` +
        'lists in its `groups`: check the spelling, or add the group to a model. ' +
        'Wildcards do not count. This warning is given once for each group.',
      { type: 'TollgateWarning', code: 'TOLLGATE_GROUP_WITHOUT_MODELS' },
    );
  };
}
