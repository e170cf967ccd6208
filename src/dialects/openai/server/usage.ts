/** Writes the usage and the id of chat replies. */
import type { ReplyUsage } from '../../../canonical/reply.ts';
import type { Piece } from './choice-sink.ts';

export function usagePiece(usage: ReplyUsage): Piece {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
    prompt_tokens_details: details({
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      audio_tokens: usage.audioInputTokens,
    }),
    completion_tokens_details: details({
      reasoning_tokens: usage.reasoningTokens,
      audio_tokens: usage.audioOutputTokens,
    }),
  };
}

function details(counts: Readonly<Record<string, number | undefined>>): Piece | undefined {
  return Object.values(counts).some((count) => count !== undefined) ? counts : undefined;
}

export function replyId(upstreamId: string | undefined, fallbackId: string): string {
  const id = upstreamId === undefined || upstreamId === '' ? fallbackId : upstreamId;
  return id.startsWith(idPrefix) ? id : `${idPrefix}${id}`;
}

const idPrefix = 'chatcmpl-';
