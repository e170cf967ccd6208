/**
 * Defines the tap, which watches or translates a reply while it passes, and the failure that it may
 * report.
 */

import { type GatewayError, UpstreamError } from '../../errors.ts';
import type { FailureReason } from '../../failure-reasons.ts';
import type { Usage } from '../../money.ts';

/** Maximum size of one event in bytes: enough for an inline image, but not for an endless line. */
export const maxEventBytes: number = 32 * 1024 * 1024;

/** An error that an upstream reported. Its contents are untrusted. */
export interface FailureReport {
  /** The HTTP status, or the status that an in-band error names. */
  readonly status: number;
  /** The upstream's message, before redaction. */
  readonly message: string | undefined;
  /** The upstream's error code, such as `insufficient_quota` or `API_KEY_INVALID`. */
  readonly code: string | undefined;
  readonly param: string | undefined;
  /** From a header, from Google's `RetryInfo` or from the words of the message. */
  readonly retryAfterMs: number | undefined;
  /**
   * The party at fault, if the error names it: the request and what it references, a model that the
   * account lacks or may not use, the account's key, or the account's billing, region or state.
   */
  readonly fault: 'request' | 'model' | 'credential' | 'account' | undefined;
  /**
   * The error code that clients of OpenAI's API act on: `context_length_exceeded`,
   * `content_filter`, or the upstream's code if it speaks that API.
   */
  readonly clientCode?: string | undefined;
  readonly reason?: FailureReason;
  /** The upstream billed a reply that the caller cannot use, so the call is not retried. */
  readonly isBilled?: boolean;
}

/** Reports a 2xx that is not a valid reply. Nothing of its text is used. */
export function brokenReply(reason: FailureReason): FailureReport {
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

export function billedReply(reason: FailureReason): FailureReport {
  return { ...brokenReply(reason), isBilled: true };
}

/** The parts of a reply to which later requests may refer by their ids. */
export interface ReferableReply {
  readonly replyId: string | undefined;
  /** The complete output items, in their order. */
  readonly items: readonly ReferableItem[];
}

export interface ReferableItem {
  readonly id: string;
  /**
   * The item as JSON if the gateway wrote it, and must keep it to know it later; undefined if its
   * provider may keep it.
   */
  readonly json?: string;
}

/**
 * Processes a streamed reply on its way to the caller. In a relayed reply it changes only in-band
 * errors, framing, and usage frames that the caller did not request. It receives the chunks of one
 * event-loop tick joined, works synchronously, and passes on whole events only: a caller cannot use
 * half an event, and an error that follows half an event would be unreadable.
 */
export interface StreamTap {
  /**
   * Returns the bytes for the caller, possibly none.
   *
   * @throws UpstreamError if an event is too large to buffer
   */
  write(chunk: Uint8Array): Uint8Array;
  /** Returns the remaining bytes when the upstream has ended; a second call returns none. */
  end(): Uint8Array;
  /**
   * True once the reply has content: text, reasoning, a tool call, media, a refusal or its finish.
   * Its id and role, pings, comments and a content filter's report do not count.
   */
  hasBegun(): boolean;
  /** True if nothing that follows belongs to the reply. */
  finished(): boolean;
  /**
   * True if the content of the reply shows that it is complete; the end of the connection does not
   * count.
   */
  complete(): boolean;
  /** An error that the upstream sent inside the stream. The tap has passed on nothing of it. */
  failure(): FailureReport | undefined;
  /**
   * The usage reported so far, plus the content counted since if that report was not final. For a
   * reply that was cut off it is a lower bound.
   */
  usage(): Usage | undefined;
  /**
   * The content received, in tokens. The charge is based on it if the upstream reports no usage.
   */
  countedTokens(): number;
  /**
   * Grows with every event that has content, but not with pings or comments; always 0 for a
   * document.
   */
  progress(): number;
  /**
   * Ends the reply with an error; each piece is sent in a separate write. Undefined if the error
   * can only be signalled by cutting the connection.
   */
  breakOff(error: GatewayError): readonly Uint8Array[] | undefined;
  /**
   * What later requests may refer to of the reply so far. It is remembered before the last bytes
   * of the reply, those that `end` and `breakOff` return, are sent: a caller may send its next
   * request as soon as it has them. Absent in APIs whose requests refer to nothing.
   */
  referable?(): ReferableReply | undefined;
  /** What the usage record is to remark on a reply that is complete. Absent if it is nothing. */
  remark?(): FailureReason | undefined;
}

/** Maximum bytes of a reply that carry no content: comments, empty events, ignored lines. */
const maxNoiseBytes = 16 * 1024 * 1024;
/** Maximum size of a reply that is relayed in pieces: sixteen events of the maximum size. */
const maxReplyBytes = 16 * maxEventBytes;

/** An upstream could send bytes without content forever. */
export interface ByteBounds {
  /** @throws UpstreamError `reply_too_large` above either limit */
  add(bytes: number, hasContent: boolean): void;
}

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
