/** The edits and checks of a relayed embeddings call: only the model's name is edited. */
import { embeddingTap } from '../../dialects/embedding-tap.ts';
import { openaiEmbeddingUsage } from '../../dialects/openai/embedding-usage.ts';
import { openaiInBandFailure } from '../../dialects/openai/errors.ts';
import { member } from '../../json.ts';
import { modelEdit } from '../model-edit.ts';
import type { RelayRules } from '../protocol.ts';

/** The rules for embeddings calls to upstreams of the OpenAI dialect. */
export const embeddingsRelay: RelayRules = {
  edits: modelEdit,
  tap: () =>
    embeddingTap({
      usageMember: 'usage',
      readUsage: openaiEmbeddingUsage,
      inBandFailure: openaiInBandFailure,
    }),
  invalidReplyReason: (reply) =>
    Array.isArray(member(reply, 'data')) ? undefined : 'upstream_protocol_error',
  readUsage: (reply) => openaiEmbeddingUsage(member(reply, 'usage')),
};
