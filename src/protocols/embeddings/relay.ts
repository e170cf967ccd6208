/** The edits and checks of a relayed embeddings call: only the model's name is edited. */
import { embeddingTap } from '../../dialects/embedding-tap.ts';
import { openaiEmbeddingUsage } from '../../dialects/openai/embedding-usage.ts';
import { openaiInBandFailure } from '../../dialects/openai/errors.ts';
import { items, member } from '../../json.ts';
import { modelEdit } from '../model-edit.ts';
import type { RelayRules } from '../protocol.ts';
import { countRemark } from '../vector-count.ts';

/** The rules for embeddings calls to upstreams of the OpenAI dialect. */
export const embeddingsRelay: RelayRules = {
  edits: modelEdit,
  tap: (call) =>
    embeddingTap({
      usageMember: 'usage',
      vectorsMember: 'data',
      readUsage: openaiEmbeddingUsage,
      inBandFailure: openaiInBandFailure,
      remarkOn: (vectors) => countRemark(vectors, call),
    }),
  invalidReplyReason: (reply) =>
    Array.isArray(member(reply, 'data')) ? undefined : 'upstream_protocol_error',
  readUsage: (reply) => openaiEmbeddingUsage(member(reply, 'usage')),
  remarks: (reply, call, usage) => ({
    reason: countRemark(items(member(reply, 'data')).length, call),
    notes: usage === undefined ? { 'x-tollgate-estimated': 'usage' } : {},
  }),
};
