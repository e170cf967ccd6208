/** Vectors for embeddings: the same text always has the same one, and different texts differ. */

/** A vector of length 1 with numbers that a 32-bit float holds exactly. */
export function unitVector(text: string, dimensions: number): readonly number[] {
  const next = numbersFrom(seedOf(text));
  const numbers = Array.from({ length: dimensions }, next);
  const length = Math.hypot(...numbers);
  return numbers.map((number) => Math.fround(number / length));
}

/** The numbers as 32-bit floats, little endian, one after the other. */
export function packed(numbers: readonly number[]): string {
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [index, number] of numbers.entries()) bytes.writeFloatLE(number, index * 4);
  return bytes.toString('base64');
}

/** FNV-1a over the UTF-16 units of the text. */
function seedOf(text: string): number {
  let seed = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    seed = Math.imul(seed ^ text.charCodeAt(at), 0x01000193);
  }
  return seed;
}

/** Numbers from -0.5 to 0.5 (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 - 0.5;
  };
}
