/**
 * The common form of embedding requests, between callers of one API and upstreams of another.
 * Replies are lists of vectors (`vectors.ts`) in the order of the inputs.
 */

export type EmbeddingInput =
  | { readonly kind: 'text'; readonly text: string }
  /** Ids of the tokenizer of one provider, which mean nothing to another. */
  | { readonly kind: 'tokens'; readonly ids: readonly number[] };

export interface EmbeddingSetting {
  readonly text: string;
  readonly at: string;
}

export interface EmbeddingRequest {
  /** At least one. */
  readonly inputs: readonly EmbeddingInput[];
  /** The caller's member that holds the inputs: `input`, `requests`. */
  readonly inputMember: string;
  readonly dimensions: number | undefined;
  /** What the vectors are for, as one of Google's task types: `RETRIEVAL_QUERY`. */
  readonly task: EmbeddingSetting | undefined;
  readonly title: EmbeddingSetting | undefined;
  /** Members that were dropped or replaced when the request was read, by the caller's names. */
  readonly dropped: readonly string[];
}
