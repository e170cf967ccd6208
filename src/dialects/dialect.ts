/**
 * What the gateway needs to know of a provider's wire format. One folder a dialect, one row in
 * `table.ts`; no stage knows a wire shape.
 */
import type { MemberEdit } from '../bytes/splice.ts';
import type { Call } from '../call.ts';
import type { GatewayError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';
import type { JsonValue } from '../json.ts';
import type { Usage } from '../money.ts';
import type { Channel, DialectName } from '../ports/catalog.ts';

/** One event may be this large, in bytes: an inline image fits, an endless line does not. */
export const maxEventBytes: number = 32 * 1024 * 1024;

/** What an upstream said of a failure, read without trust. */
export interface FailureReport {
  /** The HTTP status, or the one an in-band error names. */
  readonly status: number;
  /** The upstream's own words, not yet fit for a caller. */
  readonly message: string | undefined;
  /** The upstream's own code, `insufficient_quota`, `API_KEY_INVALID`. */
  readonly code: string | undefined;
  /** The member the upstream complains of. */
  readonly param: string | undefined;
  /** From a header or from Google's `RetryInfo`. */
  readonly retryAfterMs: number | undefined;
  /** Whether the account is to blame (its key, its billing, its region), not the request. */
  readonly accountFault: boolean;
  /** A finer name for the failure than its status gives. */
  readonly reason?: string;
}

/**
 * Watches a streamed reply as it passes and changes only what ARCHITECTURE B names. It sees the
 * chunks of one tick joined, works synchronously, and passes whole events on: half an event is of
 * no use to a caller, and would spoil the error that may have to follow it.
 */
export interface StreamTap {
  /**
   * What goes on to the caller; may be empty. Throws an `UpstreamError` on an event too large to
   * hold.
   */
  write(chunk: Uint8Array): Uint8Array;
  /** What is left when the upstream has ended; a second time there is nothing. */
  end(): Uint8Array;
  /** Nothing that follows belongs to the reply. */
  finished(): boolean;
  /** The reply has come to its own end, by its content and not by the connection's. */
  complete(): boolean;
  /** An error the upstream sent in-band; the tap has passed nothing of it on. */
  failure(): FailureReport | undefined;
  /** The upstream's figures so far. */
  usage(): Usage | undefined;
  /** What was forwarded, in tokens: the ground of a charge without figures. */
  countedTokens(): number;
  /**
   * How an error is said at this point, each piece in a write of its own; undefined where only a
   * cut can say it.
   */
  breakOff(error: GatewayError): readonly Uint8Array[] | undefined;
}

/** Writes a refusal or a failure as the callers of a dialect expect it. */
export interface ErrorWriter {
  body(error: GatewayError): Uint8Array;
}

/** A provider's wire format. */
export interface Dialect {
  readonly name: DialectName;
  readonly errors: ErrorWriter;
  /** Path and query below the channel's base URL. */
  path(call: Call, upstreamModel: string): string;
  /** The header that carries the account's secret. */
  credential(secret: string): HeaderMap;
  /** Members of the caller's body that this channel needs otherwise. */
  edits(call: Call, upstreamModel: string, channel: Channel): readonly MemberEdit[];
  /** A fresh tap for a reply that streams past. */
  tap(call: Call): StreamTap;
  /** The figures in a whole reply, or undefined where they are absent or absurd. */
  readUsage(reply: JsonValue): Usage | undefined;
  /** What a refusal says. */
  readFailure(status: number, headers: HeaderMap, body: Uint8Array): FailureReport;
  /** An error inside a 2xx reply, or undefined where there is none. */
  inBandFailure(reply: JsonValue): FailureReport | undefined;
}
