/** What watches or translates a reply while it passes, and how it tells of a failure. */
import { type GatewayError, UpstreamError } from '../errors.ts';
import type { Usage } from '../money.ts';

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
  /**
   * Who is to blame, where the refusal says it: the request with what it names or holds, the model
   * that the account lacks or may not use, the account's key, or its money, region or state.
   */
  readonly fault: 'request' | 'model' | 'credential' | 'account' | undefined;
  /**
   * The code by which clients of OpenAI's API know the failure: `context_length_exceeded`,
   * `content_filter`, or the upstream's own where it speaks that API.
   */
  readonly clientCode?: string | undefined;
  /** A finer name for the failure than its status gives. */
  readonly reason?: string;
  /** The upstream made and billed what no caller can use: nobody is asked again. */
  readonly isBilled?: boolean;
}

/** A 2xx that is no reply of its kind: nothing of it is the upstream's own word. */
export function brokenReply(reason: string): FailureReport {
  return {
    status: 502,
    message: undefined,
    code: undefined,
    param: undefined,
    retryAfterMs: undefined,
    fault: undefined,
    reason,
  };
}

/** A reply that was made and billed, and is of no use to anybody. */
export function billedReply(reason: string): FailureReport {
  return { ...brokenReply(reason), isBilled: true };
}

/**
 * A streamed reply on its way. Relayed, it changes only what ARCHITECTURE B names. It sees the
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
  /**
   * The reply has said something: text, reasoning, a call, media, a refusal, its finish. Who it is,
   * pings, comments and a filter's report say nothing.
   */
  hasBegun(): boolean;
  /** Nothing that follows belongs to the reply. */
  finished(): boolean;
  /** The reply has come to its own end, by its content and not by the connection's. */
  complete(): boolean;
  /** An error the upstream sent in-band; the tap has passed nothing of it on. */
  failure(): FailureReport | undefined;
  /**
   * The upstream's figures so far, with what was counted since where they are not its last. Of a
   * reply that breaks off they are a floor.
   */
  usage(): Usage | undefined;
  /** The content that came, in tokens: what a charge without figures rests on. */
  countedTokens(): number;
  /** Grows with every event that says something, as pings and comments don't; 0 for a document. */
  progress(): number;
  /**
   * How an error is said at this point, each piece in a write of its own; undefined where only a
   * cut can say it.
   */
  breakOff(error: GatewayError): readonly Uint8Array[] | undefined;
}

/** What a reply may have beside its content: comments, empty events, lines that nobody reads. */
const maxNoiseBytes = 16 * 1024 * 1024;
/** All of a reply that is relayed piece by piece: as much as sixteen of the largest events. */
const maxReplyBytes = 16 * maxEventBytes;

/** Bounds such a reply in bytes: an upstream may send without end what says nothing. */
export interface ByteBounds {
  /** @throws UpstreamError `reply_too_large` beyond one of the bounds */
  add(bytes: number, hasContent: boolean): void;
}

/** Nothing has come yet. */
export function byteBounds(): ByteBounds {
  let all = 0;
  let noise = 0;
  return {
    add: (bytes, saysSomething) => {
      all += bytes;
      if (!saysSomething) noise += bytes;
      if (all > maxReplyBytes || noise > maxNoiseBytes) {
        throw new UpstreamError('body', 'reply_too_large');
      }
    },
  };
}
