/**
 * The two halves of a translated embedding call: a server codec reads the caller's request, a
 * client codec writes it for the upstream. Between them is `canonical/embeddings.ts`.
 */
import type { EmbeddingRequest } from '../canonical/embeddings.ts';
import type { JsonObject } from '../json.ts';
import type { UpstreamTarget } from './codec.ts';

/** Reads embedding requests of a dialect's callers. */
export interface EmbeddingServerCodec {
  /**
   * @param body the parsed request; the protocol has already checked its basic structure
   * @throws GatewayError `invalid_request` that names the invalid member
   */
  begin(body: JsonObject): EmbeddingCallerExchange;
}

/** A caller's embedding request in the common form. */
export interface EmbeddingCallerExchange {
  readonly request: EmbeddingRequest;
}

/** Writes embedding requests to the upstreams of a dialect. */
export interface EmbeddingClientCodec {
  /**
   * @throws GatewayError `not_portable` that names a member which this upstream does not support
   *   and which cannot be dropped without changing the meaning of the request
   */
  begin(request: EmbeddingRequest, target: UpstreamTarget): EmbeddingExchange;
}

/** One embedding request to an upstream. */
export interface EmbeddingExchange {
  /** The body as JSON text. */
  readonly body: string;
  /** The caller's members that were dropped, shortened or replaced. */
  readonly dropped: readonly string[];
}
