/** Models as they are published: in JSON, with references in place of secrets. */
import { ConfigurationError, isConfigurationError } from '../errors.ts';
import {
  isJsonObject,
  items,
  type JsonValue,
  jsonWithBigints,
  member,
  parseJson,
} from '../json.ts';
import type { Price } from '../money.ts';
import type { Channel, ChannelCost } from '../ports/models/catalog.ts';
import type { ListedModel } from '../ports/models/listed-model.ts';
import { checkSetUp } from '../ports/set-up.ts';
import { priceToJson } from '../prices/codec.ts';
import type { PriceJson } from '../prices/price-json.ts';
import { priceSchema } from '../prices/schema.ts';
import { isCloudReference, type ReadCredential } from './credentials.ts';
import { type JsonSources, modelsFrom } from './model-json.ts';

/** Refers to a secret: an environment variable, or a name that the host resolves. */
export type CredentialReference =
  | {
      /** The environment variable that has the secret. */
      readonly env: string;
    }
  | {
      /** What the host resolves to a secret. */
      readonly name: string;
    };

/** A channel as stored in the table, with a reference in place of its secret. */
export interface PublishedChannel extends Omit<Channel, 'credential'> {
  readonly credential: CredentialReference;
}

/** A model as stored in the table. */
export interface PublishedModel extends Omit<ListedModel, 'channels' | 'price'> {
  /** Of a wildcard it may be the name of a provider in the list of `prices`. */
  readonly price:
    | Price
    | {
        /** The provider's name in the list of `prices`. */
        readonly from: string;
      };
  /** The upstream accounts that serve it, without their secrets. */
  readonly channels: readonly PublishedChannel[];
}

/** The models in JSON, after checking that they contain no secret. */
export async function publishable(
  maker: string,
  models: readonly unknown[],
  sources: JsonSources,
): Promise<readonly JsonValue[]> {
  const list = items(parseJson(jsonWithBigints(models)));
  await checkedModels(maker, list, { ...sources, credential: readReference });
  return list;
}

/** Converts prices to decimal strings; other problems are found by the check of the text. */
export function modelToJson(model: PublishedModel, index: number): object {
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

export function costToJson(cost: ChannelCost): JsonValue {
  return cost === 'reported' ? cost : priceJsonValue(cost, 'cost');
}

/** @throws ConfigurationError if the price is invalid */
export function priceJsonValue(price: Price, path: string): JsonValue {
  return parseJson(jsonWithBigints(priceJsonAt(price, path))) ?? null;
}

function priceJsonAt(price: Price, path: string): PriceJson {
  const names = 'the types Model and Channel';
  checkSetUp(priceSchema, price, { root: path, remedyFor: () => undefined, names });
  return priceToJson(price);
}

/** @throws ConfigurationError that begins with the maker's name */
export async function checkedModels(
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
export const readReference: ReadCredential = async (value, path) => {
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
