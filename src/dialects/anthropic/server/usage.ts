/** Writes the usage of a reply. */
import type { JsonNode } from '../../../canonical/raw-json.ts';
import { type ReplyUsage, usageOfWholeReply } from '../../../canonical/reply.ts';
import type { Usage } from '../../../money.ts';

export interface MessageUsage {
  readonly members: Readonly<Record<string, JsonNode>>;
  /** The upstream stated no usage, or zeros for a reply that has content. */
  readonly isEstimated: boolean;
}

/** Clients fail without usage and believe zeros, so missing counts are estimated as charged. */
export function finalUsage(
  stated: ReplyUsage | undefined,
  estimate: { counted(): number; prompt(): number },
): MessageUsage {
  const usage = stated === undefined ? noTokens : usageOfWholeReply(stated, estimate.counted);
  const outputTokens = usage.outputTokens || estimate.counted();
  // Stated zeros without output are complete: a blocked prompt may cost nothing.
  const isIncomplete = stated === undefined || outputTokens > 0;
  const isInputMissing = usage.inputTokens === 0 && isIncomplete;
  const inputTokens = isInputMissing ? estimate.prompt() : usage.inputTokens;
  return {
    members: membersOf({ ...usage, inputTokens, outputTokens }),
    isEstimated: isInputMissing || outputTokens !== usage.outputTokens,
  };
}

const noTokens = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 } as const;

/** Coding agents add the start to the end, or take the larger one, so nothing is estimated. */
export function startUsage(stated: ReplyUsage | undefined): MessageUsage['members'] {
  const isKnown = stated !== undefined && stated.gap !== 'split';
  if (!isKnown) return membersOf(noTokens);
  const usage = usageOfWholeReply(stated, () => 0);
  return membersOf({ ...usage, outputTokens: 0, reasoningTokens: undefined });
}

/** Anthropic's input is what was neither read from a cache nor written to one. */
function membersOf(
  usage: Pick<
    Usage,
    | 'inputTokens'
    | 'cachedInputTokens'
    | 'outputTokens'
    | 'cacheWrite5mTokens'
    | 'cacheWrite1hTokens'
    | 'reasoningTokens'
  >,
): MessageUsage['members'] {
  const { inputTokens, cachedInputTokens: cached, outputTokens, reasoningTokens } = usage;
  const written = (usage.cacheWrite5mTokens ?? 0) + (usage.cacheWrite1hTokens ?? 0);
  return {
    input_tokens: Math.max(0, inputTokens - cached - written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: outputTokens,
    ...(reasoningTokens === undefined
      ? {}
      : { output_tokens_details: { thinking_tokens: Math.min(reasoningTokens, outputTokens) } }),
  };
}
