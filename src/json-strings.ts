/** Strings in the source text of JSON, which are measured without parsing it. */

export const quote = 0x22;
export const comma = 0x2c;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;

/** Returns the end of the text if the string was cut off. */
export function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start);
  while (end !== -1 && isEscaped(text, start, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, start: number, at: number): boolean {
  let first = at;
  while (first > start && text.charCodeAt(first - 1) === 0x5c) first -= 1;
  return (at - first) % 2 === 1;
}

const escapes = /\\(?:u([0-9a-fA-F]{4})|.)/gs;

/**
 * Counts the bytes of the decoded string: servers that escape all non-ASCII characters send six
 * bytes for a character of two or three.
 */
export function unescapedBytes(text: string, start: number, end: number): number {
  const raw = text.slice(start, end);
  let bytes = end - start;
  if (!raw.includes('\\')) return bytes;
  for (const [written, code] of raw.matchAll(escapes)) {
    bytes -= written.length - (code === undefined ? 1 : utf8Bytes(Number.parseInt(code, 16)));
  }
  return bytes;
}

/** A surrogate pair is four bytes of UTF-8, two for each half. */
function utf8Bytes(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800 || (code >= 0xd800 && code < 0xe000)) return 2;
  return 3;
}
