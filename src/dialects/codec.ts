/**
 * The two halves of a translation. A server codec talks to the caller, a client codec to the
 * upstream; between them is the common form of `canonical/`. All codecs are synchronous.
 */
import type { ContentEvent } from '../canonical/reply.ts';
import type { ContentRequest } from '../canonical/request.ts';
import type { GatewayError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { ResolvedCapabilities } from './capabilities.ts';

/** Reads the requests of a dialect's callers and writes their replies. */
export interface ContentServerCodec {
  /**
   * @param body the parsed request; the protocol has already checked its basic structure
   * @throws GatewayError `invalid_request` that names the invalid member
   */
  readRequest(body: JsonObject, requested: RequestedReply): ContentRequest;
  /** Writes the whole reply as JSON text and lists what the reply cannot express. */
  writeReply(events: readonly ContentEvent[], head: ReplyHead): WrittenReply;
  writeStream(head: ReplyHead): ContentStreamWriter;
}

/** The kind of reply that the caller requested by path or body. */
export interface RequestedReply {
  readonly streamed: boolean;
}

/** A whole reply in the caller's dialect. */
export interface WrittenReply {
  readonly text: string;
  readonly dropped: readonly string[];
}

/** Metadata of a reply. */
export interface ReplyHead {
  /** Used if the upstream sent no id; has no dialect's prefix. */
  readonly fallbackId: string;
  readonly createdSeconds: number;
  /** The model name that the caller sent. */
  readonly modelId: string;
  /** Chat streams: the caller requested a usage chunk (`stream_options.include_usage`). */
  readonly wantsUsage: boolean;
  readonly framing: 'json' | 'sse' | 'json_array';
  /**
   * Native (Gemini) replies: the caller did not request reasoning, which older clients would show
   * as text.
   */
  readonly hidesReasoning?: boolean;
}

/** Writes one streamed reply, framing included. */
export interface ContentStreamWriter {
  /**
   * Returns the text for the events of one upstream frame; empty if there is nothing to send yet.
   */
  write(events: readonly ContentEvent[]): string;
  /** Ends a complete stream: finish, usage, terminator. Called once, as the last call. */
  end(): string;
  /** Ends the stream with an error instead; each piece is sent in a separate write. */
  breakOff(error: GatewayError): readonly string[];
}

/** Writes requests to upstreams of a dialect and reads their replies. */
export interface ContentClientCodec {
  /**
   * @throws GatewayError `not_portable` that names a member which this upstream does not support
   *   and which cannot be dropped without changing the meaning of the request
   */
  begin(request: ContentRequest, target: UpstreamTarget): ContentExchange;
}

/** The upstream model that a request is written for. */
export interface UpstreamTarget {
  readonly upstreamModel: string;
  readonly capabilities: ResolvedCapabilities;
  /** The model's output limit from the catalog, if it has one. */
  readonly maxOutputTokens: number | undefined;
  /** Generates text for ids that the upstream leaves out; the host may supply the generator. */
  readonly ids: () => string;
}

/**
 * One request and its reply. Function names that were changed in the request are restored in the
 * reply.
 */
export interface ContentExchange {
  /** The body as JSON text. */
  readonly body: string;
  /** The caller's members that were dropped, shortened or replaced. */
  readonly dropped: readonly string[];
  /** Reads a whole reply; its events include a `finish` for every choice. */
  readReply(reply: JsonValue): readonly ContentEvent[];
  /**
   * Lists the members of a whole reply that its events do not carry, as `reply.` and their path.
   */
  unread(reply: JsonValue): readonly string[];
  readStream(): ContentStreamReader;
}

/** Reads one streamed reply. */
export interface ContentStreamReader {
  /** Reads the document of one frame. */
  read(document: JsonValue): readonly ContentEvent[];
  /**
   * Returns the events held back until the end. Called once, when the upstream has ended or sent
   * its terminator.
   */
  end(): readonly ContentEvent[];
  /** True once the upstream has sent its terminator or, in dialects without one, its finish. */
  complete(): boolean;
  /** True once the upstream's terminator was received; absent if the dialect has none. */
  finished?(): boolean;
  /**
   * The number of characters of content held back until the end, such as pieces of a tool call;
   * absent if the reader holds none back.
   */
  heldChars?(): number;
}

/** Requests a token count from an upstream. For dialects without one, the gateway estimates. */
export interface TokenCounter {
  /** @throws GatewayError `not_portable` as {@link ContentClientCodec.begin} does */
  body(request: ContentRequest, target: UpstreamTarget): WrittenReply;
  read(reply: JsonValue): number | undefined;
}
