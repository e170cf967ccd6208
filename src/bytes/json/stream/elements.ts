/**
 * A JSON array as it arrives: cuts it behind whole elements, so that what works on elements never
 * sees half of one. For Google's streams without `alt=sse`.
 */
import { UpstreamError } from '../../../errors.ts';
import { asBuffer } from '../../decode.ts';
import { pieces } from '../../pieces.ts';
import { noBytes } from '../../sse.ts';
import { openBracket } from '../text.ts';
import { jsonTokens } from './tokens.ts';

/** Holds an unfinished element back, and with it the comma in front. */
export interface ElementCutter {
  /**
   * The elements that this chunk completes, each with what stands before it; the last bracket is a
   * piece of its own.
   */
  push(chunk: Uint8Array): readonly Uint8Array[];
  /**
   * What is no part of a whole element: the space behind the array, or where it broke off. Given
   * once.
   */
  rest(): Uint8Array;
  /** The array has ended; whatever follows is rest. */
  closed(): boolean;
}

/**
 * A document that is no array, and what follows a mistake in one, is held to the end.
 *
 * @throws UpstreamError `event_too_large` from `push`, when one element exceeds `maxElementBytes`
 */
export function elementCutter(maxElementBytes: number): ElementCutter {
  const held = pieces();
  let isArray = false;
  let isClosed = false;
  /** Where elements, or the array itself, end in the chunk being pushed. */
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
    push: (chunk) => {
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
    rest: () => release(noBytes),
    closed: () => isClosed,
  };
}

function tooLarge(): UpstreamError {
  return new UpstreamError('body', 'event_too_large');
}
