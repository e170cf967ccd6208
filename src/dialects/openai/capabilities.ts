/**
 * Capabilities of OpenAI's models. Reasoning models accept neither sampling parameters nor
 * penalties. Compatible servers differ in the flags of their channels; `vendors.ts` has presets.
 */
import type { CapabilityTable } from '../capabilities.ts';

/** Newest first. A name that no row matches counts as the newest. */
export const openaiCapabilities: CapabilityTable = {
  newest: {
    includeUsage: true,
    reasoningOutsideCompletion: false,
    imageBase64: 'unasked',
    maxTokensField: 'max_completion_tokens',
    reasoning: 'effort',
    efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
    thinkingBudget: undefined,
    reasoningHistory: false,
    structuredOutput: 'schema',
    jsonWithTools: true,
    strictTools: true,
    allowedTools: true,
    parallelToolCalls: true,
    toolEffortNone: false,
    callIds: true,
    signatures: false,
    sampling: 'any',
    topK: false,
    penalties: true,
    seed: true,
    logprobs: true,
    maxCandidates: 128,
    streamedCandidates: true,
    stopLimit: 4,
    systemInstruction: true,
    midSystem: 'inline',
    prefill: true,
    mediaUrls: true,
    resultMedia: false,
    mediaInput: ['image', 'audio', 'document'],
    mediaOutput: false,
    assistantParts: false,
    builtInWithFunctions: false,
    dropBuiltInTools: false,
    customTools: true,
    verbosity: true,
    promptCacheKey: true,
    responses: true,
    dropBetas: [],
    embeddingBatch: 2_048,
    embeddingBase64: true,
    embeddingFloat: true,
    embeddingTokens: true,
    unitLength: 'always',
  },
  older: [
    {
      models: /^gpt-(?:5\.[6-9]|[6-9])/,
      flags: {
        sampling: 'none',
        penalties: false,
        logprobs: false,
        toolEffortNone: true,
      },
    },
    {
      models: /^gpt-5\.[2-5]/,
      flags: { sampling: 'none', penalties: false, logprobs: false },
    },
    {
      // It responds with 400 to `minimal` (openai-agents-python#2089).
      models: /^gpt-5\.1/,
      flags: {
        sampling: 'none',
        penalties: false,
        logprobs: false,
        efforts: ['none', 'low', 'medium', 'high'],
      },
    },
    {
      // It does not support `none`, which came with 5.1.
      models: /^gpt-5(?!-chat)/,
      flags: {
        sampling: 'none',
        penalties: false,
        logprobs: false,
        efforts: ['minimal', 'low', 'medium', 'high'],
      },
    },
    {
      models: /^o\d/,
      flags: {
        sampling: 'none',
        penalties: false,
        logprobs: false,
        efforts: ['low', 'medium', 'high'],
        stopLimit: 0,
        customTools: false,
        verbosity: false,
      },
    },
    {
      models: /^(?:gpt-4|gpt-3|chatgpt|gpt-5-chat)/,
      flags: { reasoning: 'none', efforts: [], customTools: false, verbosity: false },
    },
  ],
};
