/**
 * Converts models in JSON to the form of the type `Model`: amounts become bigints, and references
 * to secrets become the secrets. Then they are checked like models in code.
 */
import { ConfigurationError, isConfigurationError } from '../errors.ts';
import { isJsonObject, items, type JsonValue, member } from '../json.ts';
import { placeOf } from '../platforms/places.ts';
import { isNanos } from '../ports/limits/quota-input.ts';
import type { ListedModel, PriceOfListed, PriceOfName } from '../ports/models/listed-model.ts';
import type { Platform } from '../ports/models/platform.ts';
import { formatPath, type Path, type Problem, refuseProblems } from '../ports/problems.ts';
import { priceAt } from '../prices/codec.ts';
import { platformSchema } from './channel-schema.ts';
import { cloudOf, type ReadCredential } from './credentials.ts';
import { modelProblems } from './model-problems.ts';

/** What the JSON of models refers to. */
export interface JsonSources {
  readonly credential: ReadCredential;
  /** Undefined where wildcards can't have their prices from a list. */
  readonly prices: PriceOfListed | undefined;
}

/** Models and their problems. The models may be used only if there are no problems. */
export interface ReadModels {
  readonly models: readonly ListedModel[];
  /** The paths begin at the list. */
  readonly problems: readonly Problem[];
}

/**
 * The models of a list.
 *
 * @throws ConfigurationError that names each wrong member, such as
 *   `models[3].channels[0].maxPriceNanos`, and how to fix it
 */
export async function modelsFrom(
  list: readonly JsonValue[],
  sources: JsonSources,
): Promise<readonly ListedModel[]> {
  const { models, problems } = await readModels(list, sources);
  refuseProblems(problems);
  return models;
}

/**
 * The same for a caller that has other problems to report, or another name for the list.
 *
 * @param known the members that the caller knows to be wrong
 * @throws ConfigurationError with a cause, if a host's function for secrets failed
 */
export async function readModels(
  list: readonly JsonValue[],
  sources: JsonSources,
  root = 'models',
  known: readonly Path[] = [],
): Promise<ReadModels> {
  const problems: Problem[] = [];
  const reader: Reader = {
    ...sources,
    refused: (path, error) => {
      // The cause would be lost among other problems.
      if (!isConfigurationError(error) || error.cause !== undefined) throw error;
      problems.push({ path, sentence: error.message });
    },
    textOf: (path) => formatPath(root, path),
  };
  const models: unknown = await convert(list, [], reader);
  if (!Array.isArray(models)) throw new TypeError('the converted list of models is not a list');
  const paths = problems.map(({ path }) => path);
  const others = modelProblems(models, { root, known: [...known, ...paths] });
  return { models, problems: [...problems, ...others] };
}

interface Reader extends JsonSources {
  /** Records the error of a member, which is then left out. */
  refused(path: Path, error: unknown): void;
  textOf(path: Path): string;
}

/** Converts one value after the other, so that problems come in the order of the file. */
async function convert(value: JsonValue, path: Path, reader: Reader): Promise<unknown> {
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const [index, item] of items(value).entries()) {
      list.push(await convert(item, [...path, index], reader));
    }
    return list;
  }
  if (!isJsonObject(value)) return value;
  const members: (readonly [string, unknown])[] = [];
  for (const [name, item] of Object.entries(value)) {
    const place = [...path, name];
    try {
      members.push([name, await convertMember(name, item, place, reader)]);
    } catch (error) {
      reader.refused(place, error);
    }
  }
  const converted = Object.fromEntries(members);
  if (path.at(-2) !== 'channels') return converted;
  const [platform] = platformsIn(converted);
  const cloud = cloudOf(value.credential);
  if (cloud !== undefined && platform?.name !== cloud) {
    const place = [...path, 'credential'];
    const sentence = `is for channels on the platform ${cloud}; another host would get its tokens`;
    reader.refused(place, new ConfigurationError(`${reader.textOf(place)} ${sentence}.`));
  }
  return platform === undefined ? converted : { ...placeOf(platform), ...converted };
}

/** The platform of a channel, if it is one; what is wrong with it is found with the schema. */
function platformsIn({ platform }: Readonly<Record<string, unknown>>): readonly Platform[] {
  const { data } = platformSchema.safeParse(platform);
  return data === undefined ? [] : [data];
}

async function convertMember(
  name: string,
  value: JsonValue,
  path: Path,
  reader: Reader,
): Promise<unknown> {
  if (name === 'credential') return reader.credential(value, reader.textOf(path));
  if (name === 'cost' && typeof value === 'string') return value;
  const listed = name === 'price' ? member(value, 'from') : undefined;
  if (listed !== undefined) return pricesFor(listed, reader.textOf(path), reader);
  if (name === 'price' || name === 'cost') return priceAt(value, reader.textOf(path));
  if (name.endsWith('Nanos')) return nanosOf(value, reader.textOf(path));
  // The host chooses the names of headers, so no header is converted by its name.
  return name === 'headers' ? value : convert(value, path, reader);
}

/** The prices of a wildcard's models: `{ "from": "openai" }`. */
function pricesFor(provider: JsonValue, path: string, { prices }: JsonSources): PriceOfName {
  if (typeof provider !== 'string' || provider === '') {
    throw new ConfigurationError(`${path}.from must be the provider in a list of prices.`);
  }
  if (prices !== undefined) return (name) => prices(provider, name);
  throw new ConfigurationError(
    `${path}.from needs a list of prices. In code, give options.prices, such as ` +
      'pricesFrom({ calcPrice }). For the command, run: npm install @pydantic/genai-prices.',
  );
}

/** Amounts are at most 2^53 − 1, so a JSON number is exact; tools that print bigints write text. */
function nanosOf(value: JsonValue, path: string): bigint {
  const isWhole =
    typeof value === 'string' ? /^\d{1,16}$/.test(value) : Number.isSafeInteger(value);
  const nanos = isWhole ? BigInt(String(value)) : undefined;
  if (isNanos(nanos)) return nanos;
  const form = 'a whole number from 0 to 2^53 − 1, or one as text: 2500000000 or "2500000000"';
  throw new ConfigurationError(`${path} must be ${form}.`);
}
