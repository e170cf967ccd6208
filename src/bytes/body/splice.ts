/**
 * Replaces, adds and removes members of a JSON object in its bytes. Everything else is kept byte
 * for byte: parsing and serialising would turn 12345678901234567890 into 12345678901234567000 and
 * 1.0 into 1.
 */

import { none, root, type Tape } from '../json/tape.ts';
import type { Span } from '../json/text.ts';
import { type Body, originalSlices } from './body.ts';

export interface MemberEdit {
  /** Decoded. If two edits have the same name, the last one wins. */
  readonly name: string;
  /** JSON text; undefined removes the member. */
  readonly value: string | undefined;
}

/**
 * The edited object, as byte ranges to send in order. Most are views of the body, which is not
 * copied; new members are added after the last one.
 *
 * @param cuts parts of the values of kept members to leave out, in order, as `cutElements` returns
 *   them
 */
export function spliceMembers(
  tape: Tape,
  edits: readonly MemberEdit[],
  cuts?: readonly Span[],
): readonly Uint8Array[] {
  const { body } = tape;
  // A copy, because a host's client may empty the list, and the next channel needs the chunks
  // again.
  if (edits.length === 0 && !cuts?.length) return [...body.chunks];
  const splice: Splice = { body, cuts, pieces: [], position: 0 };
  let keptEnd: number | undefined;
  // The start of the removed members between the last kept one and the next.
  let removedStart: number | undefined;
  let end = tape.start(root) + 1;
  for (const member of tape.members(root)) {
    const start = tape.nameStart(member);
    end = tape.end(member);
    const edit = lastEdit(edits, tape.name(member));
    if (edit !== undefined && edit.value === undefined) {
      removedStart ??= start;
      continue;
    }
    // The comma after the removed members is removed too, because a kept member follows.
    if (removedStart !== undefined) replace(splice, removedStart, start, '');
    if (edit?.value !== undefined) replace(splice, tape.start(member), end, edit.value);
    removedStart = undefined;
    keptEnd = end;
  }
  // After the last kept member: removes the members there with the comma before each, and adds the
  // new ones.
  replace(
    splice,
    keptEnd ?? removedStart ?? end,
    end,
    newMembers(tape, edits, keptEnd !== undefined),
  );
  keep(splice, body.text.length);
  return splice.pieces;
}

/** An edit in progress: the text up to `position` has been copied to `pieces` or replaced. */
interface Splice {
  readonly body: Body;
  readonly cuts: readonly Span[] | undefined;
  readonly pieces: Uint8Array[];
  position: number;
}

/** Replaces a span of the text. Spans come in order and do not overlap. */
function replace(splice: Splice, start: number, end: number, text: string): void {
  if (start === end && text === '') return;
  if (splice.position < start) keep(splice, start);
  if (text !== '') splice.pieces.push(Buffer.from(text));
  splice.position = end;
}

function keep({ body, cuts, pieces, position }: Splice, end: number): void {
  let from = position;
  for (const cut of cuts ?? []) {
    if (cut.start < from || cut.start >= end) continue;
    pieces.push(...originalSlices(body, from, cut.start));
    from = cut.end;
  }
  pieces.push(...originalSlices(body, from, end));
}

function newMembers(tape: Tape, edits: readonly MemberEdit[], followsOthers: boolean): string {
  let text = '';
  for (const [index, { name }] of edits.entries()) {
    const value = lastEdit(edits, name)?.value;
    const isNamedBefore = edits.findIndex((edit) => edit.name === name) < index;
    if (value === undefined || isNamedBefore || tape.get(root, name) !== none) continue;
    const comma = followsOthers || text !== '' ? ',' : '';
    text += `${comma}${JSON.stringify(name)}:${value}`;
  }
  return text;
}

function lastEdit(edits: readonly MemberEdit[], name: string): MemberEdit | undefined {
  return edits.findLast((edit) => edit.name === name);
}
