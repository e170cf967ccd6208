/**
 * The two halves of a translation. A server codec talks to the caller, a client codec to the
 * upstream; between them is the common form of `canonical/`. All codecs are synchronous.
 */
import type { RawValues } from '../bytes/json/edit-elements.ts';
import type { ContentEvent } from '../canonical/reply.ts';
import type { ContentRequest } from '../canonical/request.ts';
import type { GatewayError } from '../errors.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { ResolvedCapabilities } from './capabilities.ts';
import type { StreamTap } from './taps/tap.ts';

/** Reads the requests of a dialect's callers and writes their replies. */
export interface ContentServerCodec {
  /**
   * @param body the parsed request; the protocol has already checked its basic structure
   * @throws GatewayError `invalid_request` that names the invalid member
   */
  begin(body: JsonObject, requested: RequestedReply): CallerExchange;
}

/** One exchange may write several replies: each attempt has a writer of its own. */
export interface CallerExchange {
  readonly request: ContentRequest;
  /**
   * The caller's names of members that clients of this API send on their own, without anybody
   * asking for their effect. One that an upstream doesn't support is listed as dropped, but a
   * strict model does not refuse the request for it.
   */
  readonly unasked?: ReadonlySet<string> | undefined;
  /**
   * Clients of this API can't join the pieces of a call, and some only run the calls of one event,
   * so that streaming a call's pieces gains nothing.
   */
  readonly takesCallsTogether?: boolean;
  writeReply(events: readonly ContentEvent[], head: ReplyHead): WrittenReply;
  writeStream(head: ReplyHead): ContentStreamWriter;
}

export interface RequestedReply {
  readonly streamed: boolean;
  /** What the calls of one conversation share, as the clients of the API name it. */
  readonly session?: string | undefined;
  /** JSON text as the caller wrote it. If absent, values are printed again. */
  readonly rawJson?: RawValues | undefined;
}

export interface WrittenReply {
  readonly text: string;
  readonly dropped: readonly string[];
  /** The member whose counts the gateway estimated, because the upstream stated none. */
  readonly estimated?: string | undefined;
  /** The reply has output, but nothing that this dialect can express. */
  readonly isUnusable?: boolean;
  /** Undefined if it is not kept, or the dialect's callers can't refer to earlier output. */
  readonly output?: ReplyOutput | undefined;
}

/** The output that a later request may refer to by id, in place of sending it again. */
export interface ReplyOutput {
  readonly replyId: string;
  readonly items: readonly OutputItem[];
}

/** A complete piece of the output, as the caller got it. */
export interface OutputItem {
  readonly id: string;
  readonly json: string;
}

export interface ReplyHead {
  /** The request's id; the reply's id if the upstream sent none. Has no dialect's prefix. */
  readonly fallbackId: string;
  readonly createdSeconds: number;
  /** An id has 22 letters, digits, `-` and `_`, unless the host makes the ids. */
  readonly newId: () => string;
  /** The model name that the caller sent. */
  readonly modelId: string;
  /** Chat streams: the caller requested a usage chunk (`stream_options.include_usage`). */
  readonly wantsUsage: boolean;
  readonly framing: 'json' | 'sse' | 'json_array';
  /** Gemini replies: reasoning was not requested, and older clients would show it as text. */
  readonly hidesReasoning?: boolean;
  /** Responses: the output is kept for later requests, if the caller permits it. */
  readonly keepsOutput?: boolean;
  /** The upstream expects its reasoning back, signed or not (`reasoningHistory`). */
  readonly needsReasoningBack?: boolean;
  /** Estimates the tokens of the prompt, for clients that fail without usage. */
  readonly estimatedInputTokens?: () => number;
}

/** Writes one streamed reply, framing included. */
export interface ContentStreamWriter {
  /** The text for the events of one upstream frame; empty if there is nothing to send yet. */
  write(events: readonly ContentEvent[]): string;
  /** Ends a complete stream: finish, usage, terminator. Called once, as the last call. */
  end(): string;
  /** Whether there is output, but none that the dialect can express. Asked before `end`. */
  isUnusable?(): boolean;
  /** Ends the stream with an error instead; each piece is sent in a separate write. */
  breakOff(error: GatewayError): readonly string[];
  /** Final once `end` was called; absent if callers can't refer to earlier output. */
  output?(): ReplyOutput | undefined;
}

/** Writes requests to upstreams of a dialect and reads their replies. */
export interface ContentClientCodec {
  /**
   * @throws GatewayError `not_portable` that names a member which this upstream does not support
   *   and which cannot be dropped without changing the meaning of the request
   */
  begin(request: ContentRequest, target: UpstreamTarget): ContentExchange;
}

export interface UpstreamTarget {
  readonly upstreamModel: string;
  readonly capabilities: ResolvedCapabilities;
  readonly maxOutputTokens: number | undefined;
  /** Generates text for ids that the upstream leaves out; the host may supply the generator. */
  readonly ids: () => string;
}

/** Function names that were changed in the request are restored in the reply. */
export interface ContentExchange {
  readonly body: string;
  /** The caller's members that were dropped, shortened or replaced. */
  readonly dropped: readonly string[];
  /** The caller's name of a member that an error names; absent if upstreams name none. */
  readonly callerParam?: (param: string) => string | undefined;
  /** Reads a whole reply; its events include a `finish` for every choice. */
  readReply(reply: JsonValue): readonly ContentEvent[];
  /** The paths of members that the events do not carry, beginning with `reply.`. */
  unread(reply: JsonValue): readonly string[];
  readStream(options?: StreamReading): ContentStreamReader;
}

export interface StreamReading {
  /** Calls that the upstream sends in pieces are held back, and given together at the end. */
  readonly holdsCalls: boolean;
}

export interface ContentStreamReader {
  read(document: JsonValue): readonly ContentEvent[];
  /** Returns the events held back. Called once, at the upstream's end or terminator. */
  end(): readonly ContentEvent[];
  /** True once the upstream has sent its terminator or, in dialects without one, its finish. */
  complete(): boolean;
  /** True once the upstream's terminator was received; absent if the dialect has none. */
  finished?(): boolean;
  /** Characters of content received but in no event yet; absent if none are held back. */
  heldChars?(): number;
}

export interface TokenCounter {
  /** @throws GatewayError `not_portable` as {@link ContentClientCodec.begin} does */
  body(request: ContentRequest, target: UpstreamTarget): WrittenReply;
  read(reply: JsonValue): number | undefined;
}

export interface ImageRequest {
  readonly prompt: string;
  /** The number of images; 1 by default. */
  readonly candidates: number;
  /** `1024x1024`, `auto`. */
  readonly size: string | undefined;
  readonly quality: string | undefined;
  /** `png`, `jpeg`, `webp`. */
  readonly outputFormat: string | undefined;
  /** `transparent`, `opaque`, `auto`. */
  readonly background: string | undefined;
  readonly endUserId: string | undefined;
  /** Members that were already dropped when the request was read, by the caller's names. */
  readonly dropped: readonly string[];
}

export interface ImageClientCodec {
  /** @throws GatewayError `not_portable` that names a member that can't be dropped */
  begin(request: ImageRequest, target: UpstreamTarget): ImageExchange;
}

export interface ImageExchange {
  readonly body: string;
  readonly dropped: readonly string[];
  /** Writes nothing before the first image: a reply without one can still become an error. */
  tap(head: ReplyHead): StreamTap;
}
