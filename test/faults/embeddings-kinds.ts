/**
 * Calls for embeddings in the fault matrix, in OpenAI's API and in Google's: their requests, and
 * the replies of a healthy upstream. They share no code with the gateway.
 */

/** The members of a request of OpenAI's API. */
export function embeddingsBody(prompt: string): object {
  return { model: 'm', input: [prompt], encoding_format: 'base64' };
}

/** The members of a request to `:embedContent`. */
export function embedContentBody(prompt: string): object {
  return { content: { parts: [{ text: prompt }] } };
}

/** A reply of OpenAI's API: one vector of two numbers, and 10 tokens. */
export const embeddingsReply: object = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: 'mpkZPs3MTL8=' }],
  model: 'm',
  usage: { prompt_tokens: 10, total_tokens: 10 },
};

/** A reply of Google's API: the same. */
export const embedContentReply: object = {
  embedding: { values: [0.15, -0.8] },
  usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 },
};
