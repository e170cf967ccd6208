/**
 * Calls for embeddings in the fault matrix, in OpenAI's API and in Google's: the replies of a
 * healthy upstream. They share no code with the gateway.
 */

/** A reply of OpenAI's API: one vector of two numbers, and 10 tokens. */
export const embeddingsReply: object = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: 'mpkZPs3MTL8=' }],
  model: 'm',
  usage: { prompt_tokens: 10, total_tokens: 10 },
};

/** A reply of Google's API: the same. */
export const embedContentReply: Readonly<Record<'embedding' | 'usageMetadata', object>> = {
  embedding: { values: [0.15, -0.8] },
  usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 },
};

/** The same of `:batchEmbedContents`, whose vectors are a list. */
export function batchReply({ embedding, ...more }: { readonly embedding?: unknown }): object {
  return { embeddings: embedding ? [embedding] : embedding, ...more };
}
