/**
 * The port that holds and charges money: reserve → extend → settle or release, each one atomic
 * step. The invariants that every store keeps are in `docs/quota.md`; `quotaStoreContract` tests
 * them.
 */
import type { Nanos } from '../../money.ts';
import type { CallOptions, MaybePromise } from '../call-options.ts';

/** An amount for one subject and period of a reservation. */
export interface QuotaLine {
  /** 1 to 128 printable ASCII characters without spaces; never a secret. */
  readonly subject: string;
  /**
   * `''` for no period, else `2026-11` or `2026-11-20`. Chosen at reserve, and fixed until the
   * reservation ends.
   */
  readonly period: string;
  /** What is held or charged, in nanos: 0 to 2^53 − 1. */
  readonly amount: Nanos;
  /**
   * Reserve only: the limit of the subject and period, as the key's record states it. It applies
   * immediately: this reserve is decided by it, whatever limit the store has kept.
   */
  readonly limit?: Nanos;
}

/** A hold to make. */
export interface ReserveInput {
  /**
   * `/^[A-Za-z0-9_-]{16,64}$/`; globally unique, made by the gateway, one for each request of a
   * caller.
   */
  readonly id: string;
  /** All lines are in one partition (a Redis hash tag, an SQL shard). */
  readonly partition: string;
  /**
   * 1 to 8 lines, distinct by (subject, period) and sorted by subject. Either all are held or none.
   */
  readonly lines: readonly QuotaLine[];
  /** The lease, 1,000 to 900,000 ms on the store's clock. */
  readonly ttlMs: number;
  /** The action for each line when the lease runs out; a charge is at most the line's amount. */
  readonly onExpire:
    | 'release'
    | {
        /** For each line, what its expiry charges, in nanos. */
        readonly charge: readonly Nanos[];
      };
  /** For each line: how many reservations of its subject may run at once, including this one. */
  readonly maxConcurrentCalls?: readonly (number | undefined)[];
}

/** The hold, or the first reason to refuse it. */
export type ReserveResult =
  | {
      readonly status: 'held';
      /** The same id was held already; nothing was added. */
      readonly replay: boolean;
      /** When the lease ends, in Unix ms on the store's clock. */
      readonly expiresAtMs: number;
      /**
       * For each line: what is left after this hold; negative for a hold of 0 on a subject in debt.
       */
      readonly available: readonly bigint[];
    }
  /** `available` is negative if the subject is in debt. */
  | {
      readonly status: 'insufficient';
      /** The first subject that can't pay for its line. */
      readonly subject: string;
      /** What is left of it, in nanos. */
      readonly available: bigint;
    }
  | {
      readonly status: 'too_many_in_flight';
      /** The first subject that has as many running calls as it may. */
      readonly subject: string;
    }
  | {
      /** There is no limit for it, or an operator has disabled it. */
      readonly status: 'unknown_subject' | 'disabled_subject';
      /** The first such subject. */
      readonly subject: string;
    }
  /** This id has ended already. */
  | {
      readonly status: 'resolved';
      /** How it ended. */
      readonly as: 'settled' | 'released' | 'expired';
    }
  /** The id is held with other lines. */
  | { readonly status: 'id_conflict' };

/** A lease to renew, and optionally an amount to add to its hold. */
export interface ExtendInput extends Pick<ReserveInput, 'id' | 'partition' | 'ttlMs'> {
  /** For each line: the amount to add to the hold, for a stream that outgrows it. */
  readonly add?: readonly Nanos[];
  /**
   * The call no longer runs. Its money stays held until somebody finds out what the call costs, but
   * it no longer counts in `inFlight` or against `maxConcurrentCalls`. Can't be undone; repeating
   * it changes nothing.
   */
  readonly idle?: boolean;
}

/** The result for one lease of a batch. */
export type ExtendResult =
  | {
      readonly status: 'held';
      /** When the lease ends, in Unix ms on the store's clock. */
      readonly expiresAtMs: number;
    }
  /** The lease is renewed, but the hold is unchanged. */
  | {
      readonly status: 'insufficient';
      /** The first subject that can't pay for what is added. */
      readonly subject: string;
      /** What is left of it, in nanos; negative if it is in debt. */
      readonly available: bigint;
    }
  | {
      readonly status: 'gone';
      /** How the hold ended; `unknown` if the store has none with this id. */
      readonly as: 'settled' | 'released' | 'expired' | 'unknown';
    };

/** The charge that ends a hold. */
export interface SettleInput extends Pick<ReserveInput, 'id' | 'partition'> {
  /**
   * The final charge of each line. Subject and period are repeated, so that a store that lost the
   * hold can still charge.
   */
  readonly lines: readonly QuotaLine[];
  /** Where the charged amount comes from. */
  readonly basis: ChargeBasis;
}

/**
 * Where a charge comes from. `usage`: the usage that the upstream reported. `counted`: counted from
 * the forwarded content. `estimate`: estimated from the request. `policy`: a fixed rule.
 */
export type ChargeBasis = 'usage' | 'counted' | 'estimate' | 'policy';

/** How much of a subject and period is used. */
export interface QuotaBalance {
  /** What was charged in this period, in nanos. */
  readonly used: bigint;
  /** `limit + extra` as in {@link QuotaState}; 0 without a limit. */
  readonly limit: Nanos;
}

interface Charged {
  /**
   * For each line: the balance right after this charge. A store that leaves it out has no event
   * `quota_low` for charges.
   */
  readonly balances?: readonly QuotaBalance[];
}

/** The result of a charge. */
export type SettleResult =
  | ({ readonly status: 'settled' } & Charged)
  | ({
      readonly status: 'settled_late';
      /** What the store knew of the hold. */
      readonly from: 'expired' | 'unknown';
    } & Charged)
  /** The first settle wins and never changes. */
  | {
      readonly status: 'already';
      /** What the first settle charged for each line, in nanos. */
      readonly charged: readonly Nanos[];
    }
  /** The hold was released before. Nothing is charged; it is a bug of the calling code. */
  | { readonly status: 'conflict'; readonly as: 'released' };

/** A hold to give back because its call certainly did not run. */
export interface ReleaseInput extends Pick<SettleInput, 'id' | 'partition'> {
  /** The lines of the hold, so that a release that arrives before its reserve can be kept. */
  readonly lines: readonly QuotaLine[];
}

/** The result of a release. */
export type ReleaseResult =
  | { readonly status: 'released' }
  | {
      readonly status: 'already';
      /** How it ended before. */
      readonly as: 'settled' | 'released' | 'expired';
    };

/**
 * The current state of one subject and period. `limit + extra − used − held` is what can still be
 * held, where `limit + extra` counts as 0 below 0 and as 2^53 − 1 above it.
 */
export interface QuotaState {
  /** The limit that the latest reserve carried, or that `adjust` set. */
  readonly limit: Nanos;
  /** The sum that `adjust({ addLimit })` has added to the limit of this period; may be negative. */
  readonly extra: bigint;
  /** What was charged in this period, in nanos. */
  readonly used: Nanos;
  /** What running calls and calls in doubt hold, in nanos. */
  readonly held: Nanos;
  /**
   * How many calls with a hold are running. Calls in doubt (`idle`) hold money and are not counted.
   */
  readonly inFlight: number;
  /** Whether calls may hold on it. */
  readonly enabled: boolean;
  /** Increases with every change of this row. */
  readonly version: number;
}

/** The state of a row after an adjustment. */
export interface AdjustResult extends QuotaState {
  /** An adjustment with this id was applied before, so that this one changed nothing. */
  readonly replay: boolean;
}

/** An operator's change of one row. */
export interface AdjustInput {
  /**
   * `/^[A-Za-z0-9_-]{16,64}$/`, otherwise `adjust` throws a RangeError. An adjustment whose id was
   * used before changes nothing. Ids of other systems may be longer or contain other characters:
   * use their digest (SHA-256 in base64url has 43 characters).
   */
  readonly id: string;
  /** The partition of the subject's holds. */
  readonly partition: string;
  /** The subject to change, by its id. */
  readonly subject: string;
  /** The period to change, in the form of {@link QuotaLine.period}. */
  readonly period: string;
  /**
   * Sets the limit; it may be below what is used. Creates the row if there is none. Only for
   * subjects whose limit no key record states: if the latest reserve carried a limit, this throws a
   * RangeError, because the next reserve would undo it.
   */
  readonly limit?: Nanos;
  /**
   * Adds to `extra`, on top of the limit that key records state; may be negative. It counts for
   * this period only: prepaid money belongs on a subject with the period `total`.
   */
  readonly addLimit?: bigint;
  /** Whether calls may hold on it from now on. */
  readonly enabled?: boolean;
}

/** Holds and charges quota. */
export interface QuotaStore {
  /**
   * How long data survives: `process` (memory), `replica-async` (Redis with failover), `durable`
   * (SQL).
   */
  readonly durability: 'process' | 'replica-async' | 'durable';
  /**
   * Holds every line or none; a line of 0 fits any balance. If a line carries a limit and its row
   * exists, the limit is kept in the row, whether the hold is granted or not. Repeating an id gives
   * the same answer and holds nothing more.
   */
  reserve(input: ReserveInput, options?: CallOptions): MaybePromise<ReserveResult>;
  /** Renews leases, in one batch. The results have the order of the inputs. */
  extend(
    inputs: readonly ExtendInput[],
    options?: CallOptions,
  ): MaybePromise<readonly ExtendResult[]>;
  /** Ends a hold with a charge. Never refused for lack of funds, or because the hold is unknown. */
  settle(input: SettleInput, options?: CallOptions): MaybePromise<SettleResult>;
  /**
   * Ends a hold without a charge. A release that arrives before its reserve blocks that reserve.
   */
  release(input: ReleaseInput, options?: CallOptions): MaybePromise<ReleaseResult>;
  /** Expires due leases. Safe to call from anywhere, any number of times, and concurrently. */
  sweep(
    options: {
      /** How many leases to expire at most. */
      readonly max: number;
      /** The only partition to sweep. Default: all. */
      readonly partition?: string;
    } & CallOptions,
  ): MaybePromise<{
    /** How many leases were expired. */
    readonly expired: number;
    /** Whether further leases are due. */
    readonly more: boolean;
  }>;
  /** The row of a subject and period, after what is due has expired; undefined if there is none. */
  read(
    subject: string,
    period: string,
    partition: string,
    options?: CallOptions,
  ): MaybePromise<QuotaState | undefined>;
  /** For operators: sets a subject's limit, adds to it, or switches the subject on and off. */
  adjust(input: AdjustInput, options?: CallOptions): MaybePromise<AdjustResult>;
  /** Self-test at start-up: clock, schema, eviction policy. */
  check(options?: CallOptions): MaybePromise<
    | { readonly ok: true }
    | {
        readonly ok: false;
        /** What is wrong, each a sentence with its remedy. */
        readonly problems: readonly string[];
      }
  >;
  /** Ends what the store itself has opened. The gateway does not call it. */
  close(): MaybePromise<void>;
}
