/**
 * Server-sent events as bytes (HTML §9.2.6): splits a stream at blank lines into whole events, and
 * parses the fields of an event when needed.
 */
import { UpstreamError } from '../errors.ts';
import { ChunkBuffer } from './chunk-buffer.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export const emptyBytes: Uint8Array = new Uint8Array(0);

/** Splits a stream into events; an incomplete event is held back until its blank line arrives. */
export interface EventCutter {
  /** Up to the last blank line in this chunk, with the bytes held before; may be empty. */
  push(chunk: Uint8Array): Uint8Array;
  /** The bytes after the last blank line. Returned once. */
  rest(): Uint8Array;
}

/**
 * Creates a cutter that splits at blank lines of any kind: LF, CRLF or a lone CR. The result does
 * not depend on how the stream was cut into chunks: a CR at the end of a chunk waits for a possible
 * LF.
 *
 * @throws UpstreamError `event_too_large` from `push` if one event exceeds `maxEventBytes`
 */
export function eventCutter(maxEventBytes: number): EventCutter {
  // Created when needed: most streams arrive in whole events.
  let held: ChunkBuffer | undefined;
  // The last bytes held, because a blank line may span two chunks.
  let before: Uint8Array = emptyBytes;

  const hold = (piece: Uint8Array): void => {
    held ??= new ChunkBuffer();
    held.add(piece);
    if (held.byteLength() > maxEventBytes) throw tooLarge();
    before = piece.length >= 3 ? piece.subarray(-3) : concatBytes([before, piece]).subarray(-3);
  };

  const release = (last: Uint8Array): Uint8Array => {
    before = emptyBytes;
    if (held === undefined || held.byteLength() === 0) return last;
    if (last.length > 0) held.add(last);
    return held.drain();
  };

  return {
    push: (chunk) => {
      const end = lastBoundary(chunk, before);
      if (end === undefined) {
        if (chunk.length > 0) hold(chunk);
        return emptyBytes;
      }
      const whole = release(end === chunk.length ? chunk : chunk.subarray(0, end));
      if (whole.length > maxEventBytes) checkEventSizes(whole, maxEventBytes);
      if (end < chunk.length) hold(chunk.subarray(end));
      return whole;
    },
    rest: () => release(emptyBytes),
  };
}

/** Concatenates byte arrays; a single one is not copied. */
export function concatBytes(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length > 1 ? Buffer.concat(pieces) : (pieces[0] ?? emptyBytes);
}

/**
 * The offset after the last blank line in `chunk`, or undefined. 0 means that the blank line ended
 * with the CR before this chunk, which is now known to have no LF.
 */
function lastBoundary(chunk: Uint8Array, before: Uint8Array): number | undefined {
  const { length } = chunk;
  if (length > 1 && chunk[length - 1] === lineFeed && chunk[length - 2] === lineFeed) return length;
  for (let index = chunk.length - 1; index >= -1; index -= 1) {
    const byte = byteAt(index, chunk, before);
    if (!isLineEnd(byte)) continue;
    if (byte === carriageReturn && index === chunk.length - 1) continue;
    const isPair = byte === lineFeed && byteAt(index - 1, chunk, before) === carriageReturn;
    const previous = byteAt(isPair ? index - 2 : index - 1, chunk, before);
    // The first line of an event has no previous line.
    if (previous === undefined || isLineEnd(previous)) return index + 1;
  }
  return undefined;
}

function byteAt(index: number, chunk: Uint8Array, before: Uint8Array): number | undefined {
  return index >= 0 ? chunk[index] : before[before.length + index];
}

/** Checks each event of a large block, because the limit applies to single events. */
function checkEventSizes(block: Uint8Array, maxEventBytes: number): void {
  for (let start = 0; start < block.length; ) {
    const end = eventEnd(block, start);
    if (end - start > maxEventBytes) throw tooLarge();
    start = end;
  }
}

function tooLarge(): UpstreamError {
  return new UpstreamError('body', 'event_too_large');
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === lineFeed || byte === carriageReturn;
}

export interface SseEvent {
  /** The event with its blank line, as received. */
  readonly raw: Uint8Array;
  readonly name: string | undefined;
  /** The `data:` lines joined by LF; undefined if there is none. */
  readonly data: string | undefined;
  /** Lines that are neither a field nor a comment: text that was sent without SSE framing. */
  readonly unframedText: string;
  readonly isDataOnly: boolean;
}

export function parseEvent(block: Uint8Array, start: number): SseEvent {
  return readEvent(block.subarray(start, eventEnd(block, start)));
}

/** Parses the events of a block returned by {@link eventCutter}. */
export function parseEvents(block: Uint8Array): readonly SseEvent[] {
  const events: SseEvent[] = [];
  let start = 0;
  while (start < block.length) {
    const end = eventEnd(block, start);
    events.push(readEvent(block.subarray(start, end)));
    start = end;
  }
  return events;
}

/** Blank lines at the start count as one event: one by one, a megabyte would block the loop. */
function eventEnd(block: Uint8Array, start: number): number {
  if (isLineEnd(block[start])) return blankLinesEnd(block, start);
  // A search by the runtime is many times as fast as a loop, and few providers send CR.
  let carriage = positionOf(block, carriageReturn, start);
  let lineStart = start;
  for (let feed = positionOf(block, lineFeed, start); lineStart < block.length; ) {
    const lineEnd = Math.min(feed, carriage);
    const isBlank = lineEnd === lineStart;
    const isPair = lineEnd === carriage && feed === carriage + 1;
    lineStart = lineEnd + (isPair ? 2 : 1);
    if (isBlank) return Math.min(lineStart, block.length);
    if (feed < lineStart) feed = positionOf(block, lineFeed, lineStart);
    if (carriage < lineStart) carriage = positionOf(block, carriageReturn, lineStart);
  }
  return block.length;
}

/** The offset of the next such byte, or the length of the block. */
function positionOf(block: Uint8Array, byte: number, from: number): number {
  const at = block.indexOf(byte, from);
  return at === -1 ? block.length : at;
}

function blankLinesEnd(block: Uint8Array, start: number): number {
  let end = start;
  while (isLineEnd(block[end])) end += 1;
  return end;
}

const fieldOrComment = /^(?:id|retry)?:|^(?:event|id|retry|data)$/;

function readEvent(raw: Uint8Array): SseEvent {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.length).toString('utf8');
  const data: string[] = [];
  const loose: string[] = [];
  let name: string | undefined;
  let isDataOnly = !text.startsWith(byteOrderMark);
  for (const line of linesOf(text)) {
    if (line.startsWith('data:')) data.push(fieldValue(line, 'data:'));
    else if (line !== '') {
      isDataOnly = false;
      if (line.startsWith('event:')) name = fieldValue(line, 'event:');
      else if (!fieldOrComment.test(line)) loose.push(line);
    }
  }
  return {
    raw,
    name,
    data: data.length === 0 ? undefined : data.join('\n'),
    unframedText: loose.join('\n'),
    isDataOnly,
  };
}

const byteOrderMark = '\uFEFF';

function linesOf(text: string): readonly string[] {
  const marked = text.startsWith(byteOrderMark) ? text.slice(1) : text;
  return marked.includes('\r') ? marked.split(/\r\n|\n|\r/) : marked.split('\n');
}

/** One space after the colon is part of the framing. */
function fieldValue(line: string, field: string): string {
  return line.slice(line.startsWith(`${field} `) ? field.length + 1 : field.length);
}
