/** The hold of a call, and whoever ends it: what the other stages know of both. */
import type { CallEnding } from '../charge-policy.ts';
import type { Nanos, Usage } from '../money.ts';
import type { Channel } from '../ports/catalog.ts';
import type { QuotaLine, QuotaStore } from '../ports/quota-store.ts';
import type { CallAttempt } from '../ports/usage-sink.ts';

/** A hold that stands; whoever has it must end it exactly once. */
export interface Reservation {
  readonly id: string;
  readonly partition: string;
  readonly lines: readonly QuotaLine[];
  readonly nanos: Nanos;
}

/** How a reply ended, as far as its charge depends on it. */
export interface ReplyEnd {
  readonly ending: CallEnding;
  readonly usage?: Usage | undefined;
  /** What was forwarded, in tokens; left out where nothing was. */
  readonly countedTokens?: number | undefined;
}

/** What is known when a call is over. */
export interface CallEnd extends ReplyEnd {
  /** What the caller was answered with; 499 where it had gone. */
  readonly status: number;
  readonly reason?: string | undefined;
}

/** The owner of a hold. */
export interface Settlement {
  readonly requestId: string;
  readonly reservation: Reservation;
  /** The store that has the hold. */
  readonly quota: QuotaStore;
  /** Not closed yet: its lease is to be kept alive. */
  isOpen(): boolean;
  /** Notes a try on a channel for the record. */
  tried(channel: Channel, attempt: CallAttempt): void;
  /** Notes the first byte for the caller. */
  answered(): void;
  /** The hold as it stands, with what it grew by. */
  heldNanos(): Nanos;
  /** What the reply so far may cost: without figures, at the most expensive rates of its price. */
  observedNanos(usage: Usage | undefined, countedTokens: number): Nanos;
  /** A hold that grew while its stream ran. */
  grown(nanos: Nanos): void;
  /** A renewal of the lease is under way; it never rejects. */
  renewing(renewal: Promise<void>): void;
  /**
   * Ends the call; every later call of this does nothing. Resolves when the record is written.
   * Never rejects.
   */
  close(end: CallEnd): Promise<void>;
}
