/**
 * Server-sent events as bytes (HTML §9.2.6): cuts a stream at blank lines, so that what works on
 * events gets whole ones, and reads the fields of one event where somebody must look inside.
 */
import { UpstreamError } from '../errors.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Nothing, as bytes. */
export const noBytes: Uint8Array = new Uint8Array(0);

/** Holds an unfinished event back, in the pieces it came in, until its blank line arrives. */
export interface EventCutter {
  /** The whole events that this chunk completes, with what was held before; may be empty. */
  push(chunk: Uint8Array): Uint8Array;
  /** What never saw its blank line. */
  rest(): Uint8Array;
}

/**
 * Cuts at blank lines of any kind: LF, CRLF or a lone CR.
 *
 * @throws UpstreamError `event_too_large` from `push`, when one event exceeds `maxEventBytes`
 */
export function eventCutter(maxEventBytes: number): EventCutter {
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  // The last bytes held: a blank line may lie across two chunks.
  let before: Uint8Array = noBytes;

  const hold = (piece: Uint8Array): void => {
    held.push(piece);
    heldBytes += piece.length;
    if (heldBytes > maxEventBytes) throw new UpstreamError('body', 'event_too_large');
    before = piece.length >= 3 ? piece.subarray(-3) : joined([before, piece]).subarray(-3);
  };

  return {
    push: (chunk) => {
      const end = lastBoundary(chunk, before);
      if (end === 0) {
        if (chunk.length > 0) hold(chunk);
        return noBytes;
      }
      const whole = joined([...held, chunk.subarray(0, end)]);
      held = [];
      heldBytes = 0;
      before = noBytes;
      if (end < chunk.length) hold(chunk.subarray(end));
      return whole;
    },
    rest: () => joined(held),
  };
}

/** The pieces as one; a single piece is not copied. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first, second] = pieces;
  if (first === undefined) return noBytes;
  return second === undefined ? first : Buffer.concat(pieces);
}

/** The offset behind the last blank line in `chunk`, 0 where it completes none. */
function lastBoundary(chunk: Uint8Array, before: Uint8Array): number {
  const at = (index: number): number | undefined =>
    index >= 0 ? chunk[index] : before[before.length + index];
  for (let index = chunk.length - 1; index >= 0; index -= 1) {
    const byte = at(index);
    if (byte !== lineFeed && byte !== carriageReturn) continue;
    const lineEnd = byte === lineFeed && at(index - 1) === carriageReturn ? index - 2 : index - 1;
    if (isLineEnd(at(lineEnd))) return index + 1;
  }
  return 0;
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === lineFeed || byte === carriageReturn;
}

/** One event, looked into. */
export interface SseEvent {
  /** The event with its blank line, as it came. */
  readonly raw: Uint8Array;
  /** The `data:` lines joined by LF, or undefined where there is none. */
  readonly data: string | undefined;
  /** Lines that are no field and no comment: text that was never framed. */
  readonly loose: string;
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

/** The offset behind the first blank line from `start` on, or the block's end. */
export function eventEnd(block: Uint8Array, start: number): number {
  for (let index = start; index < block.length; index += 1) {
    if (!isLineEnd(block[index])) continue;
    const next =
      block[index] === carriageReturn && block[index + 1] === lineFeed ? index + 2 : index + 1;
    if (!isLineEnd(block[next])) continue;
    return block[next] === carriageReturn && block[next + 1] === lineFeed ? next + 2 : next + 1;
  }
  return block.length;
}

const fieldOrComment = /^(?:event|id|retry)?:|^(?:event|id|retry|data)$/;

function readEvent(raw: Uint8Array): SseEvent {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.length).toString('utf8');
  const data: string[] = [];
  const loose: string[] = [];
  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)) {
    if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    else if (line !== '' && !fieldOrComment.test(line)) loose.push(line);
  }
  return { raw, data: data.length === 0 ? undefined : data.join('\n'), loose: loose.join('\n') };
}
