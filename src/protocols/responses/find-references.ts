/**
 * Finds what a Responses request refers to: the reply that it continues, output items of which it
 * has only the id, and encrypted content, which only the account that made it can read.
 */
import { originalLength } from '../../bytes/body/body.ts';
import { decodeString } from '../../bytes/decode.ts';
import { findMember, membersOf } from '../../bytes/json/read/members.ts';
import { skipValue } from '../../bytes/json/read/skip.ts';
import type { ScannedBody } from '../../bytes/json/scan/body.ts';
import type { Member, Span } from '../../bytes/json/scan/scan.ts';
import { openBrace, openBracket, quote } from '../../bytes/json/text.ts';
import type { Reference } from '../../call.ts';
import { isEnvelope } from '../../canonical/envelope.ts';
import { filledText, isStored, itemKind } from '../../dialects/openai-responses/item-kinds.ts';
import { eachElement, presentValue, shortText } from '../../dialects/prompt-size.ts';

/**
 * One of these texts is in every body that refers to something. Names may be written with escapes,
 * and an item may have nothing but its id.
 */
const markerTexts: readonly string[] = [
  ...['"id"', 'previous_response_id', 'encrypted_content', '\\u00'],
];

/** The references of a request; undefined if it has none. */
export function findReferences({ body, members }: ScannedBody): readonly Reference[] | undefined {
  const { text } = body;
  if (!markerTexts.some((name) => text.includes(name))) return undefined;
  const found: Reference[] = [];
  const previous = presentValue(text, members, 'previous_response_id');
  if (previous !== undefined) found.push(previousReply(textAt(text, previous)));
  const input = findMember(members, 'input');
  if (input !== undefined && text[input.value.start] === openBracket) {
    eachElement(text, input.value.start, (start, index) => {
      const span = { start, end: skipValue(text, start) };
      const reference = text[start] === openBrace ? referenceIn(body, span, index) : undefined;
      if (reference !== undefined) found.push(reference);
      return span.end;
    });
  }
  return found.length === 0 ? undefined : found;
}

function previousReply(id: string | undefined): Reference {
  const at = 'previous_response_id';
  const rest = { isRemovable: false, element: undefined, sealedBytes: 0 };
  return { kind: 'reply', id: id ?? '', isOwn: isOwnId(id), at, ...rest };
}

/** The reference that an item is; undefined if it needs nothing but itself. */
function referenceIn(body: ScannedBody['body'], span: Span, index: number): Reference | undefined {
  const { text } = body;
  const members = membersOf(text, span);
  const idSpan = presentValue(text, members, 'id');
  const id = idSpan === undefined ? undefined : (textAt(text, idSpan) ?? '');
  const type = shortText(text, presentValue(text, members, 'type'));
  const isOwn = isOwnId(id);
  const reference: Reference = {
    kind: isOwn || namesOnlyId(type) ? 'item' : 'incomplete',
    id,
    isOwn,
    isRemovable: false,
    at: `input[${index}].id`,
    element: { member: 'input', index },
    sealedBytes: 0,
  };
  const kind = itemKind(type, (name) => presentValue(text, members, name) !== undefined);
  if (kind === 'sealed') {
    const item = { ...reference, isRemovable: type === 'reasoning' };
    return sealedItem(body, members, item);
  }
  return isStored(text, members, kind) ? reference : undefined;
}

/** A reference to an item may leave its type out. */
function namesOnlyId(type: string | undefined): boolean {
  return type === undefined || type === 'item_reference';
}

/** An item with encrypted content, or which its provider would complete from what it has stored. */
function sealedItem(
  { text, elisions }: ScannedBody['body'],
  members: readonly Member[],
  item: Reference,
): Reference | undefined {
  const sealed = filledText(text, members, 'encrypted_content');
  const at = `input[${item.element?.index}]`;
  if (sealed !== undefined) {
    if (isMadeHere(text, sealed)) return { ...item, kind: 'local', at };
    const sealedBytes = originalLength({ elisions }, sealed.start + 1, sealed.end - 1);
    return { ...item, kind: 'sealed', at, sealedBytes };
  }
  if (item.isOwn) return { ...item, kind: 'local', at };
  // Without an id it is nothing but its summary.
  return isStored(text, members, 'sealed') ? { ...item, isRemovable: false } : undefined;
}

/** True for content in an envelope of the gateway, which no upstream can read. */
function isMadeHere(text: Buffer, { start, end }: Span): boolean {
  return isEnvelope(text.toString('latin1', start + 1, Math.min(end - 1, start + 65)));
}

/** Ids of translated replies and their items. */
const ownId = /^[a-z]+_tg_/;

/** Whether the gateway made an id, for a translated reply or an item of it. */
export function isOwnId(id: string | undefined): boolean {
  return id !== undefined && ownId.test(id);
}

const maxIdBytes = 1_024;

/** The text of an id; undefined for a value that can't be one. */
function textAt(text: Buffer, { start, end }: Span): string | undefined {
  if (text[start] !== quote || end - start > maxIdBytes) return undefined;
  return decodeString(text, start + 1, end - 1);
}
