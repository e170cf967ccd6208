/**
 * Capabilities of Anthropic's models. From Opus 4.7 on: adaptive thinking, no sampling parameters,
 * no prefill.
 */
import type { CapabilityTable } from '../capabilities.ts';

/** Newest first. */
export const anthropicCapabilities: CapabilityTable = {
  newest: {
    includeUsage: true,
    reasoningOutsideCompletion: false,
    imageBase64: 'unasked',
    maxTokensField: 'max_tokens',
    reasoning: 'adaptive',
    // `none` is listed if thinking can be disabled.
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    thinkingBudget: undefined,
    reasoningHistory: true,
    structuredOutput: 'schema',
    jsonWithTools: true,
    strictTools: true,
    allowedTools: true,
    parallelToolCalls: true,
    toolEffortNone: false,
    callIds: true,
    signatures: true,
    sampling: 'none',
    topK: false,
    penalties: false,
    seed: false,
    logprobs: false,
    maxCandidates: 1,
    streamedCandidates: false,
    stopLimit: 8191,
    systemInstruction: true,
    midSystem: 'inline',
    prefill: false,
    mediaUrls: true,
    resultMedia: true,
    mediaInput: ['image', 'document'],
    mediaOutput: false,
    assistantParts: true,
    builtInWithFunctions: false,
    dropBuiltInTools: false,
    customTools: false,
    verbosity: false,
    promptCacheKey: false,
    responses: false,
    dropBetas: [],
    embeddingBatch: 1,
    embeddingBase64: false,
    embeddingFloat: true,
    embeddingTokens: false,
    unitLength: 'always',
  },
  known: /claude-(?:[a-z]+-[4-9]|fable|mythos)/,
  // An alias behind a proxy may refer to an older model. Only the newest models support `xhigh` and
  // instructions in the middle of a conversation.
  unknown: { midSystem: 'lift', efforts: ['none', 'low', 'medium', 'high', 'max'] },
  older: [
    {
      models: /claude-(?:fable|mythos)/,
      flags: { efforts: ['low', 'medium', 'high', 'xhigh', 'max'] },
    },
    { models: /claude-opus-4-7/, flags: { midSystem: 'lift' } },
    {
      models: /claude-opus-4-6/,
      flags: {
        sampling: 'one',
        topK: true,
        midSystem: 'lift',
        efforts: ['none', 'low', 'medium', 'high', 'max'],
      },
    },
    {
      models: /claude-sonnet-4-6/,
      flags: {
        sampling: 'one',
        topK: true,
        midSystem: 'lift',
        efforts: ['none', 'low', 'medium', 'high', 'max'],
      },
    },
    {
      models: /claude-(?:opus-4-5|sonnet-4-5|haiku-4-5)/,
      flags: {
        reasoning: 'budget',
        sampling: 'one',
        topK: true,
        midSystem: 'lift',
        prefill: true,
      },
    },
    {
      models: /claude-(?:(?:opus|sonnet)-4(?![-.][5-9])|3-7)/,
      flags: {
        reasoning: 'budget',
        sampling: 'one',
        topK: true,
        midSystem: 'lift',
        prefill: true,
        structuredOutput: 'none',
        strictTools: false,
      },
    },
    {
      models: /claude-(?:3|2|instant)/,
      flags: {
        reasoning: 'none',
        efforts: [],
        sampling: 'any',
        topK: true,
        midSystem: 'lift',
        prefill: true,
        structuredOutput: 'none',
        strictTools: false,
      },
    },
  ],
};
