/** A usage with every count and a price with every member, for tests of stores. */
import type { UsageRecord } from '../../src/ports/usage-sink.ts';

const rates = {
  input: 11n,
  output: 12n,
  cachedInput: 13n,
  cacheWrite5m: 14n,
  cacheWrite1h: 15n,
  reasoning: 16n,
  audioInput: 17n,
  audioOutput: 18n,
  imageInput: 19n,
  imageOutput: 20n,
  videoInput: 9_007_199_254_740_991n,
} as const;

/** Members of a usage record. */
export const everyCount: Pick<UsageRecord, 'usage' | 'chargeNanos' | 'costNanos' | 'price'> = {
  usage: {
    inputTokens: 100,
    cachedInputTokens: 10,
    outputTokens: 90,
    images: 1,
    cacheWrite5mTokens: 11,
    cacheWrite1hTokens: 12,
    reasoningTokens: 13,
    audioOutputTokens: 14,
    imageOutputTokens: 15,
    audioInputTokens: 16,
    imageInputTokens: 17,
    videoInputTokens: 18,
    largestPassInputTokens: 60,
    toolCalls: { web_search: 2, web_fetch: 0 },
  },
  chargeNanos: 8n,
  costNanos: 3n,
  price: {
    per: 'token',
    rates,
    tiers: [
      { aboveInputTokens: 200_000, rates },
      { aboveInputTokens: 1_000_000, rates: { input: 0n } },
    ],
    members: {
      web_search: { perCallNanos: 10_000_000n, holdCalls: 3, holdInputTokens: 0 },
      speed: { multiplier: '6' },
      inference_geo: { multiplier: '1.1' },
      num_images: {},
    },
  },
};
