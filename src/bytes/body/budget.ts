/** A bound on how many bytes all calls of one gateway hold in memory together. */

/** Shared by all calls. */
export interface ByteBudget {
  /** Takes `bytes` if there is room for them; takes nothing and answers false if there is not. */
  take(bytes: number): boolean;
  /** Gives back what was taken, once: as soon as the memory is free again. */
  give(bytes: number): void;
}

/** A budget of which nothing is taken yet. */
export function byteBudget(maxBytes: number): ByteBudget {
  let takenBytes = 0;

  return {
    take(bytes) {
      if (takenBytes + bytes > maxBytes) return false;
      takenBytes += bytes;
      return true;
    },
    give(bytes) {
      takenBytes -= bytes;
    },
  };
}
