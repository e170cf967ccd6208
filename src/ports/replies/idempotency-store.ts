/**
 * The port that remembers which calls have run under an `Idempotency-Key`. It never gets a body or
 * the header itself. Each operation is one atomic step; `idempotencyStoreContract` tests a store.
 */
import type { CallOptions, MaybePromise } from '../call-options.ts';
import type { ProtocolName } from '../models/catalog.ts';

/** A claim of a name by a call. */
export interface ClaimInput {
  /** SHA-256 in hex of the key's id, the route and the header's value. */
  readonly name: string;
  /** SHA-256 in hex of the request's body. */
  readonly fingerprint: string;
  /** The id of the key that sent the call; never a secret. */
  readonly keyId: string;
  /**
   * Records of images are forgotten later than records of chats, because an image that may have
   * been made was expensive.
   */
  readonly operation: ProtocolName;
  /** Globally unique, made by the gateway. Only its holder may finish or abandon the claim. */
  readonly claimId: string;
  /** The `x-request-id` of the claiming call, which callers that repeat it are shown. */
  readonly requestId: string;
  /**
   * How long the claim may run, on the store's clock. After that a claim that was not ended reads
   * as `unknown`, because its gateway has crashed. Leases are not renewed.
   */
  readonly leaseMs: number;
  /** How long the record is kept after its lease. */
  readonly keepMs: number;
  /**
   * `answer`: a name that is taken is answered with its record. `replace`: the claim replaces any
   * other, whatever its state.
   */
  readonly ifTaken: 'answer' | 'replace';
}

/** The record of a call. */
export interface ClaimRecord extends Pick<ClaimInput, 'fingerprint' | 'claimId' | 'requestId'> {
  /**
   * `running`: the call has not ended and its lease is still valid. `done`: it has a reply.
   * `unknown`: it may have run, and must not run again.
   */
  readonly state: 'running' | 'done' | 'unknown';
  /** The HTTP status of the call's reply; undefined while it runs, or if its gateway crashed. */
  readonly status: number | undefined;
  /** Unix ms on the store's clock. */
  readonly claimedAtMs: number;
  /** Unix ms on the store's clock; undefined while the call runs, or if its gateway crashed. */
  readonly endedAtMs: number | undefined;
}

/** The claim was granted, or the record under the name that is taken. */
export type ClaimResult =
  | { readonly status: 'claimed' }
  | {
      readonly status: 'taken';
      /** The claim that has the name. */
      readonly record: ClaimRecord;
    };

/** How a claimed call ended. */
export interface FinishInput extends Pick<ClaimInput, 'name' | 'claimId'> {
  /** `done`: it has a reply. `unknown`: it may have run, and must not run again. */
  readonly state: 'done' | 'unknown';
  /** The HTTP status of the reply. */
  readonly httpStatus: number;
  /** How long the record is kept, counted from now. */
  readonly keepMs: number;
}

/** `gone`: this claim has ended before, lost its name, or never existed; nothing has changed. */
export interface FinishResult {
  /** Whether the record was changed. */
  readonly status: 'finished' | 'gone';
}

/** A claim to give up because its call certainly did not run. */
export interface AbandonInput extends Pick<ClaimInput, 'name' | 'claimId'> {}

/** `gone`: as for {@link FinishResult}. */
export interface AbandonResult {
  /** Whether the name is free again. */
  readonly status: 'abandoned' | 'gone';
}

/** Stores claims. */
export interface IdempotencyStore {
  /**
   * Takes the name if it is free. Of any number of concurrent claims exactly one is `claimed`. A
   * store that is full throws `StoreUnavailable`. To make space it may forget first what is `done`,
   * then `chat` records that are `unknown`, then `images` records that have been `unknown` for an
   * hour; never a claim that is `running`.
   */
  claim(input: ClaimInput, options?: CallOptions): MaybePromise<ClaimResult>;
  /** Ends a running claim, even one whose lease has run out. The first end counts. */
  finish(input: FinishInput, options?: CallOptions): MaybePromise<FinishResult>;
  /** Frees the name of a claim that has not ended. */
  abandon(input: AbandonInput, options?: CallOptions): MaybePromise<AbandonResult>;
}
