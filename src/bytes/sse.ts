/**
 * Server-sent events as bytes (HTML §9.2.6): cuts a stream at blank lines, so that what works on
 * events gets whole ones, and reads the fields of one event where somebody must look inside.
 */
import { UpstreamError } from '../errors.ts';
import { type Pieces, pieces } from './pieces.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Nothing, as bytes. */
export const noBytes: Uint8Array = new Uint8Array(0);

/** Holds an unfinished event back until its blank line arrives. */
export interface EventCutter {
  /** The whole events that this chunk completes, with what was held before; may be empty. */
  push(chunk: Uint8Array): Uint8Array;
  /** What never saw its blank line, given once. */
  rest(): Uint8Array;
}

/**
 * Cuts at blank lines of any kind: LF, CRLF or a lone CR. Where it cuts does not depend on how the
 * stream came in chunks: a CR that ends a chunk waits for the LF that may belong to it.
 *
 * @throws UpstreamError `event_too_large` from `push`, when one event exceeds `maxEventBytes`
 */
export function eventCutter(maxEventBytes: number): EventCutter {
  // Most streams come in whole events, and never need it.
  let held: Pieces | undefined;
  // The last bytes held: a blank line may lie across two chunks.
  let before: Uint8Array = noBytes;

  const hold = (piece: Uint8Array): void => {
    held ??= pieces();
    held.add(piece);
    if (held.byteLength() > maxEventBytes) throw tooLarge();
    before = piece.length >= 3 ? piece.subarray(-3) : joined([before, piece]).subarray(-3);
  };

  const release = (last: Uint8Array): Uint8Array => {
    before = noBytes;
    if (held === undefined || held.byteLength() === 0) return last;
    if (last.length > 0) held.add(last);
    return held.drain();
  };

  return {
    push: (chunk) => {
      const end = lastBoundary(chunk, before);
      if (end === undefined) {
        if (chunk.length > 0) hold(chunk);
        return noBytes;
      }
      const whole = release(end === chunk.length ? chunk : chunk.subarray(0, end));
      if (whole.length > maxEventBytes) refuseLarge(whole, maxEventBytes);
      if (end < chunk.length) hold(chunk.subarray(end));
      return whole;
    },
    rest: () => release(noBytes),
  };
}

/** The pieces as one; a single piece is not copied. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first, second] = pieces;
  if (first === undefined) return noBytes;
  return second === undefined ? first : Buffer.concat(pieces);
}

/**
 * The offset behind the last blank line in `chunk`, undefined where it completes none. 0 is the
 * blank line that ended with the CR before: now it is known that no LF belongs to it.
 */
function lastBoundary(chunk: Uint8Array, before: Uint8Array): number | undefined {
  for (let index = chunk.length - 1; index >= -1; index -= 1) {
    const byte = byteAt(index, chunk, before);
    if (!isLineEnd(byte)) continue;
    if (byte === carriageReturn && index === chunk.length - 1) continue;
    const isPair = byte === lineFeed && byteAt(index - 1, chunk, before) === carriageReturn;
    const previous = byteAt(isPair ? index - 2 : index - 1, chunk, before);
    // Nothing stands before the first line of an event.
    if (previous === undefined || isLineEnd(previous)) return index + 1;
  }
  return undefined;
}

function byteAt(index: number, chunk: Uint8Array, before: Uint8Array): number | undefined {
  return index >= 0 ? chunk[index] : before[before.length + index];
}

/** Large events that came whole in few chunks: each is measured, not all of them together. */
function refuseLarge(block: Uint8Array, maxEventBytes: number): void {
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

/** One event, looked into. */
export interface SseEvent {
  /** The event with its blank line, as it came. */
  readonly raw: Uint8Array;
  /** What its `event:` line calls it. */
  readonly name: string | undefined;
  /** The `data:` lines joined by LF, or undefined where there is none. */
  readonly data: string | undefined;
  /** Lines that are no field and no comment: text that was never framed. */
  readonly loose: string;
  /** It has nothing but `data:` lines. */
  readonly isDataOnly: boolean;
}

/** Where the event begins that holds the byte at this offset, which must be no line end. */
export function eventStart(block: Uint8Array, at: number): number {
  return lastBoundary(block.subarray(0, at + 1), noBytes) ?? 0;
}

/** The events of a block that {@link eventCutter} gave, or of its rest. */
export function eventsIn(block: Uint8Array): readonly SseEvent[] {
  const events: SseEvent[] = [];
  let start = 0;
  while (start < block.length) {
    const end = eventEnd(block, start);
    events.push(readEvent(block.subarray(start, end)));
    start = end;
  }
  return events;
}

/**
 * The offset behind the first blank line from `start` on, or the block's end. Blank lines with
 * which a block begins are one event: a megabyte of them would hold up the event loop.
 */
function eventEnd(block: Uint8Array, start: number): number {
  if (isLineEnd(block[start])) return blankEnd(block, start);
  let lineStart = start;
  for (let index = start; index < block.length; index += 1) {
    const byte = block[index];
    // Once for each byte of a stream: no call.
    if (byte !== lineFeed && byte !== carriageReturn) continue;
    const isBlank = index === lineStart;
    if (byte === carriageReturn && block[index + 1] === lineFeed) index += 1;
    lineStart = index + 1;
    if (isBlank) return lineStart;
  }
  return block.length;
}

function blankEnd(block: Uint8Array, start: number): number {
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
    loose: loose.join('\n'),
    isDataOnly,
  };
}

const byteOrderMark = '\uFEFF';

function linesOf(text: string): readonly string[] {
  const marked = text.startsWith(byteOrderMark) ? text.slice(1) : text;
  return marked.includes('\r') ? marked.split(/\r\n|\n|\r/) : marked.split('\n');
}

/** One space behind the colon belongs to the frame. */
function fieldValue(line: string, field: string): string {
  return line.slice(line.startsWith(`${field} `) ? field.length + 1 : field.length);
}
