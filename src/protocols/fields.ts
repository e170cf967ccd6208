/**
 * Reads the few members of a caller's body that the gateway needs, and checks just those with zod.
 */
import type { z } from 'zod';
import type { Member } from '../bytes/json-scan.ts';
import { findMember, kindAt, valueAt } from '../bytes/members.ts';
import { GatewayError } from '../errors.ts';
import type { JsonValue } from '../json.ts';

/** A caller's body after the scan: its bytes, and where its top-level members are. */
export interface ScannedBody {
  readonly body: Uint8Array;
  readonly members: readonly Member[];
}

/**
 * The named members, parsed and checked. Nothing else is parsed, and nothing of this goes upstream:
 * what goes there is the caller's bytes.
 *
 * @throws GatewayError `invalid_request` that names the member
 */
export function readFields<T>(
  { body, members }: ScannedBody,
  names: readonly string[],
  schema: z.ZodType<T>,
): T {
  const fields: Record<string, JsonValue> = {};
  for (const name of names) {
    const member = findMember(members, name);
    if (member !== undefined) fields[name] = valueAt(body, member.value);
  }
  const checked = schema.safeParse(fields);
  if (checked.success) return checked.data;
  const issue = checked.error.issues[0];
  const param = issue?.path.join('.') ?? '';
  throw new GatewayError('invalid_request', `\`${param}\` ${issue?.message ?? 'is not valid'}.`, {
    param,
  });
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
