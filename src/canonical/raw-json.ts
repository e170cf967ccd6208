/**
 * Writes JSON in which some values are text that was JSON already: a tool call's arguments keep
 * every digit of `12345678901234567890` only if nobody parses and prints them.
 */

/** JSON text that goes out as it is. Must be valid JSON. */
export interface RawJson {
  readonly [rawText]: string;
}

/** What {@link jsonText} can write; members that are undefined are left out. */
export type JsonNode =
  | string
  | number
  | boolean
  | null
  | undefined
  | RawJson
  | readonly JsonNode[]
  | { readonly [name: string]: JsonNode };

const rawText: unique symbol = Symbol('raw JSON text');

/** Marks text as JSON that is to be written verbatim. */
export function rawJson(text: string): RawJson {
  return { [rawText]: text };
}

/** The JSON text of a node, without white space. */
export function jsonText(node: JsonNode): string {
  if (node === undefined) return 'null';
  if (typeof node !== 'object' || node === null) return JSON.stringify(node);
  if (isRaw(node)) return node[rawText];
  if (isList(node)) return `[${node.map(jsonText).join(',')}]`;
  const members: string[] = [];
  for (const [name, value] of Object.entries(node)) {
    if (value !== undefined) members.push(`${JSON.stringify(name)}:${jsonText(value)}`);
  }
  return `{${members.join(',')}}`;
}

function isRaw(node: object): node is RawJson {
  return rawText in node;
}

function isList(node: object): node is readonly JsonNode[] {
  return Array.isArray(node);
}
