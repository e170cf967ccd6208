/**
 * Refuses bodies that set one thing twice with different values: the gateway might read one and the
 * upstream the other.
 */
import { originalBytes } from '../bytes/body/body.ts';
import { findMember, kindAt } from '../bytes/json/read/members.ts';
import type { ScannedBody } from '../bytes/json/scan/body.ts';
import type { Member } from '../bytes/json/scan/scan.ts';
import { GatewayError } from '../errors.ts';

/**
 * Refuses different values under names that mean the same. Null counts as missing.
 *
 * @throws GatewayError `invalid_request` that names both
 */
export function refuseDifferent(scanned: ScannedBody, names: readonly string[], at = ''): void {
  let first: Member | undefined;
  for (const member of scanned.members) {
    if (!names.includes(member.name) || kindAt(scanned.body.text, member.value) === 'null')
      continue;
    if (first === undefined) first = member;
    else if (!isSame(scanned, first, member)) throw different(first.name, member.name, at);
  }
}

/**
 * Refuses different values for a member that is present in camelCase and in snake_case, because
 * Google accepts both.
 *
 * @throws GatewayError `invalid_request` that names both
 */
export function refuseTwoSpellings(scanned: ScannedBody, at = ''): void {
  for (const { name } of scanned.members) {
    if (!name.includes('_')) continue;
    const camel = name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    if (findMember(scanned.members, camel) !== undefined)
      refuseDifferent(scanned, [camel, name], at);
  }
}

function isSame({ body }: ScannedBody, { value: a }: Member, { value: b }: Member): boolean {
  return originalBytes(body, a.start, a.end).equals(originalBytes(body, b.start, b.end));
}

function different(first: string, second: string, at: string): GatewayError {
  return new GatewayError(
    'invalid_request',
    `\`${at}${first}\` and \`${at}${second}\` differ. Send only one of them.`,
    { param: `${at}${first}` },
  );
}
