/** Google's native wire format as its upstreams speak it: `generateContent` and `countTokens`. */

import type { Capabilities } from '../../ports/models/capabilities.ts';
import { type CapabilityTable, usualCapabilities } from '../capabilities.ts';
import { bearer, type Dialect } from '../dialect.ts';
import { upstreamPaths } from '../paths.ts';
import { serverSentEvents } from '../stream-format.ts';
import { geminiFailure, geminiInBandFailure } from './errors.ts';

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
const gemini25: Capabilities = { ...olderGemini, reasoning: 'budget', maxCandidates: 8 };
const withoutThinking: Capabilities = { ...olderGemini, reasoning: 'none', efforts: [] };

/** Newest first. */
export const geminiCapabilities: CapabilityTable = {
  newest: {
    ...usualCapabilities,
    reasoning: 'level',
    efforts: ['minimal', 'low', 'medium', 'high'],
    parallelToolCalls: false,
    topK: true,
    stopLimit: 5,
    midSystem: 'lift',
    mediaInput: ['image', 'audio', 'video', 'document'],
    builtInWithFunctions: true,
    embeddingBatch: 100,
  },
  known: /gemini-3/,
  // An alias such as `gemini-flash-latest` may refer to a model without `minimal` or `medium`.
  unknown: { efforts: ['low', 'high'] },
  older: [
    // With fewer than 3,072 dimensions its vectors have a length of about 0.6.
    { models: /gemini-embedding-001/, flags: { unitLength: 'full' } },
    { models: /gemini-3-pro/, flags: { efforts: ['low', 'high'] } },
    {
      models: /gemini-3\.1-pro|gemini-3\.[78]-flash(?!-lite)/,
      flags: { efforts: ['low', 'medium', 'high'] },
    },
    { models: /gemini-2\.5-pro/, flags: { ...gemini25, thinkingBudget: budget.pro } },
    { models: /gemini-2\.5-flash-lite/, flags: { ...gemini25, thinkingBudget: budget.lite } },
    { models: /gemini-2\.5/, flags: { ...gemini25, thinkingBudget: budget.flash } },
    {
      models: /gemini-2\.0/,
      flags: {
        ...withoutThinking,
        maxCandidates: 8,
        penalties: true,
        strictTools: false,
        mediaUrls: false,
      },
    },
    {
      models: /gemma/,
      flags: {
        ...withoutThinking,
        structuredOutput: 'subset',
        strictTools: false,
        systemInstruction: false,
        mediaUrls: false,
      },
    },
    {
      models: /gemini-1/,
      flags: {
        ...withoutThinking,
        structuredOutput: 'subset',
        strictTools: false,
        mediaUrls: false,
        maxCandidates: 8,
      },
    },
  ],
};

export const gemini: Dialect = {
  name: 'gemini',
  capabilities: geminiCapabilities,
  paths: upstreamPaths.gemini,
  credential: (secret, form) => (form === 'token' ? bearer(secret) : { 'x-goog-api-key': secret }),
  hosting: undefined,
  streams: serverSentEvents,
  readFailure: geminiFailure,
  inBandFailure: geminiInBandFailure,
  codecs: async () => (await import('./client/codec.ts')).codecs,
};
