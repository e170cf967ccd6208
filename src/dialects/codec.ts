/**
 * The two sides of translation. A server codec stands toward the caller, a client codec toward the
 * upstream; between them lies the common form of `canonical/`. All of it is synchronous.
 */
import type { ContentEvent } from '../canonical/reply.ts';
import type { ContentRequest } from '../canonical/request.ts';
import type { GatewayError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { ResolvedCapabilities } from './capabilities.ts';

/** Reads what the callers of a dialect send, and writes what they get. */
export interface ContentServerCodec {
  /**
   * @param body the parsed request, which the protocol has found well-formed in outline
   * @throws GatewayError `invalid_request` that names the member
   */
  readRequest(body: JsonObject, asked: RequestedReply): ContentRequest;
  /** The whole reply as JSON text, and what of the events had no place in it. */
  writeReply(events: readonly ContentEvent[], head: ReplyHead): WrittenReply;
  writeStream(head: ReplyHead): ContentStreamWriter;
}

/** How the reply is to be laid out, as the path or the body said it. */
export interface RequestedReply {
  readonly streamed: boolean;
}

/** A whole reply in the caller's dialect. */
export interface WrittenReply {
  readonly text: string;
  readonly dropped: readonly string[];
}

/** What a reply says of itself. */
export interface ReplyHead {
  /** Stands in where the upstream gave no id; without a dialect's prefix. */
  readonly fallbackId: string;
  readonly createdSeconds: number;
  /** The model as the caller named it. */
  readonly modelId: string;
  /** Chat streams: the caller asked for the usage frame. */
  readonly wantsUsage: boolean;
  readonly framing: 'json' | 'sse' | 'json_array';
  /** Native replies: reasoning was not asked for, and the older clients would show it as text. */
  readonly hidesReasoning?: boolean;
}

/** Writes one streamed reply, framing included. */
export interface ContentStreamWriter {
  /** The text for the events of one upstream frame; empty where they say nothing yet. */
  write(events: readonly ContentEvent[]): string;
  /** What ends a whole stream: the finish, the figures, the terminator. Called once, last. */
  end(): string;
  /** How an error is said in place of the end, each piece in a write of its own. */
  breakOff(error: GatewayError): readonly string[];
}

/** Writes what an upstream of a dialect is sent, and reads what it answers. */
export interface ContentClientCodec {
  /**
   * @throws GatewayError `not_portable` that names the caller's member which this upstream has no
   *   words for and which can't be left out without meaning something else
   */
  begin(request: ContentRequest, target: UpstreamTarget): ContentExchange;
}

/** Whom a request is written for. */
export interface UpstreamTarget {
  readonly upstreamModel: string;
  readonly capabilities: ResolvedCapabilities;
  /** The catalog's bound for the model, where it has one. */
  readonly maxOutputTokens: number | undefined;
  /** Fresh text for ids that the upstream leaves out; the host's own source. */
  readonly ids: () => string;
}

/** One request with its reply: what was renamed on the way up is named back on the way down. */
export interface ContentExchange {
  /** The body as JSON text. */
  readonly body: string;
  /** The caller's members that were left out, cut, or replaced. */
  readonly dropped: readonly string[];
  /** The events of a whole reply, `finish` for every choice included. */
  readReply(reply: JsonValue): readonly ContentEvent[];
  /** Members of a whole reply that no event says, as `reply.` and their path. */
  unread(reply: JsonValue): readonly string[];
  readStream(): ContentStreamReader;
}

/** Reads one streamed reply. */
export interface ContentStreamReader {
  /** The events of one frame's document. */
  read(document: JsonValue): readonly ContentEvent[];
  /** What only the end releases; called once, when the upstream has ended or said it has. */
  end(): readonly ContentEvent[];
  /** The upstream has said everything: its own terminator or, without one, its finish came. */
  complete(): boolean;
  /** The upstream's own terminator came; left out where its dialect has none. */
  finished?(): boolean;
  /**
   * How many characters of content it holds back, such as pieces of a call, until its end; left out
   * where it never does.
   */
  heldChars?(): number;
}

/** Asks an upstream how many tokens a request has; a dialect without one is estimated. */
export interface TokenCounter {
  /** @throws GatewayError `not_portable` as {@link ContentClientCodec.begin} does */
  body(request: ContentRequest, target: UpstreamTarget): WrittenReply;
  read(reply: JsonValue): number | undefined;
}
