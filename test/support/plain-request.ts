/** A request with default settings, and the names of its fields in each protocol. */
import type { ContentRequest, Part, RequestField, Turn } from '../../src/canonical/request.ts';

/** The names in the chat protocol. */
const chatNames: Readonly<Record<RequestField, string>> = {
  toolChoice: 'tool_choice',
  parallelToolCalls: 'parallel_tool_calls',
  format: 'response_format',
  maxOutputTokens: 'max_completion_tokens',
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  seed: 'seed',
  stop: 'stop',
  candidates: 'n',
  logprobs: 'logprobs',
  reasoning: 'reasoning_effort',
  modalities: 'modalities',
  endUserId: 'user',
  serviceTier: 'service_tier',
  verbosity: 'verbosity',
  tools: 'tools',
  system: 'messages',
};

/** The names in the native protocol. */
export const nativeNames: Readonly<Record<RequestField, string>> = {
  toolChoice: 'toolConfig',
  parallelToolCalls: 'parallel_tool_calls',
  format: 'generationConfig.responseSchema',
  maxOutputTokens: 'generationConfig.maxOutputTokens',
  temperature: 'generationConfig.temperature',
  topP: 'generationConfig.topP',
  topK: 'generationConfig.topK',
  presencePenalty: 'generationConfig.presencePenalty',
  frequencyPenalty: 'generationConfig.frequencyPenalty',
  seed: 'generationConfig.seed',
  stop: 'generationConfig.stopSequences',
  candidates: 'generationConfig.candidateCount',
  logprobs: 'generationConfig.responseLogprobs',
  reasoning: 'generationConfig.thinkingConfig',
  modalities: 'generationConfig.responseModalities',
  endUserId: 'labels.user',
  serviceTier: 'serviceTier',
  verbosity: 'verbosity',
  tools: 'tools',
  system: 'systemInstruction',
};

/** A request without turns and settings. */
export const plainRequest: ContentRequest = {
  system: [],
  turns: [],
  tools: [],
  toolChoice: undefined,
  parallelToolCalls: undefined,
  format: undefined,
  maxOutputTokens: undefined,
  temperature: undefined,
  topP: undefined,
  topK: undefined,
  presencePenalty: undefined,
  frequencyPenalty: undefined,
  seed: undefined,
  stop: [],
  candidates: 1,
  logprobs: undefined,
  reasoning: undefined,
  modalities: undefined,
  endUserId: undefined,
  serviceTier: undefined,
  streamed: false,
  providerMembers: [],
  names: chatNames,
  dropped: [],
};

/** A turn of the user. */
export function user(...parts: readonly Part[]): Turn {
  return { role: 'user', parts };
}

/** A turn of the model. */
export function assistant(...parts: readonly Part[]): Turn {
  return { role: 'assistant', parts };
}
