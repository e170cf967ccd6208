/**
 * Capabilities of Google's models. The generations configure thinking differently, and the older
 * ones don't support a schema together with tools.
 */
import type { Capabilities } from '../../ports/catalog.ts';
import type { CapabilityTable } from '../capabilities.ts';

const budget = {
  flash: { min: 0, max: 24_576 },
  pro: { min: 128, max: 32_768 },
  lite: { min: 512, max: 24_576, off: true },
} as const;

const olderGemini: Capabilities = {
  signatures: false,
  jsonWithTools: false,
  resultMedia: false,
  builtInWithFunctions: false,
};

/** Newest first. */
export const geminiCapabilities: CapabilityTable = {
  newest: {
    includeUsage: true,
    reasoningOutsideCompletion: false,
    imageBase64: 'unasked',
    maxTokensField: 'max_completion_tokens',
    reasoning: 'level',
    efforts: ['minimal', 'low', 'medium', 'high'],
    thinkingBudget: undefined,
    reasoningHistory: false,
    structuredOutput: 'schema',
    jsonWithTools: true,
    strictTools: true,
    allowedTools: true,
    parallelToolCalls: false,
    toolEffortNone: false,
    callIds: true,
    signatures: true,
    sampling: 'any',
    topK: true,
    penalties: false,
    seed: true,
    logprobs: true,
    maxCandidates: 1,
    streamedCandidates: false,
    stopLimit: 5,
    systemInstruction: true,
    midSystem: 'lift',
    prefill: true,
    mediaUrls: true,
    resultMedia: true,
    mediaInput: ['image', 'audio', 'video', 'document'],
    mediaOutput: false,
    assistantParts: true,
    builtInWithFunctions: true,
    dropBuiltInTools: false,
    customTools: false,
    verbosity: false,
    promptCacheKey: false,
    responses: false,
    dropBetas: [],
    embeddingBatch: 100,
    embeddingBase64: false,
    embeddingFloat: true,
    embeddingTokens: false,
    unitLength: 'always',
  },
  known: /gemini-3/,
  // An alias such as `gemini-flash-latest` may refer to a model without `minimal` or `medium`.
  unknown: { efforts: ['low', 'high'] },
  older: [
    // With fewer than 3,072 dimensions its vectors have a length of about 0.6.
    { models: /gemini-embedding-001/, flags: { unitLength: 'full' } },
    {
      models: /gemini-3-pro/,
      flags: { efforts: ['low', 'high'] },
    },
    {
      models: /gemini-3\.1-pro|gemini-3\.[78]-flash(?!-lite)/,
      flags: { efforts: ['low', 'medium', 'high'] },
    },
    {
      models: /gemini-2\.5-pro/,
      flags: { ...olderGemini, reasoning: 'budget', thinkingBudget: budget.pro, maxCandidates: 8 },
    },
    {
      models: /gemini-2\.5-flash-lite/,
      flags: { ...olderGemini, reasoning: 'budget', thinkingBudget: budget.lite, maxCandidates: 8 },
    },
    {
      models: /gemini-2\.5/,
      flags: {
        ...olderGemini,
        reasoning: 'budget',
        thinkingBudget: budget.flash,
        maxCandidates: 8,
      },
    },
    {
      models: /gemini-2\.0/,
      flags: {
        ...olderGemini,
        reasoning: 'none',
        efforts: [],
        maxCandidates: 8,
        penalties: true,
        strictTools: false,
        mediaUrls: false,
      },
    },
    {
      models: /gemma/,
      flags: {
        ...olderGemini,
        reasoning: 'none',
        efforts: [],
        structuredOutput: 'subset',
        strictTools: false,
        systemInstruction: false,
        mediaUrls: false,
      },
    },
    {
      models: /gemini-1/,
      flags: {
        ...olderGemini,
        reasoning: 'none',
        efforts: [],
        structuredOutput: 'subset',
        strictTools: false,
        mediaUrls: false,
        maxCandidates: 8,
      },
    },
  ],
};
