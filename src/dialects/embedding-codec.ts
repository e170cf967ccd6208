/**
 * The two halves of a translated embedding call: a server codec reads the caller's request and
 * writes the reply, a client codec writes requests for the upstream and reads its replies. Between
 * them are `canonical/embeddings.ts` and `canonical/vectors.ts`. All codecs are synchronous.
 */
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

/** The names of the members that are read from an upstream's replies. */
export interface EmbeddingReplyFormat {
  readonly list: string;
  readonly vector: string;
  /** The member of a result that is the index of its input; undefined if results are in order. */
  readonly index: string | undefined;
  readonly usage: string;
  /** Undefined if it is missing or implausible. */
  usageOf(usage: JsonValue): Usage | undefined;
}
