/**
 * Checks `extra_body`, which some servers merge over the body: values there must not differ from
 * those by which the gateway bounds, prices or routes the call.
 */
import { parsedValue } from '../bytes/json/scan/body.ts';
import { root, type Tape, type Value } from '../bytes/json/tape.ts';
import { checkMerged } from '../canonical/complexity.ts';
import { type GatewayError, invalidRequest } from '../errors.ts';
import type { JsonValue } from '../json.ts';
import { refuseDifferent } from './spellings.ts';

/** The values that the gateway has read, by name; undefined if any value is covered by the hold. */
export interface ReadMembers {
  readonly members: Readonly<Record<string, JsonValue | undefined>>;
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
 */
export function refuseOtherBounds(tape: Tape): void {
  const names: string[] = [];
  const end = tape.after(root);
  for (let value = tape.first(root); value < end; value = tape.after(value)) {
    const name = tape.name(value);
    if (isBoundName(name)) names.push(name);
  }
  if (names.length > 1) refuseDifferent(tape, names);
}

/** Checks both spellings. */
export function checkExtraBody(tape: Tape, read: ReadMembers): void {
  const end = tape.after(root);
  for (let value = tape.first(root); value < end; value = tape.after(value)) {
    if (isExtraBody(tape, value)) checkMember(tape, value, read, { path: '', level: 0 });
  }
}

function isExtraBody(tape: Tape, value: Value): boolean {
  return tape.isNamed(value, 'extra_body') || tape.isNamed(value, 'extraBody');
}

function checkMember(
  tape: Tape,
  value: Value,
  read: ReadMembers,
  { path, level }: { readonly path: string; readonly level: number },
): void {
  const name = tape.name(value);
  const at = `${path}${name}`;
  if (tape.isNull(value)) return;
  if (isExtraBody(tape, value)) {
    if (!tape.isObject(value)) throw refused(`\`${at}\` must be an object.`, at);
    checkMerged(level, tape.end(value) - tape.start(value));
    const end = tape.after(value);
    for (let one = tape.first(value); one < end; one = tape.after(one)) {
      checkMember(tape, one, read, { path: `${at}.`, level: level + 1 });
    }
    return;
  }
  const isRead = Object.hasOwn(read.members, name);
  if (!isRead && !isBoundName(name)) return;
  const expected = isRead ? read.members[name] : read.bound;
  if (expected === undefined) return;
  const isLong = tape.length(value) > maxValueBytes;
  if (!isLong && parsedValue(tape, value) === expected) return;
  throw refused(`\`${at}\` differs from the value at the top level of the body. Remove it.`, at);
}

function refused(message: string, param: string): GatewayError {
  return invalidRequest(message, param);
}
