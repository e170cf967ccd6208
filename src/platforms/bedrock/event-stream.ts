/**
 * Splits a body of `application/vnd.amazon.eventstream` into its messages, and checks both of their
 * checksums.
 *
 * @see https://smithy.io/2.0/aws/amazon-eventstream.html
 */
import { crc32 } from 'node:zlib';
import { ChunkBuffer } from '../../bytes/chunk-buffer.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { UpstreamError } from '../../errors.ts';

export interface EventMessage {
  /** Only those that are strings, such as `:event-type`. */
  readonly headers: ReadonlyMap<string, string>;
  readonly payload: Buffer;
}

/** Lengths of the message and of its headers, and their checksum. */
const preludeBytes = 12;
const checksumBytes = 4;
/** The format's own limits of a payload and of headers, in which a prelude finds room. */
const maxMessageBytes = (24 * 1024 + 128) * 1024;

export class EventStreamDecoder {
  readonly #held = new ChunkBuffer();
  /** What must have arrived until the next message can be read. */
  #neededBytes = preludeBytes;

  /**
   * Passes on each message that is complete now.
   *
   * @throws UpstreamError if the bytes are no message
   */
  write(chunk: Uint8Array, pass: (message: EventMessage) => void): void {
    this.#held.add(chunk);
    if (this.#held.byteLength() < this.#neededBytes) return;
    const bytes = asBuffer(this.#held.drain());
    let start = 0;
    let length = lengthAt(bytes, start);
    while (length <= bytes.length - start) {
      pass(messageIn(bytes.subarray(start, start + length)));
      start += length;
      length = lengthAt(bytes, start);
    }
    this.#neededBytes = length;
    if (start < bytes.length) this.#held.add(bytes.subarray(start));
  }
}

/** The length of the message that starts there, or of a prelude if that is not complete. */
function lengthAt(bytes: Buffer, start: number): number {
  if (bytes.length - start < preludeBytes) return preludeBytes;
  const length = bytes.readUInt32BE(start);
  const headerBytes = bytes.readUInt32BE(start + 4);
  const isIntact = crc32(bytes.subarray(start, start + 8)) === bytes.readUInt32BE(start + 8);
  if (!isIntact || headerBytes > length - preludeBytes - checksumBytes) throw broken();
  if (length > maxMessageBytes) throw new UpstreamError('body', 'event_too_large');
  return length;
}

function messageIn(bytes: Buffer): EventMessage {
  const end = bytes.length - checksumBytes;
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) throw broken();
  const payloadStart = preludeBytes + bytes.readUInt32BE(4);
  return {
    headers: headersIn(bytes.subarray(preludeBytes, payloadStart)),
    payload: bytes.subarray(payloadStart, end),
  };
}

const stringType = 7;
/** The size of a value by its type; those of byte arrays and strings state their own. */
const valueBytes: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16];

/** Each is the length of its name, the name, the type of its value and the value. */
function headersIn(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (let at = 0; at < bytes.length; ) {
    const typeAt = at + 1 + byteAt(bytes, at);
    const type = byteAt(bytes, typeAt);
    if (type >= valueBytes.length) throw broken();
    const fixed = valueBytes[type];
    const valueAt = typeAt + (fixed === undefined ? 3 : 1);
    const end = valueAt + (fixed ?? byteAt(bytes, typeAt + 1) * 256 + byteAt(bytes, typeAt + 2));
    if (type === stringType) {
      headers.set(bytes.toString('utf8', at + 1, typeAt), bytes.toString('utf8', valueAt, end));
    }
    at = end;
  }
  return headers;
}

function byteAt(bytes: Buffer, at: number): number {
  const byte = bytes[at];
  if (byte === undefined) throw broken();
  return byte;
}

/** Bytes were lost or changed on the way, or the sender speaks another format. */
export function broken(): UpstreamError {
  return new UpstreamError('body', 'upstream_protocol_error');
}
