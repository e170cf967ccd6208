/**
 * What the gateway needs to know of a provider's wire format, toward the upstream and toward the
 * caller. One folder a dialect, one row in `table.ts`; no stage knows a wire shape.
 */
import type { MemberEdit } from '../bytes/splice.ts';
import type { Call, Framing, Operation } from '../call.ts';
import type { GatewayError } from '../errors.ts';
import type { HeaderMap } from '../http.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Usage } from '../money.ts';
import type { Channel } from '../ports/catalog.ts';
import type { CapabilityTable } from './capabilities.ts';
import type { ContentClientCodec, ContentServerCodec, TokenCounter } from './codec.ts';
import type { ImageClientCodec, ImageRequest } from './image-codec.ts';
import type { MeasureBody } from './prompt-size.ts';
import type { FailureReport, StreamTap } from './tap.ts';

/** Writes a refusal or a failure as the callers of a dialect expect it. */
export interface ErrorWriter {
  body(error: GatewayError): Uint8Array;
}

/** A provider's wire format, as its upstreams speak it. */
export interface Dialect {
  readonly name: string;
  /** What its models can take and give. */
  readonly capabilities: CapabilityTable;
  /** Path and query below the channel's base URL. */
  path(asked: Pick<Call, 'operation' | 'framing'>, upstreamModel: string): string;
  /** The header that carries the account's secret, with what must always go beside it. */
  credential(secret: string): HeaderMap;
  /** What a refusal says. */
  readFailure(status: number, body: Uint8Array): FailureReport;
  /** An error inside a 2xx reply, or undefined where there is none. */
  inBandFailure(reply: JsonValue): FailureReport | undefined;
  /** Translates content for callers of other dialects. */
  readonly content: ContentClientCodec;
  /** Translates image calls; undefined where the provider makes none, or they are relayed. */
  readonly images: ImageClientCodec | undefined;
  /** Measures a request body of this dialect. */
  readonly measure: MeasureBody;
  /** Counts tokens; undefined where the provider has no such call, and we estimate. */
  readonly tokenCounter: TokenCounter | undefined;
}

/** Counts the images of a reply in a caller's dialect as it passes. */
export interface ImageCounter {
  /** The next bytes: whole events of a stream, any part of a document. */
  write(bytes: Uint8Array): void;
  images(): number;
}

/** The dialects that callers speak to us. */
export type CallerDialectName = 'openai' | 'gemini';

/**
 * A provider's wire format, as its SDKs speak it to us: what is relayed to an upstream of the same
 * dialect, and read and written for one of another.
 */
export interface CallerDialect {
  readonly name: CallerDialectName;
  readonly errors: ErrorWriter;
  /** Members of the caller's body that this channel needs otherwise. */
  edits(call: Call, upstreamModel: string, channel: Channel): readonly MemberEdit[];
  /** A fresh tap for a relayed reply that streams past. */
  tap(call: Call, channel: Pick<Channel, 'capabilities'>): StreamTap;
  /** Whether a whole document is a reply of this kind: nothing else is relayed. */
  isReply(reply: JsonValue, operation: Operation): boolean;
  /**
   * What keeps the connection of a quiet stream alive, undefined where its clients take nothing.
   * `isFirst`: nothing of the reply has gone out.
   */
  keepAlive(framing: Framing, isFirst: boolean): string | undefined;
  /** The figures in a relayed whole reply, or undefined where they are absent or absurd. */
  readUsage(reply: JsonValue, channel: Pick<Channel, 'capabilities'>): Usage | undefined;
  /** Reads and writes content for upstreams of other dialects. */
  readonly content: ContentServerCodec;
  /** Reads an image call; undefined where its protocol has none. */
  readonly readImageRequest: ((body: JsonObject) => ImageRequest) | undefined;
  /** Counts images in the replies of content calls; undefined where nobody prices them so. */
  readonly imageCounter: ((framing: Framing) => ImageCounter) | undefined;
  /** Says how many tokens a request has; undefined where its protocol is never asked. */
  readonly tokenCountText: ((count: number) => string) | undefined;
}
