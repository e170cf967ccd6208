/**
 * Embeddings on Vertex AI, which has two methods in place of `:batchEmbedContents`. `:embedContent`
 * takes one text; `:predict`, that of older models, takes a list.
 */
import { jsonText } from '../canonical/raw-json.ts';
import type { EmbeddingClientCodec } from '../dialects/embedding-codec.ts';
import { type GoogleEmbeddings, googleEmbeddings } from '../dialects/gemini/embedding-client.ts';
import { geminiEmbeddingUsage } from '../dialects/usage/embedding-usage.ts';

const embedContent: GoogleEmbeddings = {
  body: ([text], { upstreamModel: _, ...settings }) => {
    const isPlain = Object.values(settings).every((value) => value === undefined);
    const embedContentConfig = isPlain ? undefined : settings;
    return jsonText({ content: { parts: [{ text }], role: 'user' }, embedContentConfig });
  },
  reply: {
    members: ({ begin, vector, usage }) => ({
      embedding: { onBegin: begin, members: { values: { text: vector } } },
      usageMetadata: { text: usage },
    }),
    usageOf: (usages) => geminiEmbeddingUsage(usages.at(-1)),
  },
};

const predict: GoogleEmbeddings = {
  body: (texts, { taskType, title, outputDimensionality }) => {
    const parameters = outputDimensionality === undefined ? undefined : { outputDimensionality };
    return jsonText({
      instances: texts.map((content) => ({ content, task_type: taskType, title })),
      parameters,
    });
  },
  reply: {
    members: ({ begin, vector, usage }) => ({
      predictions: {
        elements: {
          onBegin: begin,
          members: {
            embeddings: {
              members: {
                values: { text: vector },
                statistics: { members: { token_count: { text: usage } } },
              },
            },
          },
        },
      },
    }),
    // Each result states its own tokens.
    usageOf: (counts, results) => {
      const tokens = counts.map(Number);
      const promptTokenCount = tokens.reduce((sum, count) => sum + count, 0);
      return counts.length === results ? geminiEmbeddingUsage({ promptTokenCount }) : undefined;
    },
  },
};

export function vertexEmbeddings(
  hasEmbedContent: (upstreamModel: string) => boolean,
): EmbeddingClientCodec {
  return googleEmbeddings((upstreamModel) =>
    hasEmbedContent(upstreamModel) ? embedContent : predict,
  );
}
