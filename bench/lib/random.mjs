/** Pseudo-random numbers from a seed (mulberry32), so that a run can be repeated. */

/** Returns a function whose calls return whole numbers from 0 to below `bound`. */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** A copy in random order. */
export function shuffled(values, random) {
  const order = [...values];
  for (let at = order.length - 1; at > 0; at -= 1) {
    const other = random(at + 1);
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}
