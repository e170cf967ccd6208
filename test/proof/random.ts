/** Numbers by chance that are the same for the same seed, so that a failure can be played again. */

/** A whole number from 0 up to, and without, `below`. */
export type Draw = (below: number) => number;

/** Draws by mulberry32. */
export function drawn(seed: number): Draw {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
