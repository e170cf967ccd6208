/**
 * Converts models in JSON to the form of the type `Model`: amounts become bigints, and references
 * to secrets become the secrets. `checkModels` validates everything else.
 */
import { ConfigurationError } from '../../errors.ts';
import { isJsonObject, items, type JsonValue } from '../../json.ts';
import { isNanos } from '../../ports/quota-input.ts';
import { priceAt } from '../../prices/codec.ts';
import type { ReadCredential } from './credentials.ts';

/** @throws ConfigurationError that names `models[3].channels[0].maxPriceNanos` and how to fix it */
export async function modelsFrom(
  models: readonly JsonValue[],
  readCredential: ReadCredential,
): Promise<unknown> {
  return convert(models, 'models', readCredential);
}

/** Converts one value after the other, so that the first problem in the file is reported. */
async function convert(value: JsonValue, path: string, read: ReadCredential): Promise<unknown> {
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const [index, item] of items(value).entries()) {
      list.push(await convert(item, `${path}[${index}]`, read));
    }
    return list;
  }
  if (!isJsonObject(value)) return value;
  const members: (readonly [string, unknown])[] = [];
  for (const [name, item] of Object.entries(value)) {
    members.push([name, await convertMember(name, item, `${path}.${name}`, read)]);
  }
  return Object.fromEntries(members);
}

async function convertMember(
  name: string,
  value: JsonValue,
  path: string,
  read: ReadCredential,
): Promise<unknown> {
  if (name === 'credential') return read(value, path);
  if (name === 'price' || name === 'cost') return priceAt(value, path);
  if (name.endsWith('Nanos')) return nanosOf(value, path);
  // The names of headers are free, so none of them is converted by its name.
  return name === 'headers' ? value : convert(value, path, read);
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
