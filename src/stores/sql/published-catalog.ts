/**
 * A catalog that a database holds version by version: publishing writes a new one, and every
 * gateway serves it when it next looks at the number. A bad version changes nothing.
 */
import { z } from 'zod';
import { type Clock, systemClock } from '../../clock.ts';
import { ConfigurationError, errorName } from '../../errors.ts';
import { type EventListener, quietListener } from '../../events.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../json.ts';
import type { Price } from '../../money.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { Channel, Model } from '../../ports/catalog.ts';
import { aClock, aFunction, checkSetUp, wait } from '../../ports/set-up.ts';
import { priceToJson } from '../../prices/codec.ts';
import type { PriceJson } from '../../prices/price-json.ts';
import { priceSchema } from '../../prices/schema.ts';
import { credentialReader, type ReadCredential } from '../file/credentials.ts';
import { modelsFrom } from '../file/model-json.ts';
import { catalogOf, type StaticCatalog } from '../memory/catalog.ts';
import { checkModels } from '../memory/check-models.ts';
import { jsonText } from './columns.ts';

/** Where a secret is found: a variable of the environment, or a name the host resolves. */
export type CredentialReference = { readonly env: string } | { readonly name: string };

/** A channel as a table may hold it: its secret is referred to, never there. */
export interface PublishedChannel extends Omit<Channel, 'credential'> {
  readonly credential: CredentialReference;
}

/** A model as a table may hold it. */
export interface PublishedModel extends Omit<Model, 'channels'> {
  readonly channels: readonly PublishedChannel[];
}

/** How secrets are found, who hears of new versions, and how often one is looked for. */
export interface PublishedCatalogOptions {
  /** The secret of a `{ name }`; asked once for each name when a version is read. */
  readonly credentials?: (name: string) => MaybePromise<string>;
  /** Hears `catalog_loaded` and `catalog_refused`; the gateway's own listener will do. */
  readonly onEvent?: EventListener;
  readonly clock?: Clock;
  /** How often the version is looked at; every 2 s where left out. */
  readonly pollMs?: number;
}

/** How {@link PublishedCatalogOptions} are checked, beside what a maker has of its own. */
export const publishedCatalogShape: Readonly<
  Record<keyof PublishedCatalogOptions, z.ZodOptional<z.ZodType>>
> = {
  credentials: z.optional(aFunction),
  onEvent: z.optional(aFunction),
  clock: z.optional(aClock),
  pollMs: z.optional(wait),
};

/** A {@link StaticCatalog} of the last good version. */
export interface PublishedCatalog extends StaticCatalog {
  /**
   * Writes a new version, and serves it here at once; other processes follow when they next look.
   * What this process could not serve, for want of a secret too, is not written: a gateway that
   * starts finds nothing else.
   *
   * @throws ConfigurationError that names the model and the cure; StoreUnavailable
   */
  publish(models: readonly PublishedModel[]): Promise<void>;
  /** Looks at the table no more; what was read last goes on being served. */
  close(): void;
}

/** The table. Versions only grow; 0 stands for a table that nothing was published to. */
export interface CatalogTable {
  version(): MaybePromise<bigint>;
  /** The newest version; its models as JSON text, undefined where there are none. */
  read(): MaybePromise<{ readonly version: bigint; readonly models: string | undefined }>;
  /** Adds a version, given the models as JSON text. */
  add(models: string): MaybePromise<void>;
}

/**
 * Follows a table.
 *
 * @param maker the name of the function that makes the catalog, for events and refusals
 * @throws ConfigurationError that names the model of the table and the cure; StoreUnavailable
 */
export async function publishedCatalog(
  maker: string,
  table: CatalogTable,
  options: PublishedCatalogOptions,
): Promise<PublishedCatalog> {
  const { credentials, onEvent, pollMs = 2_000, clock = systemClock() } = options;
  const sources = { credentials, allowSecretsInFile: false, clock };
  const emit = quietListener(() => onEvent);
  let good = await readVersion(maker, table, credentialReader(sources));
  let looking: Promise<void> | undefined;
  let told: string | undefined;

  const read = async (): Promise<void> => {
    if ((await table.version()) === good.version) return;
    good = await readVersion(maker, table, credentialReader(sources));
    told = undefined;
    emit({ type: 'catalog_loaded', source: maker, models: good.count });
  };
  /** Tells a problem once; it is tried again at each look, for what it needs may come. */
  const refuse = (error: unknown): void => {
    const reason = error instanceof ConfigurationError ? error.message : errorName(error);
    if (told !== reason) emit({ type: 'catalog_refused', source: maker, reason });
    told = reason;
  };
  const look = (): Promise<void> => {
    looking ??= read().finally(() => {
      looking = undefined;
    });
    return looking;
  };
  const close = clock.every(pollMs, () => {
    if (looking === undefined) look().catch(refuse);
  });

  return {
    find: (modelId) => good.catalog.find(modelId),
    list: (group, protocol) => good.catalog.list(group, protocol),
    publish: async (models) => {
      await table.add(await textOf(maker, models, credentialReader(sources)));
      // A look that was under way may have come before.
      await looking?.catch(() => {});
      await look();
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
  readCredential: ReadCredential,
): Promise<Version> {
  const { version, models: text } = await table.read();
  const models = await checked(maker, parseJson(text ?? '[]'), readCredential);
  return { version, catalog: catalogOf(models), count: models.length };
}

/** The models as JSON, once they are known to be good, and to have no secret in them. */
async function textOf(
  maker: string,
  models: readonly PublishedModel[],
  readCredential: ReadCredential,
): Promise<string> {
  const text = jsonText(models.map(modelToJson));
  await checked(maker, parseJson(text), readReference);
  await checked(maker, parseJson(text), readCredential);
  return text;
}

/** Prices as decimal strings; whatever else is wrong is for the check of the text to say. */
function modelToJson(model: PublishedModel, index: number): object {
  if (!isJsonObject(model)) return model;
  const place = `models[${index}]`;
  const { price, channels } = model;
  if (!Array.isArray(channels)) return { ...model, price: priceJsonAt(price, `${place}.price`) };
  return {
    ...model,
    price: priceJsonAt(price, `${place}.price`),
    channels: channels.map((channel: PublishedChannel, at) =>
      channel?.cost === undefined
        ? channel
        : { ...channel, cost: priceJsonAt(channel.cost, `${place}.channels[${at}].cost`) },
    ),
  };
}

function priceJsonAt(price: Price, place: string): PriceJson {
  const names = 'the types Model and Channel';
  checkSetUp(priceSchema, price, { root: place, remedyFor: () => undefined, names });
  return priceToJson(price);
}

async function checked(
  maker: string,
  list: JsonValue | undefined,
  readCredential: ReadCredential,
): Promise<readonly Model[]> {
  try {
    if (!Array.isArray(list)) throw new ConfigurationError('models must be a list.');
    const models = await modelsFrom(items(list), readCredential);
    checkModels(models);
    return models;
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const problem = error.message.replace(/^staticCatalog: /, '');
    throw new ConfigurationError(`${maker}: ${problem}`, { cause: error.cause });
  }
}

/** Stands for the secret where only the form is judged; equal references are one account. */
const readReference: ReadCredential = async (value, place) => {
  const env = member(value, 'env');
  const name = member(value, 'name');
  const [reference, other] = env === undefined ? [name, env] : [env, name];
  if (typeof reference === 'string' && reference !== '' && other === undefined) {
    return jsonText(value);
  }
  // Nothing of the value: who writes a secret there must not read it in a log.
  throw new ConfigurationError(
    `${place} must be { env: 'NAME OF A VARIABLE' } or { name: '…' }: no table holds a secret.`,
  );
};
