/**
 * The two halves of a translated embedding call: a server codec reads the caller's request and
 * writes the reply, a client codec writes requests for the upstream and reads its replies. Between
 * them are `canonical/embeddings.ts` and `canonical/vectors.ts`. All codecs are synchronous.
 */
import type { ExtractionRule } from '../bytes/json/stream/string-extractor.ts';
import type { EmbeddingRequest } from '../canonical/embeddings.ts';
import type { Vector } from '../canonical/vectors.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { Usage } from '../money.ts';
import type { UpstreamTarget } from './codec.ts';

export interface EmbeddingServerCodec {
  /** @throws GatewayError `invalid_request` or `not_portable` that names the member */
  begin(body: JsonObject): EmbeddingCallerExchange;
}

export interface EmbeddingCallerExchange {
  readonly request: EmbeddingRequest;
  /** The reply has numbers as text, which are passed on as the upstream wrote them. */
  readonly keepsText: boolean;
  /**
   * Set if callers rely on vectors of unit length: the member of the reply that is listed if the
   * gateway scales the upstream's vectors. Undefined if callers expect the upstream's own.
   */
  readonly unitLengthMember: string | undefined;
  /** The member that states an estimated usage; undefined if an estimate is left out. */
  readonly estimateMember: string | undefined;
  readonly writer: EmbeddingReplyWriter;
}

/** Writes a reply piece by piece; together the pieces are one JSON document. */
export interface EmbeddingReplyWriter {
  head(): string;
  /** The vector of the input with this index. They are written in the order of the inputs. */
  vector(vector: Vector, index: number): string;
  /** `inputTokens` is undefined if the upstream has not reported it and no estimate is shown. */
  tail(modelId: string, inputTokens: number | undefined): string;
}

export interface EmbeddingClientCodec {
  /** @throws GatewayError `not_portable` that names a member that can't be dropped */
  begin(request: EmbeddingRequest, target: UpstreamTarget): EmbeddingExchange;
}

/** One call to an upstream, which may take several requests. */
export interface EmbeddingExchange {
  readonly dropped: readonly string[];
  readonly hasUnitLength: boolean;
  body(from: number, end: number): string;
  readonly reply: EmbeddingReplyFormat;
}

/** Where the vectors and the usage are in an upstream's replies. */
export interface EmbeddingReplyFormat {
  members(sinks: EmbeddingSinks): NonNullable<ExtractionRule['members']>;
  /**
   * Undefined if it is missing or implausible.
   *
   * @param usages what the sink has received
   * @param results how many results the reply has
   */
  usageOf(usages: readonly JsonValue[], results: number): Usage | undefined;
}

/** They take the JSON text of what a reply contains, in its order. */
export interface EmbeddingSinks {
  /** A result begins: its vector, and its index if results are not in order, follow. */
  begin(): void;
  vector(json: string | undefined): void;
  index(json: string | undefined): void;
  usage(json: string | undefined): void;
}
