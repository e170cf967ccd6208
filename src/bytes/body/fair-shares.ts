/** Divides a limited resource of the gateway among keys, so that no key takes it all. */

/**
 * While less than half is taken, any key may take more. Above that, a key that holds a quarter is
 * refused, and the last eighth is reserved for small bodies.
 */
export interface FairShares {
  take(keyId: string, amount: number, claim: ShareClaim): boolean;
  taken(): number;
  give(keyId: string, amount: number): void;
}

export interface ShareClaim {
  /** The amount that the call has already taken: it does not count against the call itself. */
  readonly own: number;
  readonly isSmall: boolean;
}

/** Bodies up to this size may use the last eighth, because they cost little. */
export const smallBodyBytes: number = 64 * 1024;

export function fairShares(max: () => number): FairShares {
  const heldByKey = new Map<string, number>();
  let taken = 0;

  return {
    take(keyId, amount, { own, isSmall }) {
      const limit = max();
      if (taken + amount > limit) return false;
      const held = heldByKey.get(keyId) ?? 0;
      // A single call takes nothing from others.
      if (taken > own) {
        if (!isSmall && taken + amount > limit - Math.floor(limit / 8)) return false;
        if (taken >= limit / 2 && held - own >= limit / 4) return false;
      }
      taken += amount;
      heldByKey.set(keyId, held + amount);
      return true;
    },
    taken: () => taken,
    give(keyId, amount) {
      taken -= amount;
      const remaining = (heldByKey.get(keyId) ?? 0) - amount;
      if (remaining > 0 || heldByKey.size <= maxIdleKeys) heldByKey.set(keyId, remaining);
      else heldByKey.delete(keyId);
    },
  };
}

/** A map to which each call is added and removed allocates its table anew all the time. */
const maxIdleKeys = 1_024;

export interface ByteBudget {
  /** Takes `bytes` if the budget allows it; otherwise takes nothing and returns false. */
  take(bytes: number): boolean;
  /** Returns bytes that were taken, as soon as their memory is free. */
  give(bytes: number): void;
}

export function bodyBudget(
  shares: FairShares,
  keyId: string,
  announcedBytes: number | undefined,
): ByteBudget {
  let own = 0;
  return {
    take(bytes) {
      const isSmall = Math.max(announcedBytes ?? 0, own + bytes) <= smallBodyBytes;
      if (!shares.take(keyId, bytes, { own, isSmall })) return false;
      own += bytes;
      return true;
    },
    give(bytes) {
      own -= bytes;
      shares.give(keyId, bytes);
    },
  };
}
