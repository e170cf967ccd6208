/** Writes the usage of a reply in Google's format. */
import { type JsonNode, jsonText } from '../../../canonical/raw-json.ts';
import type { ReplyUsage } from '../../../canonical/reply.ts';

/** Google doesn't count thoughts among the candidates, and leaves out details that are zero. */
export function usageMetadata(usage: ReplyUsage): string {
  const thoughts = Math.min(usage.reasoningTokens ?? 0, usage.outputTokens);
  const counts = {
    promptTokenCount: usage.inputTokens,
    candidatesTokenCount: usage.outputTokens - thoughts,
    totalTokenCount: usage.inputTokens + usage.outputTokens,
    thoughtsTokenCount: thoughts || undefined,
    cachedContentTokenCount: usage.cachedInputTokens || undefined,
    promptTokensDetails: audioTokens(usage.audioInputTokens),
    candidatesTokensDetails: audioTokens(usage.audioOutputTokens),
  };
  return `,"usageMetadata":${jsonText(counts)}`;
}

function audioTokens(tokenCount: number | undefined): readonly JsonNode[] | undefined {
  return tokenCount ? [{ modality: 'AUDIO', tokenCount }] : undefined;
}
