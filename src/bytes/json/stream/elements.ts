/**
 * Splits a JSON array into complete elements as it arrives. For Gemini streams without `alt=sse`.
 */
import { UpstreamError } from '../../../errors.ts';
import { ChunkBuffer } from '../../chunk-buffer.ts';
import { asBuffer } from '../../decode.ts';
import { emptyBytes } from '../../sse.ts';
import { openBracket } from '../text.ts';
import { jsonTokens } from './tokens.ts';

/**
 * Creates a cutter. An incomplete element is held back with the comma before it; a document that is
 * not an array, and everything after a syntax error, until the end.
 *
 * @throws UpstreamError `event_too_large` from `push` if one element exceeds `maxElementBytes`
 */
export function elementCutter(maxElementBytes: number) {
  const held = new ChunkBuffer();
  let isArray = false;
  let isClosed = false;
  let ends: number[] = [];

  const tokens = jsonTokens({
    nameBegins: () => {},
    nameEnds: () => {},
    valueBegins: (first, _at, depth) => {
      if (depth === 0) isArray = first === openBracket;
    },
    valueEnds: (_chunk, end, depth) => {
      if (!isArray || depth > 1) return;
      ends.push(end);
      isClosed = depth === 0;
    },
  });

  const hold = (piece: Uint8Array): void => {
    if (piece.length === 0) return;
    held.add(piece);
    if (held.byteLength() > maxElementBytes) throw tooLarge();
  };

  const release = (last: Uint8Array): Uint8Array => {
    if (held.byteLength() === 0 && last.length <= maxElementBytes) return last;
    held.add(last);
    if (held.byteLength() > maxElementBytes) throw tooLarge();
    return held.drain();
  };

  return {
    /**
     * The elements that this chunk completes, each with the bytes before it; the closing bracket is
     * a separate piece.
     */
    push: (chunk: Uint8Array): readonly Uint8Array[] => {
      ends = [];
      tokens.write(asBuffer(chunk));
      const elements: Uint8Array[] = [];
      let start = 0;
      for (const end of ends) {
        elements.push(release(chunk.subarray(start, end)));
        start = end;
      }
      hold(chunk.subarray(start));
      return elements;
    },
    /** White space after the array, or an incomplete element. Returned once. */
    rest: () => release(emptyBytes),
    /** Whether the array has ended; all later bytes go to `rest`. */
    closed: () => isClosed,
  };
}

function tooLarge(): UpstreamError {
  return new UpstreamError('body', 'event_too_large');
}
