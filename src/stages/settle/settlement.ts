/** The hold of a call and its owner, as the other stages see them. */

import type { CallEnding } from '../../charge-policy.ts';
import type { ErrorCode } from '../../errors.ts';
import type { EventListener } from '../../events/events.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { Nanos, Usage } from '../../money.ts';
import type { MaybePromise } from '../../ports/call-options.ts';
import type { QuotaSubject } from '../../ports/keys/key-store.ts';
import type { QuotaLine, QuotaStore } from '../../ports/limits/quota-store.ts';
import type { Channel, Model } from '../../ports/models/catalog.ts';
import { isAmong } from '../../ports/models/model-defaults.ts';
import type { CallAttempt, UsageRecord } from '../../ports/usage-sink.ts';
import type { Hold } from './hold.ts';

/** A hold. Its owner must end it exactly once. */
export interface Reservation {
  readonly id: string;
  readonly partition: string;
  readonly lines: readonly QuotaLine[];
  /** The subject of each line. */
  readonly subjects: readonly HeldSubject[];
  readonly nanos: Nanos;
}

/** A subject of a hold. With `onlyCountsCalls`, its line only counts calls and holds no money. */
export type HeldSubject = QuotaSubject & { readonly onlyCountsCalls?: true };

/**
 * Whether a model is charged on a line. One that was held for the requested model is not, if the
 * call fell back to a model that its subject is not for.
 */
export function isCharged(subject: HeldSubject | undefined, model: Model): boolean {
  return subject?.onlyCountsCalls !== true && isAmong(subject?.models, model);
}

export interface ReplyEnd {
  readonly ending: CallEnding;
  readonly usage?: Usage | undefined;
  /** Tokens counted from the forwarded content; undefined if nothing was forwarded. */
  readonly countedTokens?: number | undefined;
}

export interface CallEnd extends ReplyEnd {
  /** The HTTP status that the caller got; 499 if it had disconnected. */
  readonly status: number;
  /** The error that the caller got; undefined if it got none, or had disconnected. */
  readonly code?: ErrorCode | undefined;
  readonly param?: string | undefined;
  readonly reason?: FailureReason | undefined;
}

export interface Settlement {
  readonly requestId: string;
  /** Emits in the asynchronous context of the request, wherever it is called from. */
  readonly emit: EventListener;
  /** When the hold was granted, on the monotonic clock. */
  readonly startedMs: number;
  readonly reservation: Reservation;
  readonly quota: QuotaStore;
  /** False once `close` was called. Until then the lease must be renewed. */
  isOpen(): boolean;
  /** Prices and records the call with another model, and these labels, from here on. */
  serveWith(model: Model, hold: Hold, metadata: UsageRecord['metadata']): void;
  addAttempt(channel: Channel, attempt: CallAttempt): void;
  /** Of all models that have served the call. */
  readonly attempts: readonly CallAttempt[];
  /** True if one of them may have run upstream, at least in part. */
  mayHaveRun(): boolean;
  recordFirstByte(): void;
  readonly heldNanos: Nanos;
  /** Without usage, the content is priced at the most expensive rates. */
  observedNanos(usage: Usage | undefined, countedTokens: number): Nanos;
  addHeld(nanos: Nanos): void;
  /** Registers a renewal of the lease that has started; the promise must never reject. */
  trackRenewal(renewal: Promise<void>): void;
  /** What ends whenever the call does: its claim. */
  endTogetherWith(end: (end: CallEnd) => Promise<void>): void;
  /**
   * Ends the call; later calls do nothing. Resolves once the record is written, not before
   * `recordAfter`. Never rejects.
   */
  close(end: CallEnd, recordAfter?: Promise<void>): MaybePromise<unknown>;
}
