/** Compares what our decoder and AWS's codec read in the same bytes. */
import { crc32 } from 'node:zlib';
import { isUpstreamError } from '../../../src/errors.ts';
import {
  type EventMessage,
  EventStreamDecoder,
} from '../../../src/platforms/bedrock/reply-body.ts';
import type { Draw } from '../../support/seeds.ts';
import { codec } from './messages.ts';

export interface Read {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What has been read, and whether the bytes after it were refused. */
export interface Outcome {
  readonly read: readonly Read[];
  readonly isBroken: boolean;
}

/** Reads with our decoder. Anything but an upstream's fault is thrown. */
export function ours(chunks: readonly Uint8Array[]): Outcome {
  const read: Read[] = [];
  const decoder = new EventStreamDecoder();
  const pass = ({ headers, payload }: EventMessage): void => {
    read.push({ headers: Object.fromEntries(headers), body: payload.toString('latin1') });
  };
  try {
    for (const chunk of chunks) decoder.write(chunk, pass);
  } catch (error) {
    if (isUpstreamError(error)) return { read, isBroken: true };
    throw error;
  }
  return { read, isBroken: false };
}

/** Reads with AWS's codec, which takes one message at a time. */
export function theirs(stream: Buffer): Outcome {
  const read: Read[] = [];
  let at = 0;
  while (at < stream.length) {
    if (stream.length - at < 12) return { read, isBroken: false };
    const length = stream.readUInt32BE(at);
    if (!hasPrelude(stream.subarray(at, at + 12))) return { read, isBroken: true };
    if (at + length > stream.length) return { read, isBroken: false };
    try {
      const { headers, body } = codec.decode(new Uint8Array(stream.subarray(at, at + length)));
      const strings = Object.entries(headers).filter(([, { type }]) => type === 'string');
      read.push({
        headers: Object.fromEntries(strings.map(([name, { value }]) => [name, String(value)])),
        body: Buffer.from(body).toString('latin1'),
      });
    } catch {
      return { read, isBroken: true };
    }
    at += length;
  }
  return { read, isBroken: false };
}

/** The codec checks a prelude only together with its message. */
function hasPrelude(prelude: Buffer): boolean {
  const length = prelude.readUInt32BE(0);
  if (length < 16 || prelude.readUInt32BE(4) > length - 16) return false;
  return crc32(prelude.subarray(0, 8)) === prelude.readUInt32BE(8);
}

const types = [
  () => ({ type: 'boolean', value: true }) as const,
  () => ({ type: 'boolean', value: false }) as const,
  (draw: Draw) => ({ type: 'byte', value: draw(128) }) as const,
  (draw: Draw) => ({ type: 'short', value: draw(30_000) }) as const,
  (draw: Draw) => ({ type: 'integer', value: draw(1_000_000) }) as const,
  (draw: Draw) => ({ type: 'binary', value: bytesOf(draw, draw(20)) }) as const,
  (draw: Draw) => ({ type: 'string', value: textOf(draw, draw(40)) }) as const,
  (draw: Draw) => ({ type: 'timestamp', value: new Date(draw(1_000_000_000)) }) as const,
  () => ({ type: 'uuid', value: '01234567-89ab-cdef-0123-456789abcdef' }) as const,
];

function bytesOf(draw: Draw, length: number): Buffer {
  return Buffer.from(Array.from({ length }, () => draw(256)));
}

function textOf(draw: Draw, length: number): string {
  return Array.from({ length }, () => 'abc:-é€😀'.charAt(draw(8)))
    .join('')
    .replace(/[\uD800-\uDFFF]/g, '?');
}

/** A message with headers of any type. */
export function randomMessage(draw: Draw): Buffer {
  const headers = Array.from({ length: draw(5) }, (_, index) => {
    const make = types[draw(types.length)];
    return [`:name-${index}`, make?.(draw) ?? { type: 'boolean', value: true }] as const;
  });
  const body = bytesOf(draw, draw(3) === 0 ? 0 : draw(200));
  return Buffer.from(codec.encode({ headers: Object.fromEntries(headers), body }));
}

/** Up to four messages, sound in one of three cases; otherwise with a fault. */
export function randomStream(draw: Draw): Buffer {
  const sound = Buffer.concat(Array.from({ length: 1 + draw(4) }, () => randomMessage(draw)));
  switch (draw(3)) {
    case 0:
      return sound;
    case 1:
      return sound.subarray(0, draw(sound.length + 1));
    default: {
      const at = draw(sound.length);
      sound[at] = (sound[at] ?? 0) ^ (1 << draw(8));
      return sound;
    }
  }
}

/** The same bytes in up to six chunks. */
export function randomChunks(draw: Draw, stream: Buffer): readonly Buffer[] {
  const cuts = Array.from({ length: draw(6) }, () => draw(stream.length + 1));
  const ends = [0, ...cuts.sort((one, other) => one - other), stream.length];
  return ends.slice(1).map((end, index) => stream.subarray(ends[index], end));
}
