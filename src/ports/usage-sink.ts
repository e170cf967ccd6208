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
  /** The upstream account, by the `id` of its channel. */
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
  /** From the choice of the channel to the end of the attempt, in ms. */
  readonly durationMs: number;
}

/** The amount held on one subject of a key for a call; 0 for a line that only counts calls. */
export interface RecordedLine {
  /** The subject of the key that the amount is held on. */
  readonly subject: string;
  /** `''` for `total`, else `2026-11`, `2026-11-20`, `2026-W47` or `2026-11.15`. */
  readonly period: string;
  /** What was held on it, in nanos. */
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
  /** The shard of the quota store that holds its subjects; `resolveUnknown` needs it. */
  readonly partition: string;
  /** The lines of that hold. */
  readonly lines: readonly RecordedLine[];
  /** The key, by its id; never its secret. */
  readonly keyId: string;
  /** The group of the key at the time of the call. */
  readonly group: string;
  /** The host's labels of the key, and of a guard; undefined if there are none. */
  readonly metadata: Readonly<Record<string, string>> | undefined;
  /** The API of the call, such as `chat` or `responses`. */
  readonly protocol: ProtocolName;
  /** Whether the caller asked for a stream. */
  readonly streamed: boolean;
  /** The model, by its id in the catalog. */
  readonly modelId: string;
  /** The account that served the call, or was tried last; undefined if none was. */
  readonly channelId: string | undefined;
  /** The channel's name for the model; undefined if no channel was tried. */
  readonly upstreamModel: string | undefined;
  /** One for each channel that was tried, in order. */
  readonly attempts: readonly CallAttempt[];
  /** When the call began, in Unix ms. */
  readonly startedAtMs: number;
  /** From its beginning to its end, in ms. */
  readonly durationMs: number;
  /** Time from the call's start to the first byte sent to the caller. */
  readonly firstByteMs: number | undefined;
  /** The HTTP status that the caller got; 499 if it had disconnected. */
  readonly status: number;
  /** How the call ended. */
  readonly outcome: CallOutcome;
  /**
   * The detailed reason of a failure; or `upstream_count` for a complete embeddings reply that has
   * another number of vectors than the call has inputs.
   */
  readonly reason: FailureReason | undefined;
  /** The tokens or images of the call; undefined if it did not run, or nobody knows. */
  readonly usage: Usage | undefined;
  /** Where the charge comes from. */
  readonly basis: ChargeBasis;
  /** What was held for the call, in nanos, in full on each of its subjects. */
  readonly heldNanos: Nanos;
  /** What the call is charged, in nanos, in full on each of its subjects. */
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
