/**
 * How a call goes through one channel, whether it is relayed or translated: what goes up, and how
 * what comes down becomes the caller's.
 */
import { asBuffer } from '../bytes/decode.ts';
import type { Framing, PromptSize } from '../call.ts';
import { documentTokens } from '../dialects/content-count.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { FailureReport, StreamTap } from '../dialects/tap.ts';
import type { HeaderMap } from '../http.ts';
import { type JsonValue, parseJson } from '../json.ts';
import type { Usage } from '../money.ts';

/** One call, made ready for one channel. */
export interface PreparedCall {
  /** Whose refusals may come back. */
  readonly upstream: Pick<Dialect, 'readFailure'>;
  /** How the content type of a streamed reply begins. */
  readonly streamType: string;
  /** Path and query below the channel's base URL. */
  readonly path: string;
  /** How the upstream was asked to lay out its reply. */
  readonly framing: Framing;
  /** The pieces of the body. */
  readonly body: readonly Uint8Array[];
  /** The size of the body, where it may be larger than what the caller sent. */
  readonly prompt: PromptSize | undefined;
  /** What the caller is told by header, beside the reply. */
  readonly notes: HeaderMap;
  /** A document of up to so many bytes is held and judged whole. */
  readonly heldBytes: number;
  /** Whether the tap makes sense of a document where a stream was asked for. */
  readonly takesDocumentAsStream: boolean;
  /**
   * A fresh tap for a reply that streams past, or a document too large to hold; where there is
   * none, such a reply is refused.
   */
  readonly tap: (() => StreamTap) | undefined;
  /** What a document is, all of it. */
  judge(bytes: Uint8Array): Judgement;
  /**
   * A refusal that is a definite answer in the caller's dialect: Google's callers expect a blocked
   * prompt as a reply.
   */
  answerTo(refusal: FailureReport): WholeReply | undefined;
}

/** What came of a reply that was held. */
export type Judgement = WholeReply | FailedReply | BadReply;

/** A reply that is whole and checked, as the caller gets it. */
export interface WholeReply {
  readonly kind: 'whole';
  readonly bytes: Uint8Array;
  readonly usage: Usage | undefined;
  /** The content that came, where `bytes` do not tell it. */
  readonly countedTokens?: number;
  /** Where no model was asked: a refusal that is an answer all the same. */
  readonly ending?: 'not_run' | 'failed';
  /** In place of the exchange's, where the reply has more to tell. */
  readonly notes?: HeaderMap;
}

/** An error in the clothes of a 200. */
export interface FailedReply {
  readonly kind: 'failure';
  readonly report: FailureReport;
}

/** Not what was asked for, though it may have cost something: what had come of it. */
export interface BadReply {
  readonly kind: 'bad';
  readonly reason: string;
  readonly countedTokens?: number | undefined;
  readonly usage?: Usage | undefined;
  /** A stream that ended before its reply began. */
  readonly hasSaidNothing?: true;
}

/** A reply that fits is held and answered in one write (ARCHITECTURE E). */
export const heldRelayBytes: number = 64 * 1024;

/** A document that must be read whole to be translated may be this large. */
export const heldTranslationBytes: number = 32 * 1024 * 1024;

/** Whether bytes begin as a JSON object or array does. */
export function beginsDocument(bytes: Uint8Array): boolean {
  const first = bytes.find(
    (byte) => byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09,
  );
  return first === 0x7b || first === 0x5b;
}

/**
 * The document that a held reply is, or what is wrong with it.
 *
 * @param parse `parseExactly` where numbers of the document go on to the caller
 */
export function documentIn(
  bytes: Uint8Array,
  { inBandFailure }: Pick<Dialect, 'inBandFailure'>,
  parse: (text: string) => JsonValue | undefined = parseJson,
): { readonly kind: 'document'; readonly reply: JsonValue } | FailedReply | BadReply {
  const reply = parse(asBuffer(bytes).toString('utf8'));
  if (reply === undefined) return unreadable(bytes);
  const report = inBandFailure(reply);
  return report === undefined ? { kind: 'document', reply } : { kind: 'failure', report };
}

/** What no JSON parser reads: half a document, or none. */
export function unreadable(bytes: Uint8Array): BadReply {
  if (bytes.length === 0) return { kind: 'bad', reason: 'upstream_empty', countedTokens: 0 };
  const reason = beginsDocument(bytes) ? 'upstream_truncated' : 'upstream_protocol_error';
  return { kind: 'bad', reason, countedTokens: documentTokens(bytes) };
}

/**
 * The failure of a reply that has not begun. What was made and billed is charged as the tap saw it;
 * another failure costs nothing, whatever usage came before it: Anthropic states some with the
 * beginning of every message.
 */
export function failureOf(tap: StreamTap): FailedReply | BadReply | undefined {
  const report = tap.failure();
  if (report === undefined) return undefined;
  if (report.isBilled !== true) return { kind: 'failure', report };
  return { kind: 'bad', reason: report.reason ?? 'upstream_failed', usage: tap.usage() };
}
