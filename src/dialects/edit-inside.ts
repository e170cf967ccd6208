/**
 * Edits one member of an object that is itself a member of the body; all other bytes stay as they
 * are.
 */
import { originalBytes, wholeBody } from '../bytes/body/body.ts';
import { type MemberEdit, spliceMembers } from '../bytes/body/splice.ts';
import { findMember, kindAt, membersOf } from '../bytes/json/read/members.ts';
import type { Call } from '../call.ts';

/** Returns the edit of the outer member; undefined if the body has no object of that name. */
export function editInside(
  call: Call,
  outerName: string,
  edit: MemberEdit,
): MemberEdit | undefined {
  const outer = findMember(call.members, outerName);
  if (outer === undefined || kindAt(call.body.text, outer.value) !== 'object') return undefined;
  const inner = originalBytes(call.body, outer.value.start, outer.value.end);
  const members = membersOf(inner, { start: 0, end: inner.length });
  const value = Buffer.concat(spliceMembers(wholeBody(inner), members, [edit])).toString('utf8');
  return { name: outerName, value };
}
