/**
 * The port that writes the usage log: one record for each call, with no field for a body or a
 * secret.
 */
import type { FailureReason } from '../failure-reasons.ts';
import type { Nanos, Price, Usage } from '../money.ts';
import type { ChargeBasis } from './limits/quota-store.ts';
import type { ProtocolName } from './models/catalog.ts';

/** One attempt on one channel. */
export interface CallAttempt {
  readonly channelId: string;
  /**
   * The HTTP status that the upstream sent, or undefined if none arrived: 200 also for a reply that
   * was unusable, which has a `reason`.
   */
  readonly status: number | undefined;
  /**
   * Why the attempt failed: `connect_refused`, `upstream_rate_limited`, …; undefined if it gave the
   * reply.
   */
  readonly reason: FailureReason | undefined;
  /** The attempt may have run upstream, at least in part, and may be billed to the account. */
  readonly mayHaveRun: boolean;
  readonly durationMs: number;
}

/** The amount held on one subject of a key for a call; 0 for a line that only counts calls. */
export interface RecordedLine {
  readonly subject: string;
  readonly period: string;
  readonly heldNanos: Nanos;
}

/** How a call may end. */
export const callOutcomes = [
  'complete',
  'not_run',
  'truncated',
  'broken',
  'caller_left',
  'cut',
  'unknown',
] as const;

/**
 * How a call ended. `unknown`: it may have run upstream; check the upstream account before
 * retrying.
 */
export type CallOutcome = (typeof callOutcomes)[number];

/** One line of the usage log. */
export interface UsageRecord {
  /**
   * The quota store has ended the hold, and booked the charge. `false` while the gateway keeps the
   * charge for a store that is down, and while the outcome of a call is `unknown`.
   */
  readonly booked: boolean;
  /**
   * Starts at 1. The call is recorded again, with the same `reservationId` and a higher revision,
   * when a charge that was delayed is booked, or when its outcome was found out. The highest
   * revision counts, and each call once.
   */
  readonly revision: number;
  /** The `x-request-id` of the reply. */
  readonly requestId: string;
  /** The id of the hold in the quota store. */
  readonly reservationId: string;
  /** The partition of that hold, and its lines: `resolveUnknown` needs them to end it. */
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
  /** Time from the call's start to the first byte sent to the caller. */
  readonly firstByteMs: number | undefined;
  /** The HTTP status that the caller got; 499 if it had disconnected. */
  readonly status: number;
  readonly outcome: CallOutcome;
  /**
   * The detailed reason of a failure; or `upstream_count` for a complete embeddings reply that has
   * another number of vectors than the call has inputs.
   */
  readonly reason: FailureReason | undefined;
  readonly usage: Usage | undefined;
  readonly basis: ChargeBasis;
  readonly heldNanos: Nanos;
  readonly chargeNanos: Nanos;
  /**
   * The operator's cost of the call, by the `cost` of the channel that served it and the same
   * usage; undefined if the channel states no cost, or if nobody knows whether the call ran.
   */
  readonly costNanos: Nanos | undefined;
  /** The price at the time of the call. */
  readonly price: Price;
}

/** Writes usage records. */
export interface UsageSink {
  /**
   * Takes a record; may buffer. A failure is reported as an event and never reaches the caller.
   *
   * Write the record of a call in doubt (`outcome: 'unknown'`, not `booked`) before the promise
   * resolves. The gateway waits for it, for `storeTimeoutMs` at most, before it extends the hold
   * for a quarter of an hour, so that every such hold has a record by which it can be ended.
   */
  record(entry: UsageRecord): Promise<void> | void;
  /** Writes what is buffered and closes files and sockets. */
  close(): Promise<void>;
}

/**
 * True for the record of a call in doubt. A sink must write it immediately, without buffering,
 * because the end of its hold waits for it.
 */
export function isInDoubt({ outcome, booked }: Pick<UsageRecord, 'outcome' | 'booked'>): boolean {
  return outcome === 'unknown' && !booked;
}
