/**
 * Reads the few members of a caller's body that the gateway needs, and checks just those with zod.
 */
import type { z } from 'zod';
import type { Member } from '../bytes/json-scan.ts';
import { findMember, kindAt, membersOf, valueAt } from '../bytes/members.ts';
import { GatewayError } from '../errors.ts';
import type { JsonValue } from '../json.ts';

/** A caller's body after the scan: its bytes, and where its top-level members are. */
export interface ScannedBody {
  readonly body: Uint8Array;
  readonly members: readonly Member[];
}

/** A member to read, or an object and which of its members to read. */
export type FieldName = string | readonly [name: string, inner: readonly string[]];

/**
 * The named members, parsed and checked. Nothing else is parsed, and nothing of this goes upstream:
 * what goes there is the caller's bytes.
 *
 * Names are found by the scan, in objects within objects too: `JSON.parse` of V8 as of Node 24.21
 * can take an escaped name for another one it has seen before, and then the gateway would price
 * another call than the upstream runs.
 *
 * @throws GatewayError `invalid_request` that names the member
 */
export function readFields<T>(
  { body, members }: ScannedBody,
  names: readonly FieldName[],
  schema: z.ZodType<T>,
): T {
  const checked = schema.safeParse(pick(body, members, names));
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  const param = issue?.path.join('.') ?? '';
  throw new GatewayError('invalid_request', `\`${param}\` ${issue?.message ?? 'is not valid'}.`, {
    param,
  });
}

function pick(
  body: Uint8Array,
  members: readonly Member[],
  names: readonly FieldName[],
): Record<string, JsonValue> {
  const fields: Record<string, JsonValue> = {};
  for (const entry of names) {
    const [name, inner] = typeof entry === 'string' ? [entry] : entry;
    const member = findMember(members, name);
    if (member === undefined) continue;
    fields[name] =
      inner !== undefined && kindAt(body, member.value) === 'object'
        ? pick(body, membersOf(body, member.value), inner)
        : valueAt(body, member.value);
  }
  return fields;
}

/** The member as a non-empty array, without parsing it. @throws GatewayError `invalid_request` */
export function arrayMember({ body, members }: ScannedBody, name: string, hint: string): Member {
  const member = findMember(members, name);
  if (member === undefined) {
    throw new GatewayError('invalid_request', `\`${name}\` is missing. ${hint}`, { param: name });
  }
  if (kindAt(body, member.value) !== 'array' || isEmptyArray(body, member)) {
    throw new GatewayError('invalid_request', `\`${name}\` must be a non-empty array. ${hint}`, {
      param: name,
    });
  }
  return member;
}

function isEmptyArray(body: Uint8Array, { value }: Member): boolean {
  for (let at = value.start + 1; at < value.end - 1; at += 1) {
    const byte = body[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return false;
  }
  return true;
}
