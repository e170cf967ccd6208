/**
 * Lists the members of a document that no reader uses, so that nothing is dropped silently: members
 * of a caller's request and of an upstream's whole reply.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';

/** The member's whole value is read; if it is lost later, that is listed elsewhere. */
export const read = true;

/** The members that are read, of an object or of each object in an array. */
export interface Shape {
  readonly [name: string]: ReadMembers;
}

export type ReadMembers = typeof read | Shape | ((holder: JsonObject) => typeof read | Shape);

/** Members whose whole values are read. */
export function reads(...names: readonly string[]): Shape {
  return Object.fromEntries(names.map((name) => [name, read]));
}

export interface UnreadScope {
  readonly shape: Shape;
  /** The path of the object with a trailing dot; empty for the document. */
  readonly at: string;
  readonly unread: Set<string>;
}

export function collectUnread(holder: JsonObject, { shape, at, unread }: UnreadScope): void {
  for (const [name, value] of Object.entries(holder)) {
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (known === read || value === null || (isList(value) && value.length === 0)) continue;
    if (known === undefined && at === '' && isNeutral(name, value)) continue;
    const path = `${at}${headerSafe(name)}`;
    if (known === undefined) {
      unread.add(path);
      continue;
    }
    for (const one of isList(value) ? value : [value]) {
      if (!isJsonObject(one)) continue;
      const inner = typeof known === 'function' ? known(one) : known;
      if (inner !== read) collectUnread(one, { shape: inner, at: `${path}.`, unread });
    }
  }
}

/** Lists the members of a reply that its shape does not have, as `reply.` and their path. */
export function unreadOfReply(reply: JsonValue, shape: Shape): readonly string[] {
  const unread = new Set<string>();
  if (isJsonObject(reply)) collectUnread(reply, { shape, at: 'reply.', unread });
  return [...unread];
}

/**
 * Values of unread members of a request that say what holds without them. Clients send them by
 * default. An empty object is none in general: for some members it is a switch.
 */
const neutralValues: ReadonlyMap<string, readonly JsonValue[]> = new Map<
  string,
  readonly JsonValue[]
>([
  ['best_of', [1]],
  ['inference_geo', ['global']],
  ['speed', ['standard', 1]],
  ['store', [false]],
]);
const emptyObjects: ReadonlySet<string> = new Set(['logit_bias', 'metadata']);

function isNeutral(name: string, value: JsonValue): boolean {
  if (isJsonObject(value)) return emptyObjects.has(name) && Object.keys(value).length === 0;
  return neutralValues.get(name)?.includes(value) === true;
}

/** `Array.isArray` alone forgets that the list is read-only. */
function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Makes a name safe for a response header, in which the list is sent. */
function headerSafe(name: string): string {
  return name.replace(/[^\w.-]/g, '_').slice(0, 64);
}
