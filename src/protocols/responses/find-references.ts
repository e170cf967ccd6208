/**
 * Finds what a Responses request refers to: the reply that it continues, output items of which it
 * has only the id, and encrypted content, which only the account that made it can read.
 */
import { none, root, type Tape, type Value } from '../../bytes/json/tape.ts';
import type { Reference } from '../../call.ts';
import { isEnvelope } from '../../canonical/envelope.ts';
import { filledText } from '../../dialects/openai/responses/item-kinds.ts';
import type { MeasuredItem } from '../../dialects/openai/responses/prompt-size.ts';

export function previousReference(tape: Tape): Reference | undefined {
  const previous = tape.present(root, 'previous_response_id');
  return previous === none ? undefined : previousReply(idText(tape, previous));
}

function previousReply(id: string | undefined): Reference {
  const at = 'previous_response_id';
  const rest = { isRemovable: false, element: undefined, sealedBytes: 0 };
  return { kind: 'reply', id: id ?? '', isOwn: isOwnId(id), at, ...rest };
}

/** The reference that an item is; undefined if it needs nothing but itself. */
export function referenceIn(
  tape: Tape,
  { item, index, type, kind, isStored }: MeasuredItem,
): Reference | undefined {
  if (kind !== 'sealed' && !isStored) return undefined;
  const idValue = tape.present(item, 'id');
  const id = idValue === none ? undefined : (idText(tape, idValue) ?? '');
  const isOwn = isOwnId(id);
  const reference: Reference = {
    kind: isOwn || namesOnlyId(type) ? 'item' : 'incomplete',
    id,
    isOwn,
    isRemovable: kind === 'sealed' && type === 'reasoning',
    at: `input[${index}].id`,
    element: { member: 'input', index },
    sealedBytes: 0,
  };
  return kind === 'sealed' ? sealedItem(tape, item, reference, isStored) : reference;
}

/** A reference to an item may leave its type out. */
function namesOnlyId(type: string | undefined): boolean {
  return type === undefined || type === 'item_reference';
}

/** An item with encrypted content, or which its provider would complete from what it has stored. */
function sealedItem(
  tape: Tape,
  item: Value,
  reference: Reference,
  isStored: boolean,
): Reference | undefined {
  const sealed = filledText(tape, item, 'encrypted_content');
  const at = `input[${reference.element?.index}]`;
  if (sealed !== none) {
    if (isMadeHere(tape, sealed)) return { ...reference, kind: 'local', at };
    return { ...reference, kind: 'sealed', at, sealedBytes: tape.length(sealed) - 2 };
  }
  if (reference.isOwn) return { ...reference, kind: 'local', at };
  // Without an id it is nothing but its summary.
  return isStored ? { ...reference, isRemovable: false } : undefined;
}

/** True for content in an envelope of the gateway, which no upstream can read. */
function isMadeHere(tape: Tape, sealed: Value): boolean {
  const start = tape.start(sealed) + 1;
  return isEnvelope(
    tape.bytes.toString('latin1', start, Math.min(tape.end(sealed) - 1, start + 64)),
  );
}

const ownId = /^[a-z]+_tg_/;

/** Whether the gateway made an id, for a translated reply or an item of it. */
export function isOwnId(id: string | undefined): boolean {
  return id !== undefined && ownId.test(id);
}

const maxIdBytes = 1_024;

function idText(tape: Tape, value: Value): string | undefined {
  if (!tape.isString(value) || tape.end(value) - tape.start(value) > maxIdBytes) return undefined;
  return tape.text(value);
}
