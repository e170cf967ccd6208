/**
 * Lists the members of a document that nobody reads, so that nothing is left out in silence: those
 * of a caller's request, and those of an upstream's whole reply.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';

/** The member's whole value is read, or listed elsewhere where it is lost. */
export const read = true;

/** The members that are read, of an object or of each object in a list. */
export interface Shape {
  readonly [name: string]: ReadMembers;
}

/** How much of a member is read. */
export type ReadMembers = typeof read | Shape | ((holder: JsonObject) => Shape);

/** Where a walk stands. */
export interface UnreadScope {
  readonly shape: Shape;
  /** The path of the holder, with its dot; empty for the document. */
  readonly at: string;
  /** Takes the paths of members that nobody reads. */
  readonly unread: Set<string>;
}

/** Looks through the object for members that its shape does not have. */
export function collectUnread(holder: JsonObject, { shape, at, unread }: UnreadScope): void {
  for (const [name, value] of Object.entries(holder)) {
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (known === read || isNullOrEmpty(value)) continue;
    const path = `${at}${headerSafe(name)}`;
    if (known === undefined) {
      unread.add(path);
      continue;
    }
    for (const one of isList(value) ? value : [value]) {
      if (!isJsonObject(one)) continue;
      const inner = typeof known === 'function' ? known(one) : known;
      collectUnread(one, { shape: inner, at: `${path}.`, unread });
    }
  }
}

/** The members of a reply that its shape does not have, as `reply.` and their path. */
export function unreadOfReply(reply: JsonValue, shape: Shape): readonly string[] {
  const unread = new Set<string>();
  if (isJsonObject(reply)) collectUnread(reply, { shape, at: 'reply.', unread });
  return [...unread];
}

/** A shape of which every member is read: what is passed on as it is. */
export function allRead(holder: JsonObject): Shape {
  return Object.fromEntries(Object.keys(holder).map((name) => [name, read]));
}

function isNullOrEmpty(value: JsonValue): boolean {
  return value === null || (isList(value) && value.length === 0);
}

/** `Array.isArray` alone forgets that the list is read-only. */
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The list goes out in a header. */
function headerSafe(name: string): string {
  return name.replace(/[^\w.-]/g, '_').slice(0, 64);
}
