/** The common form of embedding requests, between the dialects. */

/** One input, for which the reply has one vector. */
export type EmbeddingInput =
  | { readonly kind: 'text'; readonly text: string; readonly at: string }
  /** Ids of the upstream model's own tokenizer. */
  | { readonly kind: 'tokens'; readonly tokens: readonly number[]; readonly at: string };

/** An embedding request; members that the caller did not send are undefined. */
export interface EmbeddingRequest {
  /** In the caller's order; `at` of each is its path in the caller's body. */
  readonly inputs: readonly EmbeddingInput[];
  readonly dimensions: number | undefined;
  /** Google's task: `RETRIEVAL_QUERY`. */
  readonly task: string | undefined;
  readonly title: string | undefined;
  /** Members that were already dropped when the request was read, by the caller's names. */
  readonly dropped: readonly string[];
}
