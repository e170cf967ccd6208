/**
 * Assembles a call's arguments from the fragments that Vertex streams with JSON paths such as
 * `$.a.b[0].c`.
 */
import { jsonText, quoted } from '../../../canonical/raw-json.ts';
import {
  isJsonNumber,
  isJsonObject,
  items,
  type JsonObject,
  type JsonValue,
  member,
} from '../../../json.ts';

export interface PartialArguments {
  add(pieces: JsonValue | undefined): void;
  json(): string;
}

/** Uses maps in place of objects, because a path may contain `__proto__`. */
type Node = Leaf | Map<string, Node> | Node[];

interface Leaf {
  readonly value: JsonValue;
  /** More of this string will follow. */
  readonly isOpen: boolean;
}

type Path = readonly (string | number)[];

/** More than any tool's schema needs. A deeper path can only be an attack on the stack. */
const maxDepth = 100;
const maxPathLength = 4_096;

export function partialArguments(start: JsonObject): PartialArguments {
  const root = new Map<string, Node>();
  for (const [name, value] of Object.entries(start)) root.set(name, { value, isOpen: false });

  return {
    add: (pieces) => {
      for (const piece of items(pieces)) {
        const path = pathOf(member(piece, 'jsonPath'));
        if (path !== undefined) setAt(root, path, piece);
      }
    },
    json: () => text(root),
  };
}

const steps = /\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g;
const wholePath = /^\$(?:\.[^.[\]]+|\[\d+\]|\['[^']*'\]|\["[^"]*"\])+$/;

function pathOf(written: JsonValue | undefined): Path | undefined {
  if (typeof written !== 'string' || written.length > maxPathLength) return undefined;
  if (!wholePath.test(written)) return undefined;
  const path = [...written.matchAll(steps)].map(([, bare, index, single, double]) =>
    index === undefined ? (bare ?? single ?? double ?? '') : Number(index),
  );
  return typeof path[0] === 'number' || path.length > maxDepth ? undefined : path;
}

function setAt(root: Map<string, Node>, path: Path, piece: JsonValue): void {
  let holder: Node = root;
  for (const [depth, key] of path.slice(0, -1).entries()) {
    const next: Node | undefined = child(holder, key);
    holder = isHolder(next) ? next : put(holder, key, emptyFor(path[depth + 1]));
  }
  const last = path.at(-1) ?? '';
  const leaf = leafOf(piece, child(holder, last));
  if (leaf !== undefined) put(holder, last, leaf);
}

function isHolder(node: Node | undefined): node is Map<string, Node> | Node[] {
  return node instanceof Map || Array.isArray(node);
}

function emptyFor(key: string | number | undefined): Node {
  return typeof key === 'number' ? [] : new Map<string, Node>();
}

function child(holder: Node, key: string | number): Node | undefined {
  if (holder instanceof Map) return holder.get(String(key));
  return Array.isArray(holder) ? holder[Number(key)] : undefined;
}

/** Lists grow one element at a time, whatever the index: a gap could be a billion elements wide. */
function put(holder: Node, key: string | number, node: Node): Node {
  if (holder instanceof Map) holder.set(String(key), node);
  if (Array.isArray(holder)) {
    const index = Number(key);
    holder[index < holder.length ? index : holder.length] = node;
  }
  return node;
}

function leafOf(piece: JsonValue, before: Node | undefined): Node | undefined {
  const isOpen = member(piece, 'willContinue') === true;
  const string = member(piece, 'stringValue');
  if (typeof string === 'string') {
    return { value: openText(before) + string, isOpen };
  }
  const value = member(piece, 'numberValue') ?? member(piece, 'boolValue');
  if (isJsonNumber(value) || typeof value === 'boolean') return { value, isOpen };
  if (member(piece, 'nullValue') !== undefined) return { value: null, isOpen };
  const other = otherValue(piece);
  if (other !== undefined) return { value: other, isOpen };
  // A fragment without a value ends the existing value.
  return before ?? (isOpen ? undefined : { value: null, isOpen });
}

/** The value of an unknown kind, such as `intValue`. */
function otherValue(piece: JsonValue): JsonValue | undefined {
  const entries = isJsonObject(piece) ? Object.entries(piece) : [];
  return entries.find(([name]) => name.endsWith('Value'))?.[1];
}

function openText(node: Node | undefined): string {
  if (node === undefined || isHolder(node) || !node.isOpen) return '';
  return typeof node.value === 'string' ? node.value : '';
}

function text(node: Node): string {
  if (node instanceof Map) {
    const members = [...node].map(([name, value]) => `${quoted(name)}:${text(value)}`);
    return `{${members.join(',')}}`;
  }
  return Array.isArray(node) ? `[${node.map(text).join(',')}]` : jsonText(node.value);
}
