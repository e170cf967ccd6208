/** The port that keeps the usage log: one record a call, with no field for a body or a secret. */
import type { Nanos, Price, Usage } from '../money.ts';
import type { ProtocolName } from './catalog.ts';
import type { ChargeBasis } from './quota-store.ts';

/** One try on one channel. */
export interface CallAttempt {
  readonly channelId: string;
  /** The upstream's HTTP status, or undefined where none came. */
  readonly status: number | undefined;
  /**
   * Why it was not the answer: `connect_refused`, `upstream_rate_limited`, …; undefined where it
   * was.
   */
  readonly reason: string | undefined;
  /** Something of it may have run upstream, and may be billed to the account. */
  readonly mayHaveRun: boolean;
  readonly durationMs: number;
}

/** What one subject of a key had to hold for a call; 0 where it only counts calls. */
export interface RecordedLine {
  readonly subject: string;
  readonly period: string;
  readonly heldNanos: Nanos;
}

/** How a call ended. `unknown`: it may have run upstream; look here before trying again. */
export type CallOutcome =
  | 'complete'
  | 'refused'
  | 'not_run'
  | 'failed'
  | 'truncated'
  | 'broken'
  | 'caller_left'
  | 'cut'
  | 'unknown';

/** One line of the usage log. */
export interface UsageRecord {
  /**
   * The quota store has taken the end of the hold, and with it the charge. `false` while that waits
   * in the gateway for a store that is down, and while the outcome of an image is `unknown`.
   */
  readonly booked: boolean;
  /**
   * From 1. The same call is written again, under the same `reservationId` and with a higher
   * revision, when its charge has landed after all, or when its outcome was found out. The highest
   * counts, and each call once.
   */
  readonly revision: number;
  /** The `x-request-id` of the answer. */
  readonly requestId: string;
  /** The id of the hold in the quota store. */
  readonly reservationId: string;
  /** Where that hold is kept, and on whose account: what `resolveUnknown` needs to end it. */
  readonly partition: string;
  readonly lines: readonly RecordedLine[];
  readonly keyId: string;
  readonly group: string;
  readonly metadata: Readonly<Record<string, string>> | undefined;
  readonly protocol: ProtocolName;
  readonly streamed: boolean;
  readonly modelId: string;
  readonly channelId: string | undefined;
  readonly upstreamModel: string | undefined;
  readonly attempts: readonly CallAttempt[];
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** From the call's start to the first byte for the caller. */
  readonly firstByteMs: number | undefined;
  /** What the caller was answered with. */
  readonly status: number;
  readonly outcome: CallOutcome;
  /** The finer name of what went wrong. */
  readonly reason: string | undefined;
  readonly usage: Usage | undefined;
  readonly basis: ChargeBasis;
  readonly heldNanos: Nanos;
  readonly chargeNanos: Nanos;
  /**
   * What the call cost the operator, by the `cost` of the channel that served it and the same
   * usage; undefined where the channel states none, or where nobody knows what ran.
   */
  readonly costNanos: Nanos | undefined;
  /** The price at the time of the call. */
  readonly price: Price;
}

/** Where usage records go. */
export interface UsageSink {
  /**
   * Takes a record; may buffer. A failure is reported as an event and never reaches the caller.
   *
   * One of a call in doubt (`outcome: 'unknown'`, not `booked`) should be written before this
   * resolves: the gateway waits for it, for `storeTimeoutMs` at most, before it extends the hold
   * for a quarter of an hour, so that no such hold is without a record by which it can be ended.
   */
  record(entry: UsageRecord): Promise<void> | void;
  /** Writes what is buffered and lets go of files and sockets. */
  close(): Promise<void>;
}

/** Whether a record is to be written at once, and not with others later: its hold waits for it. */
export function isInDoubt({ outcome, booked }: Pick<UsageRecord, 'outcome' | 'booked'>): boolean {
  return outcome === 'unknown' && !booked;
}
