/**
 * Models as a file has them, made into what the type `Model` has: amounts become bigints, and
 * references to secrets the secrets. All else stays, for the check of a catalog to judge.
 */
import { ConfigurationError } from '../../errors.ts';
import { isJsonObject, items, type JsonValue } from '../../json.ts';
import { isNanos } from '../../ports/quota-input.ts';
import { priceAt } from '../../prices/codec.ts';
import type { ReadCredential } from './credentials.ts';

/** @throws ConfigurationError that names `models[3].channels[0].maxPriceNanos` and the cure */
export async function modelsFrom(
  models: readonly JsonValue[],
  readCredential: ReadCredential,
): Promise<unknown> {
  return revived(models, 'models', readCredential);
}

/** One value after the other, so that the first problem of the file is the one that is told. */
async function revived(value: JsonValue, place: string, read: ReadCredential): Promise<unknown> {
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    for (const [index, item] of items(value).entries()) {
      list.push(await revived(item, `${place}[${index}]`, read));
    }
    return list;
  }
  if (!isJsonObject(value)) return value;
  const members: (readonly [string, unknown])[] = [];
  for (const [name, item] of Object.entries(value)) {
    members.push([name, await revivedMember(name, item, `${place}.${name}`, read)]);
  }
  return Object.fromEntries(members);
}

async function revivedMember(
  name: string,
  value: JsonValue,
  place: string,
  read: ReadCredential,
): Promise<unknown> {
  if (name === 'credential') return read(value, place);
  if (name === 'price' || name === 'cost') return priceAt(value, place);
  if (name.endsWith('Nanos')) return nanosOf(value, place);
  // A header may be called as it likes: its value is text.
  return name === 'headers' ? value : revived(value, place, read);
}

/** JSON's numbers are exact up to 2^53 − 1, as amounts are; text is for who writes bigints. */
function nanosOf(value: JsonValue, place: string): bigint {
  const isWhole =
    typeof value === 'string' ? /^\d{1,16}$/.test(value) : Number.isSafeInteger(value);
  const nanos = isWhole ? BigInt(String(value)) : undefined;
  if (isNanos(nanos)) return nanos;
  const form = 'a whole number from 0 to 2^53 − 1, or one as text: 2500000000 or "2500000000"';
  throw new ConfigurationError(`${place} must be ${form}.`);
}
