/**
 * Finds a member's value by searching bytes; parsing every event would cost more than relaying it.
 */

const colon = 0x3a;
const backslash = 0x5c;

/**
 * Returns the offset of the last value of a member in `bytes`; undefined if the member is absent or
 * its last value is null. `name` includes its quotes, which would be escaped inside a JSON string.
 */
export function lastValueOf(bytes: Buffer, name: Uint8Array): number | undefined {
  for (let at = bytes.lastIndexOf(name); at !== -1; at = bytes.lastIndexOf(name, at - 1)) {
    const value = valueAfter(bytes, at + name.length);
    if (value !== undefined && bytes[at - 1] !== backslash) {
      return bytes[value] === 0x6e ? undefined : value;
    }
    if (at === 0) break;
  }
  return undefined;
}

function valueAfter(bytes: Buffer, end: number): number | undefined {
  const at = skipSpace(bytes, end);
  return bytes[at] === colon ? skipSpace(bytes, at + 1) : undefined;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0a || bytes[at] === 0x0d)
    at += 1;
  return at;
}
