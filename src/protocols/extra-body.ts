/**
 * Checks `extra_body`, which some servers merge over the body: values there must not differ from
 * those by which the gateway bounds, prices or routes the call.
 */
import { originalLength } from '../bytes/body/body.ts';
import { kindAt, membersOf, valueAt } from '../bytes/json/read/members.ts';
import type { ScannedBody } from '../bytes/json/scan/body.ts';
import { checkMerged } from '../canonical/complexity.ts';
import { GatewayError } from '../errors.ts';
import type { JsonValue } from '../json.ts';
import { refuseDifferent } from './spellings.ts';

/** The values that the gateway has read, by name; undefined if any value is covered by the hold. */
export interface ReadMembers {
  readonly members: Readonly<Record<string, JsonValue | undefined>>;
  /** The output bound, under any of its names. */
  readonly bound?: number | undefined;
}

/**
 * Whether a name is another name of the output bound: `maxOutputTokens`, `max_length`, `n_predict`.
 * Limits of the prompt or of parts of the output are other settings.
 */
function isBoundName(name: string): boolean {
  return name.length <= maxNameLength && boundName.test(name) && !otherLimit.test(name);
}

/**
 * No server has a longer name. Without this limit the patterns take half a second for a body that
 * consists of names.
 */
const maxNameLength = 100;

const boundName = /^(?:max|n_|num).*(?:tokens?|len|length|predict|output|sample)$/i;
const otherLimit = /input|prompt|context|model|seq|total|think|reason|image|prob|search/i;
/** Longer values are neither numbers nor model ids. */
const maxValueBytes = 1_024;

/**
 * Refuses different output bounds under several names, of which a server may read another one than
 * the gateway.
 *
 * @throws GatewayError `invalid_request` that names both
 */
export function refuseOtherBounds(scanned: ScannedBody): void {
  const names = scanned.members.filter(({ name }) => isBoundName(name)).map(({ name }) => name);
  if (names.length > 1) refuseDifferent(scanned, names);
}

/** Checks both spellings. @throws GatewayError `invalid_request` that names the member */
export function checkExtraBody(scanned: ScannedBody, read: ReadMembers): void {
  for (const member of scanned.members) {
    if (member.name === 'extra_body' || member.name === 'extraBody') {
      checkInside({ ...scanned, members: [member] }, read, { path: '', level: 0 });
    }
  }
}

/** The path of an object that may be merged, and its level of nesting. */
interface Merged {
  readonly path: string;
  readonly level: number;
}

function checkInside(
  { body, members }: ScannedBody,
  read: ReadMembers,
  { path, level }: Merged,
): void {
  for (const { name, value } of members) {
    const at = `${path}${name}`;
    const kind = kindAt(body.text, value);
    if (kind === 'null') continue;
    if (name === 'extra_body' || name === 'extraBody') {
      if (kind !== 'object') throw refused(`\`${at}\` must be an object.`, at);
      checkMerged(level, value.end - value.start);
      const inner = { body, members: membersOf(body.text, value) };
      checkInside(inner, read, { path: `${at}.`, level: level + 1 });
      continue;
    }
    const isRead = Object.hasOwn(read.members, name);
    if (!isRead && !isBoundName(name)) continue;
    const expected = isRead ? read.members[name] : read.bound;
    if (expected === undefined) continue;
    const isLong = originalLength(body, value.start, value.end) > maxValueBytes;
    if (!isLong && valueAt(body.text, value) === expected) continue;
    throw refused(`\`${at}\` differs from the value at the top level of the body. Remove it.`, at);
  }
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}
