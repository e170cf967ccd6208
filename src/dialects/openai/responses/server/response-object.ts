/** Writes the response object: a whole reply is one, and the first and last events contain one. */
import { type JsonNode, jsonText, oneLine, rawJson } from '../../../../canonical/raw-json.ts';
import type { ReplyUsage, ServiceTier } from '../../../../canonical/reply.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../../json.ts';
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

interface ResponseSource {
  readonly id: string;
  readonly head: ReplyHead;
  readonly context: ReplyContext;
}

/** The object as one line of JSON. */
export function responseText(source: ResponseSource, state: ResponseState): string {
  const members = jsonText(responseMembers(source, state));
  return oneLine(`${members.slice(0, -1)},"output":${outputText(state)}}`);
}

/** The members of a reply that breaks off; its status and error are not in it yet. */
export function brokenMembers(source: ResponseSource, state: ResponseState): ResponseMembers {
  return { ...responseMembers(source, state), output: rawJson(outputText(state)) };
}

function outputText({ output }: ResponseState): string {
  return `[${output.join(',')}]`;
}

/** All members but the output. */
function responseMembers(
  { id, head, context: { body, stores } }: ResponseSource,
  { status, incompleteReason, usage, serviceTier }: ResponseState,
): ResponseMembers {
  const { createdSeconds, modelId, keepsOutput = false } = head;
  // They can be large, and no client reads them before the end.
  const hasPrompt = status !== 'in_progress';
  return {
    id,
    object: 'response',
    created_at: createdSeconds,
    status,
    error: null,
    incomplete_details: incompleteReason === undefined ? null : { reason: incompleteReason },
    model: modelId,
    service_tier: serviceTier ?? null,
    background: false,
    max_output_tokens: sent(body, 'max_output_tokens', null),
    max_tool_calls: sent(body, 'max_tool_calls', null),
    metadata: sent(body, 'metadata', {}),
    parallel_tool_calls: sent(body, 'parallel_tool_calls', true),
    previous_response_id: null,
    prompt_cache_key: sent(body, 'prompt_cache_key', null),
    reasoning: { effort: null, summary: null, ...objectOf(body, 'reasoning') },
    safety_identifier: sent(body, 'safety_identifier', null),
    temperature: sent(body, 'temperature', null),
    text: { format: { type: 'text' }, ...objectOf(body, 'text') },
    tool_choice: sent(body, 'tool_choice', 'auto'),
    top_logprobs: sent(body, 'top_logprobs', 0),
    top_p: sent(body, 'top_p', null),
    truncation: sent(body, 'truncation', 'disabled'),
    user: sent(body, 'user', null),
    store: stores && keepsOutput,
    usage: usage === undefined ? null : usageMembers(usage),
    instructions: hasPrompt ? sent(body, 'instructions', null) : undefined,
    tools: hasPrompt ? sent(body, 'tools', []) : undefined,
  };
}

function sent(body: JsonObject, name: string, otherwise: JsonValue): JsonValue {
  return member(body, name) ?? otherwise;
}

function objectOf(body: JsonObject, name: string): JsonObject {
  const value = member(body, name);
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));
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
