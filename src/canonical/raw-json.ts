/**
 * Writes JSON in which some values are text that was JSON already: a tool call's arguments, which
 * nobody parses and prints, and numbers that a double would change.
 */
import { sourceText } from '../json.ts';

/** JSON text that goes out as it is. Must be valid JSON. */
export interface RawJson {
  readonly [sourceText]: string;
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

/** Marks text as JSON that is to be written verbatim. */
export function rawJson(text: string): RawJson {
  return { [sourceText]: text };
}

/** A string as JSON text. */
export function quoted(text: string): string {
  return JSON.stringify(text);
}

/** The JSON text of a node, without white space. */
export function jsonText(node: JsonNode): string {
  if (node === undefined) return 'null';
  if (typeof node !== 'object' || node === null) return JSON.stringify(node);
  if (isRaw(node)) return node[sourceText];
  if (isList(node)) return `[${node.map(jsonText).join(',')}]`;
  let members = '';
  for (const [name, value] of Object.entries(node)) {
    if (value === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${jsonText(value)}`;
  }
  return `{${members}}`;
}

function isRaw(node: object): node is RawJson {
  return sourceText in node;
}

function isList(node: object): node is readonly JsonNode[] {
  return Array.isArray(node);
}
