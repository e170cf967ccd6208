/**
 * Replaces, adds and removes members of a JSON object in its bytes. Everything else stays as it was
 * sent, to the last space and digit: parsing and writing again turns 12345678901234567890 into
 * 12345678901234567000 and 1.0 into 1.
 */

import { findMember } from '../json/read/members.ts';
import type { Member } from '../json/scan/scan.ts';
import { openBrace } from '../json/text.ts';
import { type Body, slicesOf } from './body.ts';

/** A new value for one member of an object. */
export interface MemberEdit {
  /** Decoded, as in {@link Member.name}. Of two edits of one name the last counts. */
  readonly name: string;
  /** JSON text; undefined removes the member. */
  readonly value: string | undefined;
}

/**
 * The edited object as the pieces to send one after another. Most are parts of `body` itself, which
 * is not copied; what the object lacks is added after its last member.
 *
 * @param members all members of the object that is the whole of `body`, as the scan gave them
 */
export function spliceMembers(
  body: Body,
  members: readonly Member[],
  edits: readonly MemberEdit[],
): readonly Uint8Array[] {
  // A list of its own: a host's client may empty it, and the next channel needs the pieces again.
  if (edits.length === 0) return [...body.pieces];
  const splice: Splice = { body, pieces: [], done: 0 };
  let kept: Member | undefined;
  // Where the removed members begin that lie between the last kept one and the next.
  let gapStart: number | undefined;
  for (const member of members) {
    const { name, nameSpan, value } = member;
    const edit = editOf(edits, name);
    if (edit !== undefined && edit.value === undefined) {
      gapStart ??= nameSpan.start;
      continue;
    }
    // What is removed takes the comma after it along: a kept member follows.
    if (gapStart !== undefined) replace(splice, gapStart, nameSpan.start, '');
    if (edit?.value !== undefined) replace(splice, value.start, value.end, edit.value);
    gapStart = undefined;
    kept = member;
  }
  // Behind the last one kept the removed go, with the comma before each, and the new ones come.
  const start = kept?.value.end ?? members[0]?.nameSpan.start ?? body.text.indexOf(openBrace) + 1;
  const end = members.at(-1)?.value.end ?? start;
  replace(splice, start, end, newMembers(members, edits, kept !== undefined));
  splice.pieces.push(...slicesOf(body, splice.done, body.text.length));
  return splice.pieces;
}

/** A body under way: up to `done`, a place in its text, it is in the pieces, or replaced. */
interface Splice {
  readonly body: Body;
  readonly pieces: Uint8Array[];
  done: number;
}

/** Puts text in place of a span; spans come in order and do not overlap. */
function replace(splice: Splice, start: number, end: number, text: string): void {
  if (start === end && text === '') return;
  const { body, pieces, done } = splice;
  if (done < start) pieces.push(...slicesOf(body, done, start));
  if (text !== '') pieces.push(Buffer.from(text));
  splice.done = end;
}

/** The edits of members that the object has not, as JSON text. */
function newMembers(
  members: readonly Member[],
  edits: readonly MemberEdit[],
  followsOthers: boolean,
): string {
  let text = '';
  for (const [index, { name }] of edits.entries()) {
    const value = editOf(edits, name)?.value;
    const isNamedBefore = edits.findIndex((edit) => edit.name === name) < index;
    if (value === undefined || isNamedBefore || findMember(members, name) !== undefined) continue;
    const comma = followsOthers || text !== '' ? ',' : '';
    text += `${comma}${JSON.stringify(name)}:${value}`;
  }
  return text;
}

/** The last edit of a name. */
function editOf(edits: readonly MemberEdit[], name: string): MemberEdit | undefined {
  return edits.findLast((edit) => edit.name === name);
}
