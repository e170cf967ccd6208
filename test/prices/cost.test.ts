// suite: quick
/** The cost of usages, from the vendors' price lists and usage objects. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anthropicUsage } from '../../src/dialects/anthropic/usage.ts';
import type { JsonValue } from '../../src/json.ts';
import type { Price, Usage } from '../../src/money.ts';
import { formatMoney } from '../../src/prices/amount.ts';
import { imagePrice, tokenPrice } from '../../src/prices/codec.ts';
import { costOf, mostExpensiveUnit, type PricedRequest } from '../../src/prices/cost.ts';
import { protocols } from '../../src/protocols/table.ts';
import { anyPrice, anyUsage } from './arbitrary.ts';

/** Claude Sonnet 4.5, in USD per million tokens. */
const sonnet = tokenPrice({
  ...{ input: '3', output: '15', cachedInput: '0.30', cacheWrite5m: '3.75', cacheWrite1h: '6' },
  members: { web_search: { perCall: '0.01' } },
});
/** The same, with the prices above 200,000 tokens. */
const longSonnet = tokenPrice({
  ...{ input: '3', output: '15', cachedInput: '0.30', cacheWrite5m: '3.75' },
  tiers: [
    {
      aboveInputTokens: 200_000,
      ...{ input: '6', output: '22.50', cachedInput: '0.60', cacheWrite5m: '7.50' },
    },
  ],
});
const geminiPro = tokenPrice({
  ...{ input: '1.25', output: '10', cachedInput: '0.125' },
  tiers: [{ aboveInputTokens: 200_000, input: '2.50', output: '15', cachedInput: '0.25' }],
});
const geminiFlash = tokenPrice({ input: '0.30', audioInput: '1', output: '2.50' });
const gptImage = tokenPrice({ input: '5', imageInput: '10', output: '10', imageOutput: '40' });
const gptAudio = tokenPrice({ input: '2.50', audioInput: '40', output: '10', audioOutput: '80' });
const deepResearch = tokenPrice({
  ...{ input: '2', output: '8', reasoning: '3' },
  members: { web_search: { perCall: '0.005' } },
});

const openai = (usage: JsonValue, reply = {}): Usage | undefined =>
  protocols.chat.relay.readUsage({ ...reply, usage }, {}, () => 0);
const gemini = (usageMetadata: JsonValue): Usage | undefined =>
  protocols.native.relay.readUsage({ candidates: [{}], usageMetadata }, {}, () => 0);
const anthropic = (usage: JsonValue): Usage | undefined => anthropicUsage({ usage });

function units(usage: Usage | undefined, price: Price, request?: PricedRequest): string {
  if (usage === undefined) throw new Error('There is no usage.');
  return formatMoney(costOf(usage, price, request));
}

describe('Anthropic', () => {
  it('charges cache writes for 5 minutes and an hour, and cache reads, each at its rate', () => {
    const usage = anthropic({
      input_tokens: 2048,
      cache_read_input_tokens: 1800,
      cache_creation_input_tokens: 248,
      output_tokens: 503,
      cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
    });

    expect(usage).toMatchObject({
      inputTokens: 4096,
      cachedInputTokens: 1800,
      cacheWrite5mTokens: 148,
      cacheWrite1hTokens: 100,
    });
    // 2048 × 3 + 1800 × 0.30 + 148 × 3.75 + 100 × 6 + 503 × 15, per million
    expect(units(usage, sonnet)).toBe('0.015384');
  });

  it('charges cache writes of unknown lifetime as for 5 minutes', () => {
    const usage = anthropic({
      input_tokens: 0,
      cache_creation_input_tokens: 1000,
      output_tokens: 0,
    });

    expect(units(usage, sonnet)).toBe('0.00375');
    expect(units(usage, tokenPrice({ input: '3', output: '15' }))).toBe('0.003');
  });

  it('charges a fee for each web search that the reply reports, if any', () => {
    const tokens = { input_tokens: 6039, output_tokens: 931 };
    const three = anthropic({ ...tokens, server_tool_use: { web_search_requests: 3 } });
    const none = anthropic({ ...tokens, server_tool_use: null });

    expect(units(three, sonnet)).toBe('0.062082');
    expect(units(none, sonnet, { members: ['web_search'] })).toBe('0.032082');
  });

  it.each([
    [200_000, '0.60015'],
    [200_001, '1.200231'],
  ])('charges a prompt of %i tokens, including cached ones', (whole, cost) => {
    const usage = anthropic({ input_tokens: whole, output_tokens: 10 });
    const cached = anthropic({
      ...{ input_tokens: 1, cache_read_input_tokens: whole - 1, output_tokens: 0 },
    });

    expect(units(usage, longSonnet)).toBe(cost);
    expect(units(cached, longSonnet)).toBe(whole > 200_000 ? '0.120006' : '0.0600027');
  });

  it('chooses the tier of each pass if server tools caused several', () => {
    const pass = { input_tokens: 150_000, output_tokens: 10 };
    const usage = anthropic({
      input_tokens: 300_000,
      output_tokens: 20,
      iterations: [
        { type: 'message', ...pass },
        { type: 'message', ...pass },
      ],
    });

    expect(units(usage, longSonnet)).toBe('0.9003');
  });

  it('charges each pass at its own tier, and what no pass states by the largest', () => {
    const low = { type: 'message', input_tokens: 150_000, output_tokens: 10 };
    const high = { type: 'message', input_tokens: 250_000, output_tokens: 20 };
    const usage = { input_tokens: 400_000, output_tokens: 30, iterations: [low, high] };

    // 150,000 × 3 + 10 × 15 + 250,000 × 6 + 20 × 22.50, per million
    expect(units(anthropic(usage), longSonnet)).toBe('1.9506');
    // 1,000 more tokens of input × 6
    expect(units(anthropic({ ...usage, input_tokens: 401_000 }), longSonnet)).toBe('1.9566');
  });

  it('charges what ran beside the reply: summaries, advisers, and a refused first attempt', () => {
    const pass = { input_tokens: 1_000, output_tokens: 100 };
    const of = (...types: readonly string[]): Usage | undefined =>
      anthropic({ ...pass, iterations: types.map((type) => ({ type, ...pass })) });

    expect(of('message')).toMatchObject({ inputTokens: 1_000, outputTokens: 100 });
    for (const types of [
      ['compaction', 'message'],
      ['message', 'advisor_message'],
      ['message', 'fallback_message'],
    ]) {
      expect(of(...types)).toMatchObject({ inputTokens: 2_000, outputTokens: 200 });
    }
  });

  it('charges the larger of the totals and the sum of their passes', () => {
    const pass = { type: 'message', input_tokens: 600, output_tokens: 60 };

    expect(
      anthropic({ input_tokens: 1_000, output_tokens: 200, iterations: [pass, pass] }),
    ).toMatchObject({ inputTokens: 1_200, outputTokens: 200 });
  });
});

describe('Gemini', () => {
  it.each([
    [200_000, '0.26'],
    [200_001, '0.5150025'],
  ])('charges 2.5 Pro for a prompt of %i tokens', (promptTokenCount, cost) => {
    expect(
      units(
        gemini({ promptTokenCount, candidatesTokenCount: 400, thoughtsTokenCount: 600 }),
        geminiPro,
      ),
    ).toBe(cost);
  });

  it('charges audio of a prompt at its rate, text and video as input', () => {
    const usage = gemini({
      promptTokenCount: 1_000,
      candidatesTokenCount: 100,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 100 },
        { modality: 'VIDEO', tokenCount: 600 },
        { modality: 'AUDIO', tokenCount: 300 },
      ],
    });

    expect(usage).toMatchObject({ videoInputTokens: 600, audioInputTokens: 300 });
    expect(units(usage, geminiFlash)).toBe('0.00076');
  });

  it('charges images of a reply by their tokens', () => {
    const usage = gemini({
      promptTokenCount: 10,
      candidatesTokenCount: 1300,
      candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1290 }],
    });

    expect(units(usage, tokenPrice({ input: '0.30', output: '2.50', imageOutput: '30' }))).toBe(
      '0.038728',
    );
  });
});

describe('OpenAI and compatible', () => {
  it('charges gpt-image by its tokens', () => {
    const usage = openai(
      {
        total_tokens: 100,
        input_tokens: 50,
        output_tokens: 50,
        input_tokens_details: { text_tokens: 10, image_tokens: 40 },
      },
      { data: [{ b64_json: '' }] },
    );

    expect(usage).toMatchObject({ imageInputTokens: 40, imageOutputTokens: 50, images: 1 });
    expect(units(usage, gptImage)).toBe('0.00245');
  });

  it('charges gpt-image with reported text tokens of its output', () => {
    const usage = openai(
      {
        input_tokens: 10,
        output_tokens: 60,
        output_tokens_details: { text_tokens: 10, image_tokens: 50 },
      },
      { data: [{ b64_json: '' }] },
    );

    expect(units(usage, gptImage)).toBe('0.00215');
  });

  it('charges audio in and out', () => {
    const usage = openai({
      prompt_tokens: 120,
      completion_tokens: 80,
      prompt_tokens_details: { audio_tokens: 100, cached_tokens: 0 },
      completion_tokens_details: { audio_tokens: 60, reasoning_tokens: 0 },
    });

    // 20 × 2.50 + 100 × 40 + 20 × 10 + 60 × 80
    expect(units(usage, gptAudio)).toBe('0.00905');
  });

  it('charges cache writes of GPT-5.6', () => {
    const usage = openai({
      prompt_tokens: 2_000,
      completion_tokens: 10,
      prompt_tokens_details: { cached_tokens: 500, cache_write_tokens: 1_400 },
    });

    const price = { input: '5', cachedInput: '0.50', cacheWrite5m: '6.25', output: '30' };
    expect(units(usage, tokenPrice(price))).toBe('0.0098');
  });

  it('charges reasoning at a separate rate, and searches that are counted', () => {
    const usage = openai({
      prompt_tokens: 33,
      completion_tokens: 7_163 + 193_684,
      completion_tokens_details: { reasoning_tokens: 193_684 },
      num_search_queries: 28,
    });

    expect(units(usage, deepResearch)).toBe('0.778422');
  });
});

describe('members of a request', () => {
  const usage: Usage = { inputTokens: 1_000, cachedInputTokens: 0, outputTokens: 100, images: 0 };
  const price = tokenPrice({
    ...{ input: '1', output: '10' },
    members: {
      speed: { multiplier: '6' },
      inference_geo: { multiplier: '1.1' },
      maps: { perCall: '0.025' },
    },
  });

  it.each<[PricedRequest, string]>([
    [{}, '0.002'],
    [{ members: ['speed'] }, '0.012'],
    [{ members: ['speed', 'inference_geo'] }, '0.0132'],
    [{ members: ['maps'] }, '0.027'],
    [{ members: ['speed', 'maps'] }, '0.037'],
  ])('%j', (request, cost) => {
    expect(units(usage, price, request)).toBe(cost);
  });

  it('a fee is charged as often as the reply reports, requested or not', () => {
    const stated = { ...usage, toolCalls: { maps: 2 } };

    expect(units(stated, price)).toBe('0.052');
    expect(units({ ...usage, toolCalls: {} }, price, { members: ['maps'] })).toBe('0.002');
  });

  it('image prices are multiplied too', () => {
    const images = imagePrice([{ price: '0.04' }], { image_size: { multiplier: '2' } });

    expect(units({ ...usage, images: 3 }, images, { members: ['image_size'] })).toBe('0.24');
  });
});

it('a token is charged once, whatever parts a reply reports', () => {
  fc.assert(
    fc.property(anyPrice, anyUsage, (price, usage) => {
      if (price.per !== 'token') return;
      const most = mostOf(price);
      const tokens = BigInt(usage.inputTokens + usage.outputTokens);
      const bound = (tokens * most + 999_999n) / 1_000_000n;
      expect(costOf(usage, price)).toBeLessThanOrEqual(bound);
    }),
  );
});

function mostOf(price: Extract<Price, { per: 'token' }>): bigint {
  const all = [price.rates, ...(price.tiers ?? []).map(({ rates }) => rates)];
  return all.flatMap((rates) => Object.values(rates)).reduce((a, b) => (a > b ? a : b), 0n);
}

it('the most expensive unit of a price is that of its output, at any tier', () => {
  expect(mostExpensiveUnit({ per: 'free' })).toBe(0n);
  expect(mostExpensiveUnit(geminiPro)).toBe(15_000_000_000n);
  expect(mostExpensiveUnit(gptImage)).toBe(40_000_000_000n);
  expect(mostExpensiveUnit(imagePrice([{ price: '1' }, { price: '2' }]))).toBe(2_000_000_000n);
});

it('the price of an unlisted size or quality is not guessed', () => {
  const price = imagePrice([{ size: '1024x1024', price: '0.04' }]);
  const usage = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, images: 1 };

  expect(() => costOf(usage, price, { size: '4K' })).toThrow(RangeError);
  expect(costOf(usage, price, { size: ' 1024X1024' })).toBe(40_000_000n);
});
