/**
 * The seed of everything random in the tests, and numbers drawn from it. It is the same in each
 * run but in `npm run test:generators`, which draws a new one (vitest.config.ts); `TEST_SEED`
 * states it.
 */
const usual = 20_261_123;
export const seed: number = Number(process.env.TEST_SEED ?? usual);

/** An integer from 0 to `below`, exclusive. */
export type Draw = (below: number) => number;

/** The same integers for the same seeds of the run and of this sequence. */
export function drawn(sequence: number): Draw {
  const next = mulberry32(sequence);
  return (below) => next() % below;
}

/** The same numbers from 0 to 1, exclusive. */
export function numbers(sequence: number): () => number {
  const next = mulberry32(sequence);
  return () => next() / 2 ** 32;
}

function mulberry32(sequence: number): () => number {
  let state = (sequence + seed - usual) | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}
