/** Generates any price and any usage. */
import fc from 'fast-check';
import { costMembers, maxNanos, type Price, type TokenRates, type Usage } from '../../src/money.ts';

const nanos = fc.bigInt(0n, maxNanos);
const rates: fc.Arbitrary<TokenRates> = fc.record(
  {
    input: nanos,
    output: nanos,
    cachedInput: nanos,
    cacheWrite5m: nanos,
    cacheWrite1h: nanos,
    reasoning: nanos,
    audioInput: nanos,
    audioOutput: nanos,
    imageInput: nanos,
    imageOutput: nanos,
    videoInput: nanos,
  },
  { requiredKeys: ['input'] },
);
const member = fc.record(
  {
    multiplier: fc.constantFrom('6', '1.1', '0.000000001'),
    perCallNanos: nanos,
    holdCalls: fc.integer({ min: 1, max: 100 }),
    holdInputTokens: fc.nat(),
  },
  { requiredKeys: [] },
);
const members = fc.dictionary(fc.constantFrom(...costMembers), member, { noNullPrototype: true });
const tier = fc.record({ aboveInputTokens: fc.integer({ min: 1, max: 2_000_000 }), rates });
const word = fc.constantFrom('1024x1024', 'hd', 'low', '4K');
const row = fc.record({ size: word, quality: word, nanos }, { requiredKeys: ['nanos'] });

/** Any price. */
export const anyPrice: fc.Arbitrary<Price> = fc.oneof(
  fc.constant<Price>({ per: 'free' }),
  fc.record(
    { per: fc.constant('token' as const), rates, tiers: fc.array(tier, { maxLength: 3 }), members },
    { requiredKeys: ['per', 'rates'] },
  ),
  fc.record(
    {
      per: fc.constant('image' as const),
      rows: fc.array(row, { minLength: 1, maxLength: 4 }),
      members,
    },
    { requiredKeys: ['per', 'rows'] },
  ),
);

const count = fc.nat(1_000_000);

/** Any usage; its parts may contradict each other. */
export const anyUsage: fc.Arbitrary<Usage> = fc.record(
  {
    inputTokens: count,
    cachedInputTokens: count,
    outputTokens: count,
    images: fc.nat(10),
    cacheWrite5mTokens: count,
    cacheWrite1hTokens: count,
    reasoningTokens: count,
    audioOutputTokens: count,
    imageOutputTokens: count,
    audioInputTokens: count,
    imageInputTokens: count,
    videoInputTokens: count,
    largestPassInputTokens: count,
  },
  { requiredKeys: ['inputTokens', 'cachedInputTokens', 'outputTokens', 'images'] },
);
