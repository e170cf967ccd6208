/**
 * The port that holds the money: reserve → extend → settle or release, each one atomic step. The
 * invariants that every store keeps are in `docs/quota.md`; `quotaStoreContract` proves them.
 */
import type { Nanos } from '../money.ts';
import type { CallOptions, MaybePromise } from './call-options.ts';

/** One subject and period of a reservation, and an amount. */
export interface QuotaLine {
  /** `/^[A-Za-z0-9._-]{1,64}$/`; never a secret. */
  readonly subject: string;
  /** `''` for no period, else `2026-11` or `2026-11-20`; chosen at reserve, pinned for its life. */
  readonly period: string;
  readonly amount: Nanos;
  /**
   * Reserve only: the limit of the subject and period as the key's record states it. It counts at
   * once: this reserve is judged by it, whatever the store has kept.
   */
  readonly limit?: Nanos;
}

/** A hold that is asked for. */
export interface ReserveInput {
  /**
   * `/^[A-Za-z0-9_-]{16,64}$/`; unique for ever, made by the gateway, one for each caller's
   * request.
   */
  readonly id: string;
  /** All lines live in one partition (a Redis hash tag, an SQL shard). */
  readonly partition: string;
  /** 1 to 8, distinct (subject, period), sorted by subject. All or nothing. */
  readonly lines: readonly QuotaLine[];
  /** The lease, 1,000 to 900,000 ms on the store's clock. */
  readonly ttlMs: number;
  /** What becomes of each line when the lease runs out; a charge is at most the line's amount. */
  readonly onExpire: 'release' | { readonly charge: readonly Nanos[] };
  /** By line: how many reservations of its subject may run at once, this one among them. */
  readonly maxConcurrentCalls?: readonly (number | undefined)[];
}

/** The hold, or the first reason against it. */
export type ReserveResult =
  | {
      readonly status: 'held';
      /** The same id was held already; nothing was added. */
      readonly replay: boolean;
      readonly expiresAtMs: number;
      /** By line: what is left after this hold; below zero for a hold of nothing on a debt. */
      readonly available: readonly bigint[];
    }
  /** `available` is below zero where the subject is in debt. */
  | { readonly status: 'insufficient'; readonly subject: string; readonly available: bigint }
  | { readonly status: 'too_many_in_flight'; readonly subject: string }
  | { readonly status: 'unknown_subject' | 'disabled_subject'; readonly subject: string }
  /** This id has ended already. */
  | { readonly status: 'resolved'; readonly as: 'settled' | 'released' | 'expired' }
  /** The same id with other lines. */
  | { readonly status: 'id_conflict' };

/** A lease to renew, and a hold to grow where asked. */
export interface ExtendInput {
  readonly id: string;
  readonly partition: string;
  readonly ttlMs: number;
  /** By line: what to add to the hold, for a stream that outgrows it. */
  readonly add?: readonly Nanos[];
  /**
   * The call no longer runs, and only its money stays held, until somebody finds out what it costs:
   * from now on it counts neither in `inFlight` nor against `maxConcurrentCalls`. Can't be undone;
   * repeating it changes nothing.
   */
  readonly idle?: boolean;
}

/** What became of one lease of a batch. */
export type ExtendResult =
  | { readonly status: 'held'; readonly expiresAtMs: number }
  /** The lease is renewed all the same, the hold unchanged. */
  | { readonly status: 'insufficient'; readonly subject: string; readonly available: bigint }
  | { readonly status: 'gone'; readonly as: 'settled' | 'released' | 'expired' | 'unknown' };

/** The charge that ends a hold. */
export interface SettleInput {
  readonly id: string;
  readonly partition: string;
  /**
   * The final charge by line; subject and period repeated, so that a store that lost the hold can
   * still charge.
   */
  readonly lines: readonly QuotaLine[];
  /** What the charge rests on. */
  readonly basis: ChargeBasis;
}

/**
 * `usage`: the upstream's own figures. `counted`: from what was forwarded. `estimate`: from the
 * request. `policy`: a rule.
 */
export type ChargeBasis = 'usage' | 'counted' | 'estimate' | 'policy';

/** How a charge landed. */
export type SettleResult =
  | { readonly status: 'settled' }
  | { readonly status: 'settled_late'; readonly from: 'expired' | 'unknown' }
  /** The first settle wins and never changes. */
  | { readonly status: 'already'; readonly charged: readonly Nanos[] }
  /** Released before: nothing is charged, and it is a bug of the asker. */
  | { readonly status: 'conflict'; readonly as: 'released' };

/** A hold to give back: surely nothing ran. */
export interface ReleaseInput {
  readonly id: string;
  readonly partition: string;
  readonly lines: readonly QuotaLine[];
}

/** What became of a release. */
export type ReleaseResult =
  | { readonly status: 'released' }
  | { readonly status: 'already'; readonly as: 'settled' | 'released' | 'expired' };

/**
 * One subject and period as it stands. `limit + extra − used − held` is what can still be held,
 * where `limit + extra` counts as 0 below 0 and as 2^53 − 1 above it.
 */
export interface QuotaState {
  /** The limit that the latest reserve carried, or the one that was set by `adjust`. */
  readonly limit: Nanos;
  /** What `adjust({ addLimit })` has added to the limit of this period; may be below zero. */
  readonly extra: bigint;
  readonly used: Nanos;
  readonly held: Nanos;
  /** How many held reservations are running: those in doubt hold money and are not counted. */
  readonly inFlight: number;
  readonly enabled: boolean;
  /** Grows with every change of this row. */
  readonly version: number;
}

/** An operator's change of one row. */
export interface AdjustInput {
  /** Repeating an id changes nothing. */
  readonly id: string;
  readonly partition: string;
  readonly subject: string;
  readonly period: string;
  /**
   * Sets the limit; below what is used is legal. Creates the row where there is none. Only for
   * subjects whose limit no key's record states: where the latest reserve carried one, this is
   * refused with a RangeError, since the next reserve would undo it.
   */
  readonly limit?: Nanos;
  /**
   * Adds to `extra`, beside whatever limit the records state; may be negative. It counts for this
   * period only: prepaid money belongs on a subject with the period `total`.
   */
  readonly addLimit?: bigint;
  readonly enabled?: boolean;
}

/** Where quota is held and charged. */
export interface QuotaStore {
  /** What survives: `process` (memory), `replica-async` (Redis with failover), `durable` (SQL). */
  readonly durability: 'process' | 'replica-async' | 'durable';
  /**
   * Holds every line or none; a line of 0 fits any balance. A limit that a line carries is kept in
   * its row, if there is one, whether the hold is granted or not. Repeating an id gives the same
   * answer and holds nothing more.
   */
  reserve(input: ReserveInput, options?: CallOptions): MaybePromise<ReserveResult>;
  /** Renews leases, in one batch; answers in the order asked. */
  extend(
    inputs: readonly ExtendInput[],
    options?: CallOptions,
  ): MaybePromise<readonly ExtendResult[]>;
  /**
   * Ends a hold with a charge. Never refused for lack of funds, nor because the hold is unknown.
   */
  settle(input: SettleInput, options?: CallOptions): MaybePromise<SettleResult>;
  /** Ends a hold without a charge. One that overtakes its reserve blocks it. */
  release(input: ReleaseInput, options?: CallOptions): MaybePromise<ReleaseResult>;
  /** Expires due leases; safe anywhere, any number of times, concurrently. */
  sweep(
    options: { readonly max: number; readonly partition?: string } & CallOptions,
  ): MaybePromise<{ readonly expired: number; readonly more: boolean }>;
  read(
    subject: string,
    period: string,
    partition: string,
    options?: CallOptions,
  ): MaybePromise<QuotaState | undefined>;
  /** The operator's side: sets, adds to, or switches a subject's limit. */
  adjust(input: AdjustInput, options?: CallOptions): MaybePromise<QuotaState>;
  /** Self-test at start-up: clock, schema, eviction policy. */
  check(
    options?: CallOptions,
  ): MaybePromise<
    { readonly ok: true } | { readonly ok: false; readonly problems: readonly string[] }
  >;
  close(): MaybePromise<void>;
}
