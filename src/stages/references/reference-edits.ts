/**
 * The edits that a call's references make necessary: items that the gateway keeps take the place of
 * references to them, and content that an account can't read is taken out.
 */
import { parseBounded } from '../../bounded-json.ts';
import type { MemberEdit } from '../../bytes/body/splice.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { editElements } from '../../bytes/json/edit-elements.ts';
import { none, root } from '../../bytes/json/tape.ts';
import type { Call, Reference } from '../../call.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../json.ts';
import { notFound, sealedElsewhere } from './reference-errors.ts';

export interface RelayEdits {
  readonly edits: readonly MemberEdit[];
  readonly changed: readonly string[];
}

/** The edits of a call that is relayed to an account. */
export function relayEdits(
  { tape }: Call,
  references: ResolvedReferences,
  account: string,
): RelayEdits {
  const [unverified] = references.unverified;
  if (unverified !== undefined) throw notFound(unverified);
  const changes = [...replacements(references), ...removals(references, account)];
  const lists = new Map<string, Map<number, string | undefined>>();
  for (const { reference, json } of changes) {
    if (reference.element === undefined) continue;
    const { member: name, index } = reference.element;
    lists.set(name, (lists.get(name) ?? new Map<number, string | undefined>()).set(index, json));
  }
  const edits = [...lists].flatMap(([name, elements]) => {
    const list = tape.get(root, name);
    return list === none ? [] : [{ name, value: editElements(tape, list, elements) }];
  });
  return { edits, changed: changes.map(({ reference }) => pathOf(reference)) };
}

/** The new text of an element; undefined if it is taken out. */
interface ElementChange {
  readonly reference: Reference;
  readonly json: string | undefined;
}

function replacements({ keptItems }: ResolvedReferences): readonly ElementChange[] {
  const textOf = oncePerItem((json) => {
    const item = parsedItem(json);
    return isJsonObject(item) ? relayedItem(item) : undefined;
  });
  return keptItems.map(({ reference, json }) => ({ reference, json: textOf(json) }));
}

function oncePerItem<T>(make: (json: Uint8Array) => T): (json: Uint8Array) => T {
  const made = new Map<Uint8Array, { readonly value: T }>();
  return (json) => {
    const known = made.get(json) ?? { value: make(json) };
    made.set(json, known);
    return known.value;
  };
}

function parsedItem(json: Uint8Array): JsonValue | undefined {
  return parseBounded(asBuffer(json).toString('utf8'));
}

/** Drops the id, which the provider does not know. Another provider's reasoning is left out. */
function relayedItem({ id: _id, ...item }: JsonObject): string | undefined {
  return member(item, 'type') === 'reasoning' ? undefined : jsonText(item);
}

function removals(
  { sealed, local, leavesOutUnknown }: ResolvedReferences,
  account: string,
): readonly ElementChange[] {
  const unreadable = sealed.filter(({ account: origin }) =>
    origin === undefined ? leavesOutUnknown : origin !== account,
  );
  const removed = [...local, ...unreadable.map(({ reference }) => reference)];
  for (const reference of removed) if (!reference.isRemovable) throw sealedElsewhere(reference);
  return removed.map((reference) => ({ reference, json: undefined }));
}

function pathOf({ at, element }: Reference): string {
  return element === undefined ? at : `${element.member}[${element.index}]`;
}

export function withKeptItems(
  body: JsonObject,
  { keptItems }: Pick<ResolvedReferences, 'keptItems'>,
): JsonObject {
  const itemIn = oncePerItem(parsedItem);
  const changed: Record<string, JsonValue> = { ...body };
  const copies = new Map<string, JsonValue[]>();
  for (const { reference, json } of keptItems) {
    if (reference.element === undefined) continue;
    const { member: name, index } = reference.element;
    const list = body[name];
    const item = itemIn(json);
    if (!Array.isArray(list) || item === undefined) continue;
    const copy = copies.get(name) ?? [...list];
    copies.set(name, copy);
    copy[index] = item;
    changed[name] = copy;
  }
  return changed;
}

export interface ResolvedReferences {
  /** The account that has what the call refers to. No other can serve it. */
  readonly requiredAccount: string | undefined;
  /** The account that can read the encrypted content of the call, or the latest part of it. */
  readonly preferredAccount: string | undefined;
  /** Items of translated replies, which take the place of the references to them. */
  readonly keptItems: readonly KeptItem[];
  readonly keptBytes: number;
  readonly sealed: readonly SealedContent[];
  /** Items of translated replies that no provider can use. */
  readonly local: readonly Reference[];
  /**
   * Items that a provider would complete from what it has stored, maybe for another key. A call
   * with such items is not relayed.
   */
  readonly unverified: readonly Reference[];
  /** An upstream could not read encrypted content of unknown origin, so it is left out. */
  leavesOutUnknown: boolean;
  mustResend: boolean;
}

interface KeptItem {
  readonly reference: Reference;
  /** The same object for all references to one item. */
  readonly json: Uint8Array;
}

interface SealedContent {
  readonly reference: Reference;
  readonly account: string | undefined;
}
