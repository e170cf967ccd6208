/**
 * A catalog stored as versions in a database. Publishing writes a new version, and every gateway
 * serves it once it polls the version number. An invalid version changes nothing.
 */
import { type Clock, systemClock } from '../clock.ts';
import { ConfigurationError, errorClass, isConfigurationError } from '../errors.ts';
import { quietListener } from '../event-filter.ts';
import type { EventListener } from '../events.ts';
import { warningListener } from '../host-warnings.ts';
import {
  isJsonObject,
  items,
  type JsonValue,
  jsonWithBigints,
  member,
  parseJson,
} from '../json.ts';
import type { Price } from '../money.ts';
import { type MaybePromise, StoreUnavailable } from '../ports/call-options.ts';
import type { Channel, ChannelCost } from '../ports/catalog.ts';
import type { ListedModel, PriceOfListed } from '../ports/listed-model.ts';
import { checkSetUp } from '../ports/set-up.ts';
import { priceToJson } from '../prices/codec.ts';
import type { PriceJson } from '../prices/price-json.ts';
import { priceSchema } from '../prices/schema.ts';
import { credentialReader, isCloudReference, type ReadCredential } from './credentials.ts';
import { type JsonSources, modelsFrom } from './model-json.ts';
import { catalogOf, type StaticCatalog } from './static-catalog.ts';

/** Refers to a secret: an environment variable, or a name that the host resolves. */
export type CredentialReference = { readonly env: string } | { readonly name: string };

/** A channel as stored in the table, with a reference in place of its secret. */
export interface PublishedChannel extends Omit<Channel, 'credential'> {
  readonly credential: CredentialReference;
}

/** A model as stored in the table. */
export interface PublishedModel extends Omit<ListedModel, 'channels' | 'price'> {
  /** Of a wildcard it may be the name of a provider in the list of `prices`. */
  readonly price: Price | { readonly from: string };
  readonly channels: readonly PublishedChannel[];
}

/** How secrets are resolved, how new versions are reported, and how often the table is polled. */
export interface PublishedCatalogOptions {
  /** Resolves a `{ "name": "…" }` to its secret. Called once per name and version. */
  readonly credentials?: (name: string) => MaybePromise<string>;
  /** Has the prices of wildcards, such as `pricesFrom({ calcPrice })`. */
  readonly prices?: PriceOfListed;
  /** Receives `catalog_loaded` and `catalog_refused`. May be the gateway's own listener. */
  readonly onEvent?: EventListener;
  readonly clock?: Clock;
  /** How often the version or the file is checked for changes. Default: every 2 s. */
  readonly pollMs?: number;
}

/** A {@link StaticCatalog} of the last valid version. */
export interface PublishedCatalog extends StaticCatalog {
  /**
   * Writes a new version and serves it here immediately; other processes serve it after their next
   * poll. A version that this process can't serve, even if only a secret is missing, is not
   * written, because a starting gateway would have no other version to serve.
   *
   * @throws ConfigurationError that names the model and says how to fix it; StoreUnavailable
   */
  publish(models: readonly PublishedModel[]): Promise<void>;
  /**
   * Publishes a version in which a channel has another weight, priority or cost, in all its models
   * or in one. Returns the ids of the changed models; where there are none, nothing is published.
   *
   * @throws ConfigurationError, as `publish` does; StoreUnavailable where other processes keep
   *   publishing
   */
  changeChannel(channelId: string, change: ChannelChange): Promise<readonly string[]>;
  /** Stops polling. The last valid version is still served. */
  close(): void;
}

/** What may be changed of a published channel; members that are left out stay as they are. */
export interface ChannelChange {
  readonly weight?: number;
  readonly priority?: number;
  /** What it costs the operator; `null` removes it. */
  readonly cost?: ChannelCost | null;
  /** Changes the channel in this model alone. Default: in all its models. */
  readonly modelId?: string;
}

/** The table of versions. Versions only grow; 0 means that nothing has been published. */
export interface CatalogTable {
  version(): MaybePromise<bigint>;
  /** The newest version, with its models as JSON text; undefined where there is none. */
  read(): MaybePromise<{ readonly version: bigint; readonly models: string | undefined }>;
  /**
   * Adds a version, given the models as JSON text. With `after`, only if that is still the newest
   * version; returns whether it was added.
   */
  add(models: string, after?: bigint): MaybePromise<boolean>;
}

/**
 * A catalog that polls a table.
 *
 * @param maker the name of the function that makes the catalog, for events and error messages
 * @throws ConfigurationError that names the model and says how to fix it; StoreUnavailable
 */
export async function publishedCatalog(
  maker: string,
  table: CatalogTable,
  options: PublishedCatalogOptions,
): Promise<PublishedCatalog> {
  const { credentials, prices, pollMs = 2_000, clock = systemClock() } = options;
  const { onEvent = warningListener() } = options;
  const sources = (): JsonSources => ({
    credential: credentialReader({ credentials, allowSecretsInFile: false, clock }),
    prices,
  });
  const emit = quietListener(() => onEvent);
  let current = await readVersion(maker, table, sources());
  let polling: Promise<void> | undefined;
  let lastReported: string | undefined;

  const read = async (): Promise<void> => {
    if ((await table.version()) === current.version) return;
    current = await readVersion(maker, table, sources());
    lastReported = undefined;
    emit({ type: 'catalog_loaded', source: maker, models: current.count });
  };
  /** Reports a problem once; each poll tries again, since a missing secret may be added later. */
  const refuse = (error: unknown): void => {
    const reason = isConfigurationError(error) ? error.message : errorClass(error);
    if (lastReported !== reason) emit({ type: 'catalog_refused', source: maker, reason });
    lastReported = reason;
  };
  const poll = (): Promise<void> => {
    polling ??= read().finally(() => {
      polling = undefined;
    });
    return polling;
  };
  const close = clock.every(pollMs, () => {
    if (polling === undefined) poll().catch(refuse);
  });
  const serveNewest = async (): Promise<void> => {
    // A poll that was in flight may have read the version before.
    await polling?.catch(() => {});
    await poll();
  };

  return {
    find: (modelId) => current.catalog.find(modelId),
    list: (group, protocol) => current.catalog.list(group, protocol),
    models: () => current.catalog.models(),
    publish: async (models) => {
      await table.add(await textOf(maker, models, sources()));
      await serveNewest();
    },
    changeChannel: async (channelId, change) => {
      const edit = { channelId, change };
      const changed = await changeNewest(maker, table, edit, sources());
      if (changed.length > 0) await serveNewest();
      return changed;
    },
    close,
  };
}

interface Version {
  readonly version: bigint;
  readonly catalog: StaticCatalog;
  readonly count: number;
}

async function readVersion(
  maker: string,
  table: CatalogTable,
  sources: JsonSources,
): Promise<Version> {
  const { version, models: text } = await table.read();
  const models = await checked(maker, parseJson(text ?? '[]'), sources);
  return { version, catalog: catalogOf(models), count: models.length };
}

/** How often an edit is tried while other processes publish. */
const maxTries = 20;

/** Edits the JSON of the newest version, so that references to secrets stay as they are. */
async function changeNewest(
  maker: string,
  table: CatalogTable,
  { channelId, change }: { readonly channelId: string; readonly change: ChannelChange },
  sources: JsonSources,
): Promise<readonly string[]> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const { version, models: text } = await table.read();
    const models = items(parseJson(text ?? '[]'));
    const edited = models.map((model) => withChangedChannel(model, channelId, change));
    const changed = edited.filter((model, index) => model !== models[index]);
    if (changed.length === 0) return [];
    const newText = jsonWithBigints(edited);
    await checked(maker, parseJson(newText), sources);
    if (await table.add(newText, version))
      return changed.map((model) => String(member(model, 'id')));
  }
  throw new StoreUnavailable('other processes kept publishing', { outcome: 'not_done' });
}

/** The model with the changed channel, or the same value if it does not have it. */
function withChangedChannel(
  model: JsonValue,
  channelId: string,
  { modelId, cost, weight, priority }: ChannelChange,
): JsonValue {
  const channels = items(member(model, 'channels'));
  const isMeant = modelId === undefined || member(model, 'id') === modelId;
  if (!isMeant || !isJsonObject(model)) return model;
  if (!channels.some((channel) => member(channel, 'id') === channelId)) return model;
  const shares = {
    ...(weight === undefined ? {} : { weight }),
    ...(priority === undefined ? {} : { priority }),
  };
  const edit = (channel: JsonValue): JsonValue => {
    if (!isJsonObject(channel) || member(channel, 'id') !== channelId) return channel;
    const { cost: before, ...rest } = channel;
    const costJson = cost === undefined ? before : cost === null ? undefined : jsonOf(cost);
    return { ...rest, ...shares, ...(costJson === undefined ? {} : { cost: costJson }) };
  };
  return { ...model, channels: channels.map(edit) };
}

/** @throws ConfigurationError if the price is invalid */
function jsonOf(cost: ChannelCost): JsonValue | undefined {
  return cost === 'reported' ? cost : parseJson(jsonWithBigints(priceJsonAt(cost, 'cost')));
}

/** The models as JSON text, after checking that they are valid and contain no secret. */
async function textOf(
  maker: string,
  models: readonly PublishedModel[],
  sources: JsonSources,
): Promise<string> {
  const text = jsonWithBigints(models.map(modelToJson));
  await checked(maker, parseJson(text), { ...sources, credential: readReference });
  await checked(maker, parseJson(text), sources);
  return text;
}

/** Converts prices to decimal strings; other problems are found by the check of the text. */
function modelToJson(model: PublishedModel, index: number): object {
  if (!isJsonObject(model)) return model;
  const path = `models[${index}]`;
  const { price, channels } = model;
  if (!Array.isArray(channels)) return { ...model, price: modelPriceJson(price, `${path}.price`) };
  return {
    ...model,
    price: modelPriceJson(price, `${path}.price`),
    channels: channels.map((channel: PublishedChannel, at) =>
      channel?.cost === undefined || channel.cost === 'reported'
        ? channel
        : { ...channel, cost: priceJsonAt(channel.cost, `${path}.channels[${at}].cost`) },
    ),
  };
}

function modelPriceJson(price: PublishedModel['price'], path: string): object {
  return isListed(price) ? price : priceJsonAt(price, path);
}

function isListed(price: PublishedModel['price']): price is { readonly from: string } {
  return isJsonObject(price) && 'from' in price;
}

function priceJsonAt(price: Price, path: string): PriceJson {
  const names = 'the types Model and Channel';
  checkSetUp(priceSchema, price, { root: path, remedyFor: () => undefined, names });
  return priceToJson(price);
}

async function checked(
  maker: string,
  list: JsonValue | undefined,
  sources: JsonSources,
): Promise<readonly ListedModel[]> {
  try {
    if (!Array.isArray(list)) throw new ConfigurationError('models must be a list.');
    return await modelsFrom(items(list), sources);
  } catch (error) {
    if (!isConfigurationError(error)) throw error;
    throw new ConfigurationError(`${maker}: ${error.message}`, { cause: error.cause });
  }
}

/** A placeholder for the secret where only the form is checked; equal references stay equal. */
const readReference: ReadCredential = async (value, path) => {
  const env = member(value, 'env');
  const name = member(value, 'name');
  const [reference, other] = env === undefined ? [name, env] : [env, name];
  const isName = typeof reference === 'string' && reference !== '' && other === undefined;
  if (isName || isCloudReference(value)) {
    return jsonWithBigints(value);
  }
  // The value is not repeated: a secret written here must not reach a log.
  throw new ConfigurationError(
    `${path} must be { env: 'VARIABLE' } or { name: '…' }: the database holds no secrets.`,
  );
};
