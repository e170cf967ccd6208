/**
 * Writes embedding requests for Google's upstreams, and names the members that hold the vectors.
 */

import type { EmbeddingInput } from '../../canonical/embeddings.ts';
import { jsonText } from '../../canonical/raw-json.ts';
import type { EmbeddingClientCodec, EmbeddingReplyFormat } from '../embedding-codec.ts';
import { notPortable } from '../not-portable.ts';
import { geminiEmbeddingUsage } from '../usage/embedding-usage.ts';
import { resourceName } from './resource.ts';

/** Google's models make vectors of this length unless the request states fewer dimensions. */
const fullDimensions = 3_072;

/** The codec of the dialect `gemini`. It requests a batch even for a single input. */
export const geminiEmbeddings: EmbeddingClientCodec = {
  begin: ({ inputs, inputMember, dimensions, task, title }, { upstreamModel, capabilities }) => {
    const texts = inputs.map((input) => textOf(input, inputMember));
    const shared = {
      taskType: task?.text.toUpperCase(),
      title: title?.text,
      outputDimensionality: dimensions,
    };
    const model = resourceName(upstreamModel);
    return {
      dropped: [],
      hasUnitLength:
        capabilities.unitLength === 'always' ||
        dimensions === undefined ||
        dimensions >= fullDimensions,
      body: (from, end) =>
        jsonText({
          requests: texts
            .slice(from, end)
            .map((text) => ({ model, content: { parts: [{ text }] }, ...shared })),
        }),
      reply: geminiEmbeddingReply,
    };
  },
};

/** A reply of `:batchEmbedContents`, whose order is that of the requests. */
const geminiEmbeddingReply: EmbeddingReplyFormat = {
  list: 'embeddings',
  vector: 'values',
  index: undefined,
  usage: 'usageMetadata',
  usageOf: geminiEmbeddingUsage,
};

function textOf(input: EmbeddingInput, inputMember: string): string {
  if (input.kind === 'text') return input.text;
  throw notPortable(
    inputMember,
    `This model has another tokenizer. Send \`${inputMember}\` as text, not as token ids.`,
  );
}
