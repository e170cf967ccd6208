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
