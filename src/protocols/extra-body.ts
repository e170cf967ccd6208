/**
 * Some servers merge `extra_body` into the body, where it takes the place of members that the
 * gateway has read: what bounds, prices or routes the call must not differ there.
 */
import { originalLength } from '../bytes/body/body.ts';
import { findMember, kindAt, membersOf, valueAt } from '../bytes/json/read/members.ts';
import type { ScannedBody } from '../bytes/json/scan/body.ts';
import { checkMerged } from '../canonical/complexity.ts';
import { GatewayError } from '../errors.ts';
import type { JsonValue } from '../json.ts';

/** What the gateway has read, by names; undefined where any value is within what is held. */
export interface ReadMembers {
  readonly members: Readonly<Record<string, JsonValue | undefined>>;
  /** The bound of the answer, under whatever name. */
  readonly bound?: number | undefined;
}

/**
 * Other names of the answer's bound: `maxOutputTokens`, `max_length`, `n_predict`. Bounds of the
 * prompt and of parts of the answer are other settings.
 */
export function isBoundName(name: string): boolean {
  return name.length <= longestName && boundName.test(name) && !otherBound.test(name);
}

/** No server has a longer name; the patterns cost half a second where a body is all names. */
const longestName = 100;

const boundName = /^(?:max|n_|num).*(?:tokens?|len|length|predict|output|sample)$/i;
const otherBound = /input|prompt|context|model|seq|total|think|reason|image|prob|search/i;
/** No number or model id is longer. */
const longestValue = 1_024;

/** @throws GatewayError `invalid_request` that names the member */
export function checkExtraBody(scanned: ScannedBody, read: ReadMembers): void {
  for (const name of ['extra_body', 'extraBody']) {
    const extra = findMember(scanned.members, name);
    if (extra !== undefined) {
      checkInside({ ...scanned, members: [extra] }, read, { path: '', level: 0 });
    }
  }
}

/** Where an object stands that may be merged, and how many of them are around it. */
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
    const isLong = originalLength(body, value.start, value.end) > longestValue;
    if (!isLong && valueAt(body.text, value) === expected) continue;
    throw refused(`\`${at}\` differs from what the top of the body says. Leave it out.`, at);
  }
}

function refused(message: string, param: string): GatewayError {
  return new GatewayError('invalid_request', message, { param });
}
