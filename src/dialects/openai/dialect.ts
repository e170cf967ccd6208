/** The wire format of OpenAI's upstreams: OpenAI's servers and the many compatible ones. */

import { type CapabilityTable, usualCapabilities } from '../capabilities.ts';
import { bearer, type Dialect } from '../dialect.ts';
import { upstreamPaths } from '../paths.ts';
import { serverSentEvents } from '../stream-format.ts';
import { openaiFailure, openaiInBandFailure } from './errors.ts';

const noSampling = { sampling: 'none', penalties: false, logprobs: false } as const;

/** Newest first. A name that no row matches counts as the newest. */
export const openaiCapabilities: CapabilityTable = {
  newest: {
    ...usualCapabilities,
    reasoning: 'effort',
    efforts: ['none', 'low', 'medium', 'high', 'xhigh'],
    signatures: false,
    penalties: true,
    maxCandidates: 128,
    streamedCandidates: true,
    stopLimit: 4,
    resultMedia: false,
    mediaInput: ['image', 'audio', 'document'],
    assistantParts: false,
    customTools: true,
    verbosity: true,
    promptCacheKey: true,
    responses: true,
    embeddingBatch: 2_048,
    embeddingBase64: true,
    embeddingTokens: true,
  },
  older: [
    { models: /^gpt-(?:5\.[6-9]|[6-9])/, flags: { ...noSampling, toolEffortNone: true } },
    { models: /^gpt-5\.[2-5]/, flags: noSampling },
    {
      // It responds with 400 to `minimal` (openai-agents-python#2089).
      models: /^gpt-5\.1/,
      flags: { ...noSampling, efforts: ['none', 'low', 'medium', 'high'] },
    },
    {
      // It does not support `none`, which came with 5.1.
      models: /^gpt-5(?!-chat)/,
      flags: { ...noSampling, efforts: ['minimal', 'low', 'medium', 'high'] },
    },
    {
      models: /^o\d/,
      flags: {
        ...noSampling,
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

export const openai: Dialect = {
  name: 'openai',
  capabilities: openaiCapabilities,
  paths: upstreamPaths.openai,
  credential: bearer,
  hosting: undefined,
  streams: serverSentEvents,
  readFailure: openaiFailure,
  inBandFailure: openaiInBandFailure,
  codecs: async () => (await import('./client/codec.ts')).codecs,
};
