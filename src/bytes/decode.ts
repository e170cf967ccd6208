/** Decodes bytes to text. */
import { parseJson } from '../json.ts';

/** Decodes a JSON string; `start` and `end` exclude its quotes. */
export function decodeString(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  return text.includes('\\') ? String(parseJson(`"${text}"`)) : text;
}

/** A Buffer over the same memory: its search and decoding methods are native. */
export function asBuffer(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export function startsLikeJson(bytes: Uint8Array): boolean {
  return opensJson(firstMark(bytes));
}

/** The first byte that is not JSON's white space; undefined if there is none. */
export function firstMark(bytes: Uint8Array): number | undefined {
  return bytes.find((byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09);
}

export function opensJson(byte: number | undefined): boolean {
  return byte === 0x7b || byte === 0x5b;
}
