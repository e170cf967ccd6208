/**
 * Writes embedding requests for OpenAI's upstreams, and names the members that hold the vectors.
 */

import { jsonText } from '../../canonical/raw-json.ts';
import type { EmbeddingClientCodec, EmbeddingReplyFormat } from '../embedding-codec.ts';
import { notPortable } from '../not-portable.ts';
import { openaiEmbeddingUsage } from '../usage/embedding-usage.ts';

export const openaiEmbeddings: EmbeddingClientCodec = {
  begin: ({ inputs, inputMember, dimensions, task, title }, { upstreamModel, capabilities }) => {
    const { embeddingBase64, embeddingTokens } = capabilities;
    if (!embeddingTokens && inputs.some(({ kind }) => kind === 'tokens')) {
      throw notPortable(
        inputMember,
        `This model takes texts only. Send \`${inputMember}\` as text, not as token ids.`,
      );
    }
    return {
      dropped: [task, title].flatMap((setting) => (setting === undefined ? [] : [setting.at])),
      hasUnitLength: true,
      body: (from, end) =>
        jsonText({
          model: upstreamModel,
          input: inputs.slice(from, end).map((one) => (one.kind === 'text' ? one.text : one.ids)),
          // Base64 takes a quarter of the bytes of decimal text and keeps the floats exact.
          encoding_format: embeddingBase64 ? 'base64' : 'float',
          dimensions,
        }),
      reply: openaiEmbeddingReply,
    };
  },
};

const openaiEmbeddingReply: EmbeddingReplyFormat = {
  members: ({ begin, vector, index, usage }) => ({
    data: {
      elements: {
        onBegin: begin,
        members: { embedding: { text: vector }, index: { text: index } },
      },
    },
    usage: { text: usage },
  }),
  usageOf: (usages) => openaiEmbeddingUsage(usages.at(-1)),
};
