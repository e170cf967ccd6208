/** Limits the bytes that all calls of a gateway hold in memory together. */

/** A limit that all calls share. */
export interface ByteBudget {
  /** Takes `bytes` if the budget allows it; otherwise takes nothing and returns false. */
  take(bytes: number): boolean;
  /** Returns bytes that were taken, as soon as their memory is free. */
  give(bytes: number): void;
}

/** Starts with nothing taken. */
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
