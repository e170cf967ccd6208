/**
 * The port that remembers which calls have run under an `Idempotency-Key`: never a body, never the
 * header itself. Each operation is one atomic step; `idempotencyStoreContract` proves a store.
 */
import type { CallOptions, MaybePromise } from './call-options.ts';

/** A name that a call wants for itself. */
export interface ClaimInput {
  /** A SHA-256 in hex, of the key's id, the route and the header's value. */
  readonly name: string;
  /** A SHA-256 in hex, of the request's body. */
  readonly fingerprint: string;
  /** The id of the key whose call it is; never a secret. */
  readonly keyId: string;
  /** An image that may have been made is not forgotten as soon as a text: it was expensive. */
  readonly operation: 'chat' | 'images';
  /** Unique for ever, made by the gateway: only who has it may finish or abandon the claim. */
  readonly claimId: string;
  /** The `x-request-id` of the claiming call, for whoever repeats it. */
  readonly requestId: string;
  /**
   * After so long on the store's clock a claim that still runs reads as `unknown`, for its gateway
   * has crashed. There are no renewals.
   */
  readonly leaseMs: number;
  /** How long the record is kept behind its lease. */
  readonly keepMs: number;
  /** `replace`: the claim takes the place of any other, whatever its state. */
  readonly ifTaken: 'answer' | 'replace';
}

/** What is remembered of a call. */
export interface ClaimRecord {
  /**
   * `running`: not ended, its lease stands. `done`: it has a reply. `unknown`: it may have run, and
   * must not run again.
   */
  readonly state: 'running' | 'done' | 'unknown';
  readonly fingerprint: string;
  readonly claimId: string;
  readonly requestId: string;
  /** What its caller was answered with; undefined while it runs, and where its gateway crashed. */
  readonly status: number | undefined;
  /** Unix ms on the store's clock. */
  readonly claimedAtMs: number;
  /** Unix ms on the store's clock; undefined where it did not come to an end of its own. */
  readonly endedAtMs: number | undefined;
}

/** The name is the claimer's, or what stands under it. */
export type ClaimResult =
  | { readonly status: 'claimed' }
  | { readonly status: 'taken'; readonly record: ClaimRecord };

/** How a claimed call ended. */
export interface FinishInput {
  readonly name: string;
  readonly claimId: string;
  readonly state: 'done' | 'unknown';
  readonly httpStatus: number;
  /** How long the record is kept from now on. */
  readonly keepMs: number;
}

/** `gone`: this claim has ended before, lost its name, or never was; nothing has changed. */
export interface FinishResult {
  readonly status: 'finished' | 'gone';
}

/** A claim to give up: surely nothing ran. */
export interface AbandonInput {
  readonly name: string;
  readonly claimId: string;
}

/** `gone`: as for {@link FinishResult}. */
export interface AbandonResult {
  readonly status: 'abandoned' | 'gone';
}

/** Where claims are kept. */
export interface IdempotencyStore {
  /**
   * Takes the name if it is free. Of any number of claims at once exactly one is `claimed`. A store
   * without room throws `StoreUnavailable`. To make room it may forget what is `done`, then `chat`
   * that is `unknown`, then `images` that have been `unknown` for an hour; never what is `running`.
   */
  claim(input: ClaimInput, options?: CallOptions): MaybePromise<ClaimResult>;
  /** Ends a running claim, also one whose lease has run out meanwhile. The first end stands. */
  finish(input: FinishInput, options?: CallOptions): MaybePromise<FinishResult>;
  /** Frees the name of a claim that has not ended. */
  abandon(input: AbandonInput, options?: CallOptions): MaybePromise<AbandonResult>;
}
