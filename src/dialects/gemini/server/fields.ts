/**
 * Reads members like Google's JSON parsers: names in camelCase or snake_case, null as absent,
 * numbers as strings, and enum values in any case with or without their prefix.
 */
import { GatewayError } from '../../../errors.ts';
import {
  isExactNumber,
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
  numberOf,
} from '../../../json.ts';

/** Records the path of a member that the common form can't express. */
export type Drop = (at: string) => void;

/** A member that is present. */
export interface Field {
  /** The name in camelCase. */
  readonly name: string;
  /** The name as the caller wrote it. */
  readonly written: string;
  readonly value: JsonValue;
}

/** The member with this camelCase name, in either spelling; undefined if it is null. */
export function field(value: unknown, name: string): JsonValue | undefined {
  return member(value, name) ?? member(value, snakeCase(name)) ?? undefined;
}

/** Every member that is not null, under its camelCase name. */
export function fieldsOf(value: JsonObject): readonly Field[] {
  const fields: Field[] = [];
  for (const [written, one] of Object.entries(value)) {
    if (one !== null) fields.push({ name: camelCase(written), written, value: one });
  }
  return fields;
}

/** The non-empty members that aren't in `known`. */
export function unknownFields(value: unknown, known: readonly string[]): readonly Field[] {
  if (!isJsonObject(value)) return [];
  return fieldsOf(value).filter((one) => !known.includes(one.name) && isNonEmpty(one.value));
}

/** Records every non-empty member that isn't in `known` as dropped. */
export function dropUnknown(
  value: unknown,
  known: readonly string[],
  { at, drop }: { readonly at: string; readonly drop: Drop },
): void {
  for (const { written } of unknownFields(value, known)) drop(pathOf(at, written));
}

/** Whether a value differs from an absent one. Google's clients send empty members. */
export function isNonEmpty(value: JsonValue | undefined): value is JsonValue {
  if (value === undefined || value === null || value === false || value === '') return false;
  return typeof value !== 'object' || isExactNumber(value) || Object.keys(value).length > 0;
}

/** @throws GatewayError `invalid_request` if it isn't an object */
export function objectField(value: unknown, name: string, at: string): JsonObject | undefined {
  const found = field(value, name);
  if (found === undefined || isJsonObject(found)) return found;
  return refuse(pathOf(at, name), 'must be an object');
}

/**
 * A list. A single object counts as a list of one.
 *
 * @throws GatewayError `invalid_request` if it is neither a list nor an object
 */
export function listField(value: unknown, name: string, at: string): readonly JsonValue[] {
  const found = field(value, name);
  if (found === undefined) return [];
  if (isJsonObject(found)) return [found];
  return Array.isArray(found) ? items(found) : refuse(pathOf(at, name), 'must be a list');
}

/** @throws GatewayError `invalid_request` if it isn't a string */
export function textField(value: unknown, name: string, at: string): string | undefined {
  const found = field(value, name);
  if (found === undefined || typeof found === 'string') return found;
  return refuse(pathOf(at, name), 'must be a string');
}

/**
 * A number, or a string with a number.
 *
 * @throws GatewayError `invalid_request` if it is neither
 */
export function numberField(value: unknown, name: string, at: string): number | undefined {
  const found = field(value, name);
  if (found === undefined) return undefined;
  const isText = typeof found === 'string' && found.trim() !== '';
  const number = isText ? Number(found) : numberOf(found);
  if (number !== undefined && Number.isFinite(number)) return number;
  return refuse(pathOf(at, name), 'must be a number');
}

/** @throws GatewayError `invalid_request` if it isn't a safe integer */
export function integerField(value: unknown, name: string, at: string): number | undefined {
  const number = numberField(value, name, at);
  if (number === undefined || Number.isSafeInteger(number)) return number;
  return refuse(pathOf(at, name), 'must be a whole number');
}

/** @throws GatewayError `invalid_request` if it isn't a boolean */
export function flagField(value: unknown, name: string, at: string): boolean | undefined {
  const found = field(value, name);
  if (found === undefined || typeof found === 'boolean') return found;
  return refuse(pathOf(at, name), 'must be true or false');
}

/** An enum value in upper case without its prefix; undefined if absent or `…UNSPECIFIED`. */
export function enumValue(value: JsonValue | undefined, prefix: string): string | undefined {
  if (typeof value !== 'string') return undefined;
  const upper = value.trim().toUpperCase();
  const word = upper.startsWith(`${prefix}_`) ? upper.slice(prefix.length + 1) : upper;
  return word === '' || word === 'UNSPECIFIED' || word.endsWith('_UNSPECIFIED') ? undefined : word;
}

/**
 * Throws an error for the member at this path. `wrong` completes the sentence: it says what the
 * member must be, or what is wrong with it.
 */
export function refuse(at: string, wrong: string): never {
  throw new GatewayError('invalid_request', `\`${at}\` ${wrong}.`, { param: at });
}

/** The path of a member. The path of the body itself is empty. */
function pathOf(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camelCase(name: string): string {
  if (!name.includes('_')) return name;
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
