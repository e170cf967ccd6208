/** Divides what a gateway has little of among keys, so that no key takes it from all others. */
import type { ByteBudget } from './budget.ts';

/**
 * While less than half is taken any key may take more. From there on a key that holds a quarter is
 * refused, and the last eighth is for small bodies.
 */
export interface FairShares {
  /** Takes `amount` if the key's share allows it; takes nothing and answers false if not. */
  take(keyId: string, amount: number, claim: ShareClaim): boolean;
  /** Gives back what was taken, once. */
  give(keyId: string, amount: number): void;
}

/** On whose behalf something is taken. */
export interface ShareClaim {
  /** What the call has taken already: it does not count against the call itself. */
  readonly own: number;
  /** The call may take of the last eighth. */
  readonly isSmall: boolean;
}

/** Bodies up to this size are served to the last, for they cost little. */
export const smallBodyBytes: number = 64 * 1024;

/** Shares of which nothing is taken yet. `max` may change while they are used. */
export function fairShares(max: () => number): FairShares {
  const heldByKey = new Map<string, number>();
  let taken = 0;

  return {
    take(keyId, amount, { own, isSmall }) {
      const most = max();
      if (taken + amount > most) return false;
      const held = heldByKey.get(keyId) ?? 0;
      // A call that is alone takes nothing from anybody.
      if (taken > own) {
        if (!isSmall && taken + amount > most - Math.floor(most / 8)) return false;
        if (taken >= most / 2 && held - own >= most / 4) return false;
      }
      taken += amount;
      heldByKey.set(keyId, held + amount);
      return true;
    },
    give(keyId, amount) {
      taken -= amount;
      const left = (heldByKey.get(keyId) ?? 0) - amount;
      if (left > 0) heldByKey.set(keyId, left);
      else heldByKey.delete(keyId);
    },
  };
}

/** The budget of one body, out of the shares of its key. */
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
