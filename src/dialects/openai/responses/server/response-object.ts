/** Writes the response object: a whole reply is one, and the first and last events contain one. */
import { type JsonNode, rawJson } from '../../../../canonical/raw-json.ts';
import type { ReplyUsage, ServiceTier } from '../../../../canonical/reply.ts';
import type { ReplyHead } from '../../../codec.ts';
import type { ReplyContext } from './exchange.ts';
import type { IncompleteReason } from './finish.ts';

export type ResponseMembers = Readonly<Record<string, JsonNode>>;

export interface ResponseState {
  readonly status: 'in_progress' | 'completed' | 'incomplete';
  readonly incompleteReason?: IncompleteReason | undefined;
  /** The items, each as JSON text. */
  readonly output: readonly string[];
  readonly usage: ReplyUsage | undefined;
  readonly serviceTier: ServiceTier | undefined;
}

export interface ResponseObjects {
  readonly id: string;
  running(serviceTier: ServiceTier | undefined): ResponseMembers;
  /** The object of a reply that has ended, with the members that may be large. */
  ended(state: ResponseState): ResponseMembers;
}

export function responseObjects(
  id: string,
  head: ReplyHead,
  { echo, stores }: ReplyContext,
): ResponseObjects {
  const { createdSeconds, modelId, keepsOutput = false } = head;
  const members = (state: ResponseState): ResponseMembers => ({
    id,
    object: 'response',
    created_at: createdSeconds,
    status: state.status,
    error: null,
    incomplete_details:
      state.incompleteReason === undefined ? null : { reason: state.incompleteReason },
    model: modelId,
    output: rawJson(`[${state.output.join(',')}]`),
    service_tier: state.serviceTier ?? null,
    ...echo.settings,
    store: stores && keepsOutput,
    usage: state.usage === undefined ? null : usageMembers(state.usage),
  });
  return {
    id,
    running: (serviceTier) =>
      members({ status: 'in_progress', output: [], usage: undefined, serviceTier }),
    ended: (state) => ({ ...members(state), ...echo.prompt }),
  };
}

/** Both details are required by the types of OpenAI's client. */
function usageMembers(usage: ReplyUsage): ResponseMembers {
  const { inputTokens, outputTokens } = usage;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: usage.cachedInputTokens ?? 0,
      cache_write_tokens: usage.cacheWriteTokens ?? 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens ?? 0 },
    total_tokens: inputTokens + outputTokens,
  };
}
