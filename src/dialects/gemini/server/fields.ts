/**
 * Reads members like Google's JSON parsers: names in camelCase or snake_case, null as absent,
 * numbers as strings, and enum values in any case with or without their prefix.
 */
import {
  isExactNumber,
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
} from '../../../json.ts';
import { flagIn, numberIn, objectIn, pathTo, refuse, textIn } from '../../read-members.ts';

/** Records the path of a member that the common form can't express. */
export type Drop = (at: string) => void;

export interface Field {
  /** The name in camelCase. */
  readonly name: string;
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

export function unknownFields(value: unknown, known: readonly string[]): readonly Field[] {
  if (!isJsonObject(value)) return [];
  return fieldsOf(value).filter((one) => !known.includes(one.name) && isNonEmpty(one.value));
}

export function dropUnknown(
  value: unknown,
  known: readonly string[],
  { at, drop }: { readonly at: string; readonly drop: Drop },
): void {
  for (const { written } of unknownFields(value, known)) drop(pathTo(written, at));
}

/** Whether a value differs from an absent one. Google's clients send empty members. */
export function isNonEmpty(value: JsonValue | undefined): value is JsonValue {
  if (value === undefined || value === null || value === false || value === '') return false;
  return typeof value !== 'object' || isExactNumber(value) || Object.keys(value).length > 0;
}

export function objectField(value: unknown, name: string, at: string): JsonObject | undefined {
  return objectIn(only(value, name), name, at);
}

export function textField(value: unknown, name: string, at: string): string | undefined {
  return textIn(only(value, name), name, at);
}

export function flagField(value: unknown, name: string, at: string): boolean | undefined {
  return flagIn(only(value, name), name, at);
}

/** As `numberIn`. A string with a number counts as that number. */
export function numberField(value: unknown, name: string, at: string): number | undefined {
  const found = field(value, name) ?? null;
  const isText = typeof found === 'string' && found.trim() !== '';
  return numberIn({ [name]: isText ? Number(found) : found }, name, at);
}

function only(value: unknown, name: string): JsonObject {
  return { [name]: field(value, name) ?? null };
}

export function integerField(value: unknown, name: string, at: string): number | undefined {
  const number = numberField(value, name, at);
  if (number === undefined || Number.isSafeInteger(number)) return number;
  return refuse(pathTo(name, at), 'must be a whole number.');
}

/** A list. A single object counts as a list of one. */
export function listField(value: unknown, name: string, at: string): readonly JsonValue[] {
  const found = field(value, name);
  if (found === undefined) return [];
  if (isJsonObject(found)) return [found];
  return Array.isArray(found) ? items(found) : refuse(pathTo(name, at), 'must be a list.');
}

/** An enum value in upper case without its prefix; undefined if absent or `…UNSPECIFIED`. */
export function enumValue(value: JsonValue | undefined, prefix: string): string | undefined {
  if (typeof value !== 'string') return undefined;
  const upper = value.trim().toUpperCase();
  const word = upper.startsWith(`${prefix}_`) ? upper.slice(prefix.length + 1) : upper;
  return word === '' || word === 'UNSPECIFIED' || word.endsWith('_UNSPECIFIED') ? undefined : word;
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camelCase(name: string): string {
  if (!name.includes('_')) return name;
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
