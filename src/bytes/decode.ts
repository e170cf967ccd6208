/** Bytes as text. */
import { parseJson } from '../json.ts';

/** Part of the bytes, which must be UTF-8, as a string. */
export function utf8Text(bytes: Uint8Array, start: number, end: number): string {
  return asBuffer(bytes).toString('utf8', start, end);
}

/** The string between two quotes of valid JSON; `start` and `end` leave the quotes out. */
export function decodeString(bytes: Uint8Array, start: number, end: number): string {
  const text = utf8Text(bytes, start, end);
  return text.includes('\\') ? String(parseJson(`"${text}"`)) : text;
}

/** The same memory as a Buffer, whose searches and decoders are native. */
export function asBuffer(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
