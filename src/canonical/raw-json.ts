/**
 * Writes JSON in which some values already are JSON text: the arguments of a tool call, which are
 * never parsed and reprinted, and numbers that a double would change.
 */
import { sourceText } from '../json.ts';

/** JSON text to be written verbatim. It must be valid JSON. */
export interface RawJson {
  readonly [sourceText]: string;
}

/** A value that {@link jsonText} can write. Members that are undefined are left out. */
export type JsonNode =
  | string
  | number
  | boolean
  | null
  | undefined
  | RawJson
  | readonly JsonNode[]
  | { readonly [name: string]: JsonNode };

export function rawJson(text: string): RawJson {
  return { [sourceText]: text };
}

export function quoted(text: string): string {
  return JSON.stringify(text);
}

/**
 * Escapes U+2028 and U+2029 in JSON text. Strings may contain them, but some parsers of event
 * streams treat them as line ends.
 */
export function oneLine(json: string): string {
  // Most texts have neither; a search for a character is much faster than an expression.
  if (!json.includes('\u2028') && !json.includes('\u2029')) return json;
  return json.replace(/[\u2028\u2029]/g, (separator) =>
    separator === '\u2028' ? '\\u2028' : '\\u2029',
  );
}

export function quotedLine(text: string): string {
  return oneLine(quoted(text));
}

export function jsonText(node: JsonNode): string {
  // V8's own writer takes a fraction of the time, but knows no raw JSON and writes no undefined.
  return node === undefined || holdsRaw(node) ? textOf(node) : JSON.stringify(node);
}

function holdsRaw(node: JsonNode): boolean {
  if (typeof node !== 'object' || node === null) return false;
  if (sourceText in node) return true;
  if (isList(node)) return node.some(holdsRaw);
  for (const name in node) {
    const value = node[name];
    if (typeof value === 'object' && holdsRaw(value)) return true;
  }
  return false;
}

function textOf(node: JsonNode): string {
  if (node === undefined) return 'null';
  if (typeof node !== 'object' || node === null) return JSON.stringify(node);
  if (isRaw(node)) return node[sourceText];
  if (isList(node)) return `[${node.map(textOf).join(',')}]`;
  let members = '';
  for (const [name, value] of Object.entries(node)) {
    if (value === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${textOf(value)}`;
  }
  return `{${members}}`;
}

function isRaw(node: object): node is RawJson {
  return sourceText in node;
}

function isList(node: object): node is readonly JsonNode[] {
  return Array.isArray(node);
}
