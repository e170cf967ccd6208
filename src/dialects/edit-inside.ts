/**
 * Edits one member of an object that is itself a member of the body; all other bytes stay as they
 * are.
 */
import { wholeBody } from '../bytes/body/body.ts';
import { type MemberEdit, spliceMembers } from '../bytes/body/splice.ts';
import { scanBody } from '../bytes/json/scan/body.ts';
import { none, root } from '../bytes/json/tape.ts';
import type { Call } from '../call.ts';

/** Returns the edit of the outer member; undefined if the body has no object of that name. */
export function editInside(
  { tape }: Call,
  outerName: string,
  edit: MemberEdit,
): MemberEdit | undefined {
  const outer = tape.get(root, outerName);
  if (outer === none || !tape.isObject(outer)) return undefined;
  const inner = scanBody(wholeBody(tape.raw(outer)));
  return { name: outerName, value: Buffer.concat(spliceMembers(inner, [edit])).toString('utf8') };
}
