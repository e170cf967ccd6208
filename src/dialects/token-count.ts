/**
 * Counts what a stream forwarded where the upstream gives no figures: a token for every event, and
 * one for every three bytes that an event is longer than the shortest, which holds little but its
 * frame.
 */

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
/** `data: [DONE]` and comments are shorter than any event with a frame. */
const shortestFrame = 32;
/** No provider's frame is longer: what an only event holds beyond that is the answer itself. */
const longestFrame = 512;

/** The count of one stream. */
export interface TokenCount {
  /** Whole events; the last of a stream may lack its line end. */
  add(block: Uint8Array): void;
  /** Tokens so far, rounded up. */
  tokens(): number;
}

/** Begins at 0. */
export function tokenCount(): TokenCount {
  let events = 0;
  let bytes = 0;
  let shortest = Number.POSITIVE_INFINITY;

  const addLine = (length: number): void => {
    if (length < shortestFrame) return;
    events += 1;
    bytes += length;
    if (length < shortest) shortest = length;
  };

  return {
    add: (block) => {
      const hasLineFeeds = block[block.length - 1] === lineFeed || block.includes(lineFeed);
      const lineEnd = hasLineFeeds ? lineFeed : carriageReturn;
      for (let start = 0; start < block.length; ) {
        // A search costs more than the step over a blank line.
        const isBlank = block[start] === lineFeed || block[start] === carriageReturn;
        const found = isBlank ? start : block.indexOf(lineEnd, start);
        const end = found === -1 ? block.length : found;
        addLine(end - start);
        start = end + 1;
      }
    },
    tokens: () => {
      const frame = Math.min(shortest, longestFrame);
      return events === 0 ? 0 : events + Math.ceil((bytes - events * frame) / 3);
    },
  };
}
