/**
 * Reads the few members of a request body that the gateway needs, and validates only these with
 * zod.
 */
import type { z } from 'zod';
import { parsedValue } from '../bytes/json/scan/body.ts';
import { none, root, type Tape, type Value } from '../bytes/json/tape.ts';
import { invalidRequest } from '../errors.ts';
import type { JsonValue } from '../json.ts';
import { refuseOtherCase } from './spellings.ts';

/**
 * Validates members that have been read. They are not sent upstream: the caller's bytes are.
 *
 * @param fields the same members for every body, undefined for those that are missing
 * @param at the path of the object that has them: `requests[1].`
 */
export function checkedFields<T>(
  schema: z.ZodType<T>,
  fields: { readonly [K in keyof T]: unknown },
  at = '',
): T {
  const checked = schema.safeParse(fields);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  const param = at + (issue?.path.join('.') ?? '');
  throw invalidRequest(`\`${param}\` ${issue?.message ?? 'is not valid'}.`, param);
}

/** The members of a schema, all undefined: copied for each body, so that all have one shape. */
export function blankFields<Shape extends z.core.$ZodShape>({
  shape,
}: z.ZodObject<Shape>): Readonly<Record<keyof Shape & string, unknown>>;
export function blankFields({ shape }: z.ZodObject): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.keys(shape).map((name) => [name, undefined]));
}

/**
 * The parsed values of those members of the body; undefined for those that are missing. Of the
 * members in `unparsed`, the values are set there.
 */
export function fieldsIn<Name extends string>(
  tape: Tape,
  blank: Readonly<Record<Name, unknown>>,
  unparsed: Record<string, Value> = {},
): Record<Name, unknown> {
  const fields: Record<string, unknown> = { ...blank };
  const end = tape.after(root);
  for (let value = tape.first(root); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    if (Object.hasOwn(unparsed, name)) unparsed[name] = value;
    else if (Object.hasOwn(fields, name)) fields[name] = parsedValue(tape, value);
  }
  return fields;
}

/** A hint of the caller as text; undefined for anything else, which only the upstream judges. */
export function hintOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * The parsed value of one member; undefined if it is missing.
 *
 * Names are looked up in the tape, also in nested objects: V8's `JSON.parse` in Node 24.21 can
 * mistake an escaped name for another one it has seen before, and then the gateway would price
 * another call than the upstream runs.
 */
export function fieldOf(tape: Tape, name: string, object: Value = root): JsonValue | undefined {
  const value = tape.get(object, name);
  return value === none ? undefined : parsedValue(tape, value);
}

/** Reads a value that is an object; other values are parsed. */
export function readObject<T>(
  tape: Tape,
  value: Value,
  read: (object: Value) => T,
): T | JsonValue | undefined {
  if (value === none) return undefined;
  if (!tape.isObject(value)) return parsedValue(tape, value);
  const end = tape.after(value);
  for (let one = tape.first(value); one < end; one = tape.after(one)) {
    refuseOtherCase(tape.name(one), `${tape.name(value)}.`);
  }
  return read(value);
}

/** The member, checked to be a non-empty array without parsing it. */
export function arrayMember(tape: Tape, name: string, hint: string): Value {
  const value = tape.get(root, name);
  if (value === none) throw invalidRequest(`\`${name}\` is missing. ${hint}`, name);
  if (!tape.isArray(value) || tape.first(value) === tape.after(value)) {
    throw invalidRequest(`\`${name}\` must be a non-empty array. ${hint}`, name);
  }
  return value;
}
