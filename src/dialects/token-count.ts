/**
 * Counts what a stream forwarded where the upstream gives no figures: a token for every event, and
 * one for every three bytes that an event is longer than the shortest, which holds little but its
 * frame.
 */

const lineFeed = 0x0a;
/** `data: [DONE]` and comments are shorter than any event with a frame. */
const shortestFrame = 32;

export interface TokenCount {
  add(block: Uint8Array): void;
  tokens(): number;
}

export function tokenCount(): TokenCount {
  let events = 0;
  let bytes = 0;
  let shortest = Number.POSITIVE_INFINITY;
  return {
    add: (block) => {
      let start = 0;
      for (let end = block.indexOf(lineFeed); end !== -1; end = block.indexOf(lineFeed, start)) {
        const length = end - start;
        start = end + 1;
        if (length < shortestFrame) continue;
        events += 1;
        bytes += length;
        if (length < shortest) shortest = length;
      }
    },
    tokens: () => (events === 0 ? 0 : events + Math.ceil((bytes - events * shortest) / 3)),
  };
}
