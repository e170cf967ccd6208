/**
 * Validates a list of models before a gateway serves it; each message names the model and says how
 * to fix it.
 */
import { dialects } from '../../dialects/table.ts';
import { ConfigurationError } from '../../errors.ts';
import type { Channel, Model } from '../../ports/catalog.ts';
import { embeddingProblem } from '../../ports/embedding-models.ts';
import { protocolsOf } from '../../ports/model-defaults.ts';
import { checkSetUp, type Path } from '../../ports/set-up.ts';
import { isServed } from '../../protocols/protocol.ts';
import { protocols } from '../../protocols/table.ts';
import { baseUrlProblem, emptyCredentialRemedy } from './channel-set-up.ts';
import { modelSchema, remedyOf } from './model-schema.ts';

/**
 * Checks models of unknown origin: a host's JavaScript, or a file.
 *
 * @throws ConfigurationError at the first model that can't be served as it is
 */
export function checkModels(models: unknown): asserts models is readonly Model[] {
  if (!Array.isArray(models)) {
    throw new ConfigurationError('staticCatalog: models must be a list. Give it [] for none.');
  }
  const list: readonly Model[] = models;
  const byName = new Map<string, Model>();
  const accounts = new Map<string, Channel>();
  for (const [index, model] of list.entries()) {
    checkMembers(model, index);
    checkNames(model, byName);
    checkEmbeddings(model);
    for (const channel of model.channels) {
      checkDialect(model, channel);
      checkBaseUrl(model, channel);
      checkAccount(model, channel, accounts);
    }
    if (new Set(model.channels.map((channel) => channel.id)).size < model.channels.length) {
      refuse(model, 'two of its channels have the same id. Give each account its own.');
    }
  }
  for (const model of list) checkFallbacks(model, byName);
}

function checkMembers(model: Model, index: number): void {
  const subject = typeof model?.id === 'string' ? nameOf(model) : 'staticCatalog';
  checkSetUp(modelSchema, model, {
    root: `${subject}: models[${index}]`,
    remedyFor: (path) => remedyOf(path) ?? credentialRemedy(model, path),
    names: 'the types Model and Channel',
  });
}

/** A credential is missing mostly because its environment variable is not set. */
function credentialRemedy(model: unknown, path: Path): string | undefined {
  if (path.at(-1) !== 'credential') return undefined;
  const channel = valueAt(model, path.slice(0, -1));
  const credential = valueAt(channel, ['credential']) ?? '';
  return credential === '' ? emptyCredentialRemedy(valueAt(channel, ['dialect'])) : undefined;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (holder, name) =>
      typeof holder === 'object' && holder !== null ? Reflect.get(holder, name) : undefined,
    value,
  );
}

function checkBaseUrl(model: Model, channel: Channel): void {
  const problem = baseUrlProblem(channel);
  if (problem !== undefined) refuse(model, `channel "${channel.id}": ${problem}`);
}

function checkNames(model: Model, byName: Map<string, Model>): void {
  for (const name of [model.id, ...(model.aliases ?? [])]) {
    if (byName.has(name)) {
      refuse(
        model,
        `the id or alias "${name}" is taken. Ids and aliases of all models must be distinct.`,
      );
    }
    byName.set(name, model);
  }
}

function checkEmbeddings(model: Model): void {
  const wrong = embeddingProblem(model);
  if (wrong !== undefined) refuse(model, wrong.problem);
}

/** A fallback with a wrong id would be noticed only in an outage. */
function checkFallbacks(model: Model, byName: ReadonlyMap<string, Model>): void {
  for (const id of model.fallbacks ?? []) {
    const fallback = byName.get(id);
    if (fallback === undefined || fallback === model) {
      refuse(model, `its fallback "${id}" is no other model. Give the id of one, or remove it.`);
    }
    if (model.price.per === 'free' && fallback.price.per !== 'free') {
      refuse(model, `its fallback "${id}" has a price. A free model falls back to free ones only.`);
    }
  }
}

function checkDialect(model: Model, { id, dialect }: Channel): void {
  const offered = protocolsOf(model);
  if (offered.some((name) => isServed(protocols[name], dialects[dialect]))) return;
  refuse(
    model,
    `channel "${id}" of the dialect ${dialect} can't serve ${offered.join(' or ')}, ` +
      'which is all that the model offers. Change one of the two, or remove the channel.',
  );
}

/** A channel id names one upstream account: models that use it share its health and limits. */
function checkAccount(model: Model, channel: Channel, accounts: Map<string, Channel>): void {
  const known = accounts.get(channel.id);
  if (known === undefined) {
    accounts.set(channel.id, channel);
    return;
  }
  for (const member of ['dialect', 'baseUrl', 'credential'] as const) {
    if (known[member] === channel[member]) continue;
    refuse(
      model,
      `channel "${channel.id}" has another ${member} than under another model. One id means one ` +
        'account: make them agree, or use two ids.',
    );
  }
}

function refuse(model: Pick<Model, 'id'>, sentence: string): never {
  throw new ConfigurationError(`${nameOf(model)}: ${sentence}`);
}

function nameOf({ id }: Pick<Model, 'id'>): string {
  return `Model "${id}"`;
}
