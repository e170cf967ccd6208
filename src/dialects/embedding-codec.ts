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

/** Reads embedding requests of a dialect's callers and writes their replies. */
export interface EmbeddingServerCodec {
  /**
   * @param body the parsed request; the protocol has already checked its basic structure
   * @throws GatewayError `invalid_request` or `not_portable` that names the member
   */
  begin(body: JsonObject): EmbeddingCallerExchange;
}

/** A caller's embedding request in the common form, and the writer of its reply. */
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

/** Writes embedding requests to upstreams of a dialect and reads their replies. */
export interface EmbeddingClientCodec {
  /**
   * @throws GatewayError `not_portable` that names a member which this upstream does not support
   *   and which cannot be dropped without changing the meaning of the request
   */
  begin(request: EmbeddingRequest, target: UpstreamTarget): EmbeddingExchange;
}

/** One call to an upstream, which may take several requests. */
export interface EmbeddingExchange {
  /** The caller's members that were dropped, shortened or replaced. */
  readonly dropped: readonly string[];
  /** The upstream's vectors have length one. */
  readonly hasUnitLength: boolean;
  /** The request for the inputs from index `from` up to `end`, as JSON text. */
  body(from: number, end: number): string;
  readonly reply: EmbeddingReplyFormat;
}

/** The names of the members that are read from an upstream's replies. */
export interface EmbeddingReplyFormat {
  /** The member of the reply that lists the results: `data`, `embeddings`. */
  readonly list: string;
  /** The member of a result that is its vector: `embedding`, `values`. */
  readonly vector: string;
  /** The member of a result that is the index of its input; undefined if results are in order. */
  readonly index: string | undefined;
  /** The member of the reply with the usage: `usage`, `usageMetadata`. */
  readonly usage: string;
  /** Undefined if it is missing or implausible. */
  usageOf(usage: JsonValue): Usage | undefined;
}
