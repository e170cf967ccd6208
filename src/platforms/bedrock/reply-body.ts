/**
 * Gives the replies of `InvokeModel` and `CountTokens` the form that Anthropic gives them. Those of
 * streams are messages of `application/vnd.amazon.eventstream`, with two checksums each.
 *
 * @see https://smithy.io/2.0/aws/amazon-eventstream.html
 */

import { crc32 } from 'node:zlib';
import { parseBounded } from '../../bounded-json.ts';
import { ChunkBuffer } from '../../bytes/chunk-buffer.ts';
import { asBuffer } from '../../bytes/decode.ts';
import { jsonText, oneLine } from '../../canonical/raw-json.ts';
import { isError, UpstreamError } from '../../errors.ts';
import { type JsonValue, member, nonEmpty } from '../../json.ts';
import type { ByteSink, UpstreamBody } from '../../ports/upstream-client.ts';
import { streamErrorType } from './errors.ts';

/** Turns the pieces of a body into those of another. `end` is called when all have arrived. */
interface BodyReader {
  /** Throws an UpstreamError if the body is broken; what came before has been put out. */
  write(chunk: Uint8Array, put: (bytes: Uint8Array) => void): void;
  end(put: (bytes: Uint8Array) => void): void;
}

function readBody(body: UpstreamBody, reader: BodyReader): UpstreamBody {
  return {
    // A body that has arrived is delivered by `start` too.
    takeWhole: () => undefined,
    start: (sink) => body.start(readingSink(body, reader, sink)),
    pause: () => body.pause(),
    resume: () => body.resume(),
    abort: () => body.abort(),
  };
}

function readingSink(body: UpstreamBody, reader: BodyReader, sink: ByteSink): ByteSink {
  let isBroken = false;
  const passOn = (read: (put: (bytes: Uint8Array) => void) => void): boolean => {
    if (isBroken) return false;
    const output = new ChunkBuffer();
    let failure: unknown;
    try {
      read((bytes) => output.add(bytes));
    } catch (error) {
      failure = error;
      isBroken = true;
    }
    if (output.byteLength() > 0) sink.write(output.drain());
    if (!isBroken) return true;
    body.abort();
    sink.fail(isError(failure) ? failure : broken());
    return false;
  };
  return {
    write: (chunk) => void passOn((put) => reader.write(chunk, put)),
    end: () => {
      if (passOn((put) => reader.end(put))) sink.end();
    },
    fail: (error) => {
      if (!isBroken) sink.fail(error);
    },
  };
}

/** The reply of `InvokeModelWithResponseStream` as Anthropic's server-sent events. */
export function eventsOfMessages(body: UpstreamBody): UpstreamBody {
  const decoder = new EventStreamDecoder();
  const writer = new EventWriter();
  return readBody(body, {
    write: (chunk, put) => decoder.write(chunk, (message) => put(writer.write(message))),
    // A stream that ends within a message lacks its last event, which the tap looks for.
    end: (put) => put(writer.rest()),
  });
}

const metricsMember = 'amazon-bedrock-invocationMetrics';
/** Counts as a byte of a stream without content, of which there may be only so many. */
const comment = Buffer.from(':\n\n');
const none = Buffer.alloc(0);

class EventWriter {
  /** A `message_delta` without usage, which the metrics of the `message_stop` after it have. */
  #withoutUsage: Buffer | undefined;

  write({ headers, payload }: EventMessage): Uint8Array {
    const kind = headers.get(':message-type');
    const type = headers.get(':event-type') ?? '';
    if (kind === 'event' && type === 'chunk') return this.#writeChunk(payload);
    const exception = kind === 'event' ? type : headers.get(':exception-type');
    const name = exception ?? headers.get(':error-code') ?? '';
    // A new kind of event that has nothing to do with the reply.
    if (kind === 'event' && !name.endsWith('Exception')) return comment;
    const document = parseBounded(payload.toString('utf8'));
    const message = nonEmpty(member(document, 'message')) ?? headers.get(':error-message');
    const error = { type: streamErrorType(name), message: message ?? name };
    const data = Buffer.from(oneLine(jsonText({ type: 'error', error })));
    return Buffer.concat([this.rest(), framed('error', data)]);
  }

  /** What is still held back. */
  rest(): Buffer {
    const held = this.#withoutUsage;
    this.#withoutUsage = undefined;
    return held === undefined ? none : framed('message_delta', held);
  }

  #writeChunk(payload: Buffer): Uint8Array {
    const bytes = member(parseBounded(payload.toString('utf8')), 'bytes');
    if (typeof bytes !== 'string') return comment;
    const data = Buffer.from(bytes, 'base64');
    const type = typeOf(data);
    if (type === undefined) return comment;
    if (type === 'message_delta' && stated(data, 'usage') === undefined) {
      const before = this.rest();
      this.#withoutUsage = data;
      return before;
    }
    if (type === 'message_stop' && this.#withoutUsage !== undefined) this.#addUsage(data);
    return Buffer.concat([this.rest(), framed(type, data)]);
  }

  #addUsage(stop: Buffer): void {
    const held = this.#withoutUsage;
    const metrics = stated(stop, metricsMember);
    const end = held?.lastIndexOf('}') ?? -1;
    if (held === undefined || metrics === undefined || end < 0) return;
    const usage = jsonText({
      input_tokens: countIn(metrics, 'inputTokenCount'),
      output_tokens: countIn(metrics, 'outputTokenCount'),
      cache_read_input_tokens: countIn(metrics, 'cacheReadInputTokenCount'),
      cache_creation_input_tokens: countIn(metrics, 'cacheWriteInputTokenCount'),
    });
    this.#withoutUsage = Buffer.concat([held.subarray(0, end), Buffer.from(`,"usage":${usage}}`)]);
  }
}

function countIn(metrics: JsonValue, name: string): number | undefined {
  const count = member(metrics, name);
  return typeof count === 'number' ? count : undefined;
}

function stated(data: Buffer, name: string): JsonValue | undefined {
  return member(parseBounded(data.toString('utf8')), name);
}

/** Anthropic's clients need the name of each event. */
function framed(type: string, data: Buffer): Buffer {
  const line = data.includes('\n') || data.includes('\r') ? withoutLineEnds(data) : data;
  return Buffer.concat([Buffer.from(`event: ${type}\ndata: `), line, lineEnds]);
}

const lineEnds = Buffer.from('\n\n');

/** JSON has no line ends inside of strings, and those between its values mean nothing. */
function withoutLineEnds(data: Buffer): Buffer {
  return Buffer.from(data.map((byte) => (byte === 0x0a || byte === 0x0d ? 0x20 : byte)));
}

const firstType = /^\{"type":"(\w{1,64})"[,}]/;

function typeOf(data: Buffer): string | undefined {
  const [, first] = firstType.exec(data.toString('latin1', 0, 96)) ?? [];
  if (first !== undefined) return first;
  const type = stated(data, 'type');
  return typeof type === 'string' && /^\w{1,64}$/.test(type) ? type : undefined;
}

const maxCountBytes = 64 * 1024;

/** The reply of `CountTokens` as that of Anthropic's `count_tokens`. */
export function countOfTokens(body: UpstreamBody): UpstreamBody {
  const collected = new ChunkBuffer();
  return readBody(body, {
    write: (chunk) => {
      collected.add(chunk);
      if (collected.byteLength() > maxCountBytes) {
        throw new UpstreamError('body', 'upstream_reply_too_large');
      }
    },
    end: (put) => {
      const bytes = collected.drain();
      const count = countIn(parseBounded(asBuffer(bytes).toString('utf8')) ?? null, 'inputTokens');
      put(count === undefined ? bytes : Buffer.from(`{"input_tokens":${count}}`));
    },
  });
}

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
function broken(): UpstreamError {
  return new UpstreamError('body', 'upstream_protocol_error');
}
