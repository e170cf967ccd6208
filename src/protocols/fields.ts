/**
 * Reads the few members of a request body that the gateway needs, and validates only these with
 * zod.
 */
import type { z } from 'zod';
import { type Body, originalLength } from '../bytes/body/body.ts';
import { findMember, kindAt, membersOf, valueAt } from '../bytes/json/read/members.ts';
import { parsePart, type ScannedBody } from '../bytes/json/scan/body.ts';
import type { Member, Span } from '../bytes/json/scan/scan.ts';
import { openBracket } from '../bytes/json/text.ts';
import { GatewayError } from '../errors.ts';
import type { JsonValue } from '../json.ts';
import { refuseOtherCase } from './spellings.ts';

/**
 * Validates members that have been read. They are not sent upstream: the caller's bytes are.
 *
 * @param fields the same members for every body, undefined for those that are missing
 * @param at the path of the object that has them: `requests[1].`
 * @throws GatewayError `invalid_request` that names the member
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
  throw new GatewayError('invalid_request', `\`${param}\` ${issue?.message ?? 'is not valid'}.`, {
    param,
  });
}

/** A hint of the caller as text; undefined for anything else, which only the upstream judges. */
export function hintOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * The parsed value of one member; undefined if it is missing.
 *
 * Names are looked up in the scan, also in nested objects: V8's `JSON.parse` in Node 24.21 can
 * mistake an escaped name for another one it has seen before, and then the gateway would price
 * another call than the upstream runs.
 */
export function fieldOf({ body, members }: ScannedBody, name: string): JsonValue | undefined {
  const member = findMember(members, name);
  return member === undefined ? undefined : parsedValue(body, member.value);
}

/** The parsed value of a member. */
export function parsedValue(body: Body, span: Span): JsonValue {
  const { start, end } = span;
  const hasElisions = body.elisions.length > 0 && originalLength(body, start, end) !== end - start;
  return hasElisions ? parsePart(body, start, end) : valueAt(body.text, span);
}

/** Reads the members of a member that is an object; other values are read by {@link fieldOf}. */
export function insideField<T>(
  scanned: ScannedBody,
  name: string,
  read: (inside: ScannedBody) => T,
): T | JsonValue | undefined {
  const { body, members } = scanned;
  const member = findMember(members, name);
  if (member === undefined) return undefined;
  if (kindAt(body.text, member.value) !== 'object') return parsedValue(body, member.value);
  const inside = membersOf(body.text, member.value);
  for (const one of inside) refuseOtherCase(one.name, `${name}.`);
  return read({ body, members: inside });
}

/**
 * The member, checked to be a non-empty array without parsing it. @throws GatewayError
 * `invalid_request`
 */
export function arrayMember({ body, members }: ScannedBody, name: string, hint: string): Member {
  const member = findMember(members, name);
  if (member === undefined) {
    throw new GatewayError('invalid_request', `\`${name}\` is missing. ${hint}`, { param: name });
  }
  if (body.text[member.value.start] !== openBracket || isEmptyArray(body.text, member)) {
    throw new GatewayError('invalid_request', `\`${name}\` must be a non-empty array. ${hint}`, {
      param: name,
    });
  }
  return member;
}

function isEmptyArray(text: Uint8Array, { value }: Member): boolean {
  for (let at = value.start + 1; at < value.end - 1; at += 1) {
    const byte = text[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false;
  }
  return true;
}
