/**
 * Replaces, adds and removes members of a JSON object in its bytes. Everything else stays as it was
 * sent, to the last space and digit: parsing and writing again turns 12345678901234567890 into
 * 12345678901234567000 and 1.0 into 1.
 */
import type { Member, Span } from './json-scan.ts';
import { openBrace } from './json-text.ts';

/** A new value for one member of an object. */
export interface MemberEdit {
  /** Decoded, as in {@link Member.name}. Of two edits of one name the last counts. */
  readonly name: string;
  /** JSON text; undefined removes the member. */
  readonly value: string | undefined;
}

/** Text to put in place of a span of the body. */
interface Change extends Span {
  readonly text: string;
}

/**
 * The edited object as the pieces to send one after another. Most are parts of `body` itself, which
 * is not copied; what the object lacks is added after its last member.
 *
 * @param members all members of the object that is the whole of `body`, as the scan gave them
 */
export function spliceMembers(
  body: Uint8Array,
  members: readonly Member[],
  edits: readonly MemberEdit[],
): readonly Uint8Array[] {
  const values = new Map<string, string | undefined>();
  for (const { name, value } of edits) values.set(name, value);

  const changes: Change[] = [];
  let kept: Member | undefined;
  // Where the removed members begin that lie between the last kept one and the next.
  let gapStart: number | undefined;
  for (const member of members) {
    const { name, nameSpan, value } = member;
    const text = values.get(name);
    if (text === undefined && values.has(name)) {
      gapStart ??= nameSpan.start;
      continue;
    }
    // What is removed takes the comma after it along: a kept member follows.
    if (gapStart !== undefined) changes.push({ start: gapStart, end: nameSpan.start, text: '' });
    if (text !== undefined) changes.push({ start: value.start, end: value.end, text });
    values.delete(name);
    gapStart = undefined;
    kept = member;
  }
  changes.push(tailChange(body, members, kept, values));
  return piecesOf(body, changes);
}

/**
 * What happens behind the last member that is kept: the removed ones go, with the comma before
 * each, and the new ones come.
 *
 * @param values what no kept member took: the values to add, and undefined for those removed
 */
function tailChange(
  body: Uint8Array,
  members: readonly Member[],
  kept: Member | undefined,
  values: ReadonlyMap<string, string | undefined>,
): Change {
  const start = kept?.value.end ?? members[0]?.nameSpan.start ?? body.indexOf(openBrace) + 1;
  const end = members.at(-1)?.value.end ?? start;

  let text = '';
  for (const [name, value] of values) {
    if (value === undefined) continue;
    const comma = kept === undefined && text === '' ? '' : ',';
    text += `${comma}${JSON.stringify(name)}:${value}`;
  }
  return { start, end, text };
}

/** The body with its changes, which are in order and do not overlap. */
function piecesOf(body: Uint8Array, changes: readonly Change[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let sent = 0;
  for (const { start, end, text } of changes) {
    if (start === end && text === '') continue;
    if (sent < start) pieces.push(body.subarray(sent, start));
    if (text !== '') pieces.push(Buffer.from(text));
    sent = end;
  }
  pieces.push(sent === 0 ? body : body.subarray(sent));
  return pieces;
}
