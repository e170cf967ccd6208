// suite: quick
/** Usage of compatible upstreams, which count in different ways. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openaiReplyUsage } from '../../../src/dialects/openai/usage.ts';
import type { JsonObject } from '../../../src/json.ts';

function usageOf(
  prompt: number,
  completion: number,
  total: number,
  reasoning?: number,
): JsonObject {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: total,
    ...(reasoning === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

describe('output and reasoning', () => {
  it.each([
    ['inside the completion', usageOf(10, 5, 15, 3), 5, 3],
    ['outside it, as xAI counts', usageOf(307, 26, 560, 227), 253, 227],
    ["only in the total, as at Google's compatible endpoint", usageOf(35, 12, 109), 74, 62],
    ['reported as 0 although the total includes it', usageOf(35, 12, 109, 0), 74, 62],
    ['neither inside nor outside', usageOf(10, 5, 40, 3), 5, 3],
    ['more than the whole output', usageOf(12, 10, 22, 11), 11, 11],
    ['not reported', usageOf(10, 5, 15), 5, undefined],
    ['not reported, with a total below the sum', usageOf(10, 5, 7), 5, undefined],
  ])('reasoning %s', (_how, usage, outputTokens, reasoningTokens) => {
    expect(openaiReplyUsage(usage, true)).toMatchObject({ outputTokens, reasoningTokens });
  });

  it('a missing completion is derived from the total', () => {
    expect(openaiReplyUsage({ prompt_tokens: 4, total_tokens: 9 }, true)).toMatchObject({
      inputTokens: 4,
      outputTokens: 5,
      reasoningTokens: undefined,
    });
    expect(openaiReplyUsage({ completion_tokens: 4, total_tokens: 9 }, true)).toMatchObject({
      inputTokens: 5,
      outputTokens: 4,
    });
  });
});

describe('the details of the usage', () => {
  it('are read by name, and missing ones stay undefined', () => {
    const usage = {
      ...usageOf(20, 5, 25),
      prompt_tokens_details: { cached_tokens: 8, cache_write_tokens: 2, audio_tokens: 3 },
      completion_tokens_details: { audio_tokens: 4 },
    };

    expect(openaiReplyUsage(usage, true)).toEqual({
      inputTokens: 20,
      outputTokens: 5,
      cachedInputTokens: 8,
      cacheWriteTokens: 2,
      reasoningTokens: undefined,
      audioInputTokens: 3,
      audioOutputTokens: 4,
    });
    expect(openaiReplyUsage(usageOf(20, 5, 25), true)?.cachedInputTokens).toBeUndefined();
  });

  it('raise the prompt to cached tokens that were counted outside it', () => {
    const usage = { ...usageOf(5, 5, 10), prompt_tokens_details: { cached_tokens: 9 } };

    expect(openaiReplyUsage(usage, true)).toMatchObject({ inputTokens: 9, cachedInputTokens: 9 });
  });
});

describe('invalid usage', () => {
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['an empty object', {}],
    ['nulls', { prompt_tokens: null, completion_tokens: null }],
    ['negative counts', usageOf(-1, -5, -4)],
    ['fractions', usageOf(1.5, 5.5, 6.5)],
    ['text', { prompt_tokens: '5' }],
  ])('%s', (_what, usage) => {
    expect(openaiReplyUsage(usage, true)).toBeUndefined();
  });

  it.each([
    ['a negative count', usageOf(-1, 5, 4), [0, 5]],
    ['a fraction', usageOf(1.5, 5, 6), [1, 5]],
    ['a total above every bound', usageOf(5, 5, 1e16), [5, 5]],
    [
      'an invalid count of cached tokens',
      { ...usageOf(5, 5, 10), prompt_tokens_details: { cached_tokens: -3 } },
      [5, 5],
    ],
  ])('%s does not affect the other counts', (_what, usage, [inputTokens, outputTokens]) => {
    expect(openaiReplyUsage(usage, true)).toMatchObject({ inputTokens, outputTokens });
  });

  it('an invalid count of reasoning is ignored', () => {
    expect(openaiReplyUsage(usageOf(5, 5, 10, -2), true)).toMatchObject({
      outputTokens: 5,
      reasoningTokens: undefined,
    });
  });
});

it('parts never exceed their whole, and a total that adds up is kept', () => {
  const count = fc.nat(5_000);
  fc.assert(
    fc.property(count, count, count, fc.option(count), (prompt, completion, excess, reasoning) => {
      const total = prompt + completion + excess;
      const usage = openaiReplyUsage(
        usageOf(prompt, completion, total, reasoning ?? undefined),
        true,
      );

      expect(usage?.inputTokens).toBe(prompt);
      expect(usage?.reasoningTokens ?? 0).toBeLessThanOrEqual(usage?.outputTokens ?? -1);
      const larger = Math.max(completion, reasoning ?? 0);
      expect([larger, completion + excess]).toContain(usage?.outputTokens);
      if (!reasoning || reasoning === excess) {
        expect(usage?.outputTokens).toBe(completion + excess);
      }
    }),
    { numRuns: 300 },
  );
});
