/**
 * Lists the members of a document that no reader uses, so that nothing is dropped silently: members
 * of a caller's request and of an upstream's whole reply.
 */
import { isJsonObject, type JsonObject, type JsonValue, member } from '../json.ts';

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
  for (const name in holder) {
    const known = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (known === read) continue;
    const value = member(holder, name) ?? null;
    if (value === null || (isList(value) && value.length === 0)) continue;
    if (known === undefined) {
      if (at !== '' || !isNeutral(name, value)) unread.add(`${at}${headerSafe(name)}`);
    } else if (isList(value)) {
      for (const one of value) collectInside(one, known, { at: `${at}${name}.`, unread });
    } else {
      collectInside(value, known, { at: `${at}${name}.`, unread });
    }
  }
}

function collectInside(
  value: JsonValue,
  known: Exclude<ReadMembers, typeof read>,
  { at, unread }: Omit<UnreadScope, 'shape'>,
): void {
  if (!isJsonObject(value)) return;
  const shape = typeof known === 'function' ? known(value) : known;
  if (shape !== read) collectUnread(value, { shape, at, unread });
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
