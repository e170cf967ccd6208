/** Anthropic's wire format as its upstreams speak it: the Messages API. */

import { type CapabilityTable, usualCapabilities } from '../capabilities.ts';
import { bearer, type Dialect } from '../dialect.ts';
import { upstreamPaths } from '../paths.ts';
import { serverSentEvents } from '../stream-format.ts';
import { anthropicFailure, anthropicInBandFailure } from './errors.ts';

/** Newer API versions refuse sampling parameters at their default values. */
const version = '2023-06-01';

const upTo46 = { sampling: 'one', topK: true, midSystem: 'lift' } as const;
const upTo45 = { ...upTo46, reasoning: 'budget', prefill: true } as const;
const withoutSchemas = { structuredOutput: 'none', strictTools: false } as const;

export const anthropicCapabilities: CapabilityTable = {
  newest: {
    ...usualCapabilities,
    maxTokensField: 'max_tokens',
    reasoning: 'adaptive',
    // `none` is listed if thinking can be disabled.
    efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    reasoningHistory: true,
    sampling: 'none',
    seed: false,
    logprobs: false,
    stopLimit: 8191,
    prefill: false,
    mediaInput: ['image', 'document'],
    embeddingBatch: 1,
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
      models: /claude-(?:opus|sonnet)-4-6/,
      flags: { ...upTo46, efforts: ['none', 'low', 'medium', 'high', 'max'] },
    },
    { models: /claude-(?:opus-4-5|sonnet-4-5|haiku-4-5)/, flags: upTo45 },
    {
      models: /claude-(?:(?:opus|sonnet)-4(?![-.][5-9])|3-7)/,
      flags: { ...upTo45, ...withoutSchemas },
    },
    {
      models: /claude-(?:3|2|instant)/,
      flags: { ...upTo45, ...withoutSchemas, reasoning: 'none', efforts: [], sampling: 'any' },
    },
  ],
};

export const anthropic: Dialect = {
  name: 'anthropic',
  capabilities: anthropicCapabilities,
  paths: upstreamPaths.anthropic,
  credential: (secret, form) => ({
    ...(form === 'token' ? bearer(secret) : { 'x-api-key': secret }),
    'anthropic-version': version,
  }),
  hosting: undefined,
  streams: serverSentEvents,
  readFailure: anthropicFailure,
  inBandFailure: anthropicInBandFailure,
  codecs: async () => (await import('./client/codec.ts')).codecs,
};
