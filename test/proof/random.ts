/** Pseudo-random numbers that are reproducible from their seed. */

/** An integer from 0 to `below`, exclusive. */
export type Draw = (below: number) => number;

/** The generator mulberry32. */
export function drawn(seed: number): Draw {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
