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

/** How an upstream of Google's wants its requests. */
export interface GoogleEmbeddings {
  body(texts: readonly string[], settings: EmbeddingSettings): string;
  readonly reply: EmbeddingReplyFormat;
}

/** What holds for all texts of a request. */
export interface EmbeddingSettings {
  readonly upstreamModel: string;
  readonly taskType: string | undefined;
  readonly title: string | undefined;
  readonly outputDimensionality: number | undefined;
}

/** The codec of upstreams that take texts, and Google's settings for them. */
export function googleEmbeddings(
  formOf: (upstreamModel: string) => GoogleEmbeddings,
): EmbeddingClientCodec {
  return {
    begin: ({ inputs, inputMember, dimensions, task, title }, { upstreamModel, capabilities }) => {
      const { body, reply } = formOf(upstreamModel);
      const texts = inputs.map((input) => textOf(input, inputMember));
      const settings = {
        upstreamModel,
        taskType: task?.text.toUpperCase(),
        title: title?.text,
        outputDimensionality: dimensions,
      };
      return {
        dropped: [],
        hasUnitLength:
          capabilities.unitLength === 'always' ||
          dimensions === undefined ||
          dimensions >= fullDimensions,
        body: (from, end) => body(texts.slice(from, end), settings),
        reply,
      };
    },
  };
}

/** `:batchEmbedContents`, even for a single input. The reply has the order of the requests. */
const batch: GoogleEmbeddings = {
  body: (texts, { upstreamModel, ...settings }) => {
    const model = resourceName(upstreamModel);
    return jsonText({
      requests: texts.map((text) => ({ model, content: { parts: [{ text }] }, ...settings })),
    });
  },
  reply: {
    members: ({ begin, vector, usage }) => ({
      embeddings: { elements: { onBegin: begin, members: { values: { text: vector } } } },
      usageMetadata: { text: usage },
    }),
    usageOf: (usages) => geminiEmbeddingUsage(usages.at(-1)),
  },
};

export const geminiEmbeddings: EmbeddingClientCodec = googleEmbeddings(() => batch);

function textOf(input: EmbeddingInput, inputMember: string): string {
  if (input.kind === 'text') return input.text;
  throw notPortable(
    inputMember,
    `This model has another tokenizer. Send \`${inputMember}\` as text, not as token ids.`,
  );
}
