/**
 * The common form of embedding requests, between callers of one API and upstreams of another.
 * Replies are lists of vectors (`vectors.ts`) in the order of the inputs.
 */

/** One input, for which the model makes one vector. */
export type EmbeddingInput =
  | { readonly kind: 'text'; readonly text: string }
  /** Ids of the tokenizer of one provider, which mean nothing to another. */
  | { readonly kind: 'tokens'; readonly ids: readonly number[] };

/** A setting, and the path at which the caller sent it. */
export interface EmbeddingSetting {
  readonly text: string;
  readonly at: string;
}

/** An embedding request; members that the caller did not send are undefined. */
export interface EmbeddingRequest {
  /** At least one. */
  readonly inputs: readonly EmbeddingInput[];
  /** The caller's member that holds the inputs: `input`, `requests`. */
  readonly inputMember: string;
  /** How many numbers each vector is to have. */
  readonly dimensions: number | undefined;
  /** What the vectors are for, as one of Google's task types: `RETRIEVAL_QUERY`. */
  readonly task: EmbeddingSetting | undefined;
  /** The title of the document that each input is a part of. */
  readonly title: EmbeddingSetting | undefined;
  /** Members that were dropped or replaced when the request was read, by the caller's names. */
  readonly dropped: readonly string[];
}
