// suite: quick
/**
 * Charges every usage object of the recordings at a price in which no two kinds of tokens cost the
 * same, and compares with sums that are computed here independently from the providers' documents.
 */
import { expect, it } from 'vitest';
import { anthropicUsage } from '../../src/dialects/anthropic/usage.ts';
import { isJsonObject, items, type JsonValue, member, parseJson } from '../../src/json.ts';
import type { Usage } from '../../src/money.ts';
import { tokenPrice } from '../../src/prices/codec.ts';
import { costOf } from '../../src/prices/cost.ts';
import { protocols } from '../../src/protocols/table.ts';
import { type FixtureCategory, fixtures } from '../support/recorded/fixtures.ts';

/** Nanos per token; primes, so that no two sums are equal by chance. */
const nanos = {
  ...{ input: 1_009, cachedInput: 101, cacheWrite5m: 1_259, cacheWrite1h: 2_017 },
  ...{ output: 5_003, reasoning: 3_001, audioInput: 7_001, audioOutput: 20_011 },
  ...{ imageInput: 1_511, imageOutput: 30_011, videoInput: 1_201 },
};
const search = 10_000_019;
const price = tokenPrice({
  ...ratesOf(nanos),
  input: units(nanos.input),
  members: { web_search: { perCall: (search / 1e9).toFixed(9) } },
});

function ratesOf(rates: Readonly<Record<string, number>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, units(rate)]));
}

/**
 * Nanos per token, as units per million tokens: a nano per token is a thousandth of a unit per
 * million.
 */
function units(nanosOfToken: number): string {
  return (nanosOfToken / 1_000).toFixed(3);
}

function count(holder: JsonValue | undefined, name: string): number {
  const value = member(holder, name);
  return typeof value === 'number' ? value : 0;
}

/** Prompt tokens that were not read from the cache. */
function fresh(usage: JsonValue, modality: string): number {
  const cached = ofModality(usage, 'cacheTokensDetails', modality);
  return ofModality(usage, 'promptTokensDetails', modality) - cached;
}

function ofModality(usage: JsonValue, list: string, modality: string): number {
  const found = items(member(usage, list)).find((one) => member(one, 'modality') === modality);
  return count(found, 'tokenCount');
}

function anthropicCost(usage: JsonValue): number {
  const iterations = items(member(usage, 'iterations'));
  const fellBack = iterations.some((one) => member(one, 'type') === 'fallback_message');
  // The totals leave these out.
  const beside = iterations.filter((one) => {
    const type = String(member(one, 'type'));
    return /^(?:compaction|advisor_message)$/.test(type) || (fellBack && type === 'message');
  });
  const ofPasses = [usage, ...beside].reduce<number>((sum, pass) => {
    const forAnHour = count(member(pass, 'cache_creation'), 'ephemeral_1h_input_tokens');
    return (
      sum +
      count(pass, 'input_tokens') * nanos.input +
      count(pass, 'cache_read_input_tokens') * nanos.cachedInput +
      (count(pass, 'cache_creation_input_tokens') - forAnHour) * nanos.cacheWrite5m +
      forAnHour * nanos.cacheWrite1h +
      count(pass, 'output_tokens') * nanos.output
    );
  }, 0);
  const reasoning = count(member(usage, 'output_tokens_details'), 'thinking_tokens');
  const searches = count(member(usage, 'server_tool_use'), 'web_search_requests');
  return ofPasses - reasoning * (nanos.output - nanos.reasoning) + searches * search;
}

function geminiCost(usage: JsonValue): number {
  const audio = fresh(usage, 'AUDIO');
  const image = fresh(usage, 'IMAGE');
  const video = fresh(usage, 'VIDEO');
  const madeImage = ofModality(usage, 'candidatesTokensDetails', 'IMAGE');
  const madeAudio = ofModality(usage, 'candidatesTokensDetails', 'AUDIO');
  const cached = count(usage, 'cachedContentTokenCount');
  const prompt = count(usage, 'promptTokenCount') + count(usage, 'toolUsePromptTokenCount');
  return (
    cached * nanos.cachedInput +
    audio * nanos.audioInput +
    image * nanos.imageInput +
    video * nanos.videoInput +
    (prompt - cached - audio - image - video) * nanos.input +
    madeImage * nanos.imageOutput +
    madeAudio * nanos.audioOutput +
    (count(usage, 'candidatesTokenCount') - madeImage - madeAudio) * nanos.output +
    count(usage, 'thoughtsTokenCount') * nanos.reasoning
  );
}

function openaiCost(usage: JsonValue, images: number): number {
  const [prompt, made] = [
    member(usage, 'prompt_tokens_details') ?? member(usage, 'input_tokens_details'),
    member(usage, 'completion_tokens_details') ?? member(usage, 'output_tokens_details'),
  ];
  const input = Math.max(count(usage, 'prompt_tokens'), count(usage, 'input_tokens'));
  const stated = Math.max(count(usage, 'completion_tokens'), count(usage, 'output_tokens'));
  const total = count(usage, 'total_tokens');
  const reasoned = count(made, 'reasoning_tokens');
  // xAI's total shows that its reasoning lies beside the completion.
  const output = total === input + stated + reasoned ? stated + reasoned : stated;
  const cached = count(prompt, 'cached_tokens');
  const written = count(prompt, 'cache_write_tokens');
  const audio = count(prompt, 'audio_tokens');
  const image = count(prompt, 'image_tokens');
  const reasoning = Math.min(reasoned, output);
  const madeImage = images > 0 && made === undefined ? output : count(made, 'image_tokens');
  return (
    cached * nanos.cachedInput +
    written * nanos.cacheWrite5m +
    audio * nanos.audioInput +
    image * nanos.imageInput +
    (input - cached - written - audio - image) * nanos.input +
    reasoning * nanos.reasoning +
    madeImage * nanos.imageOutput +
    (output - reasoning - madeImage) * nanos.output
  );
}

interface Recorded {
  readonly name: string;
  readonly usage: Usage;
  readonly expected: number;
}

/** Replies whose usage reports the tokens of both prompt and reply. */
function recorded(category: FixtureCategory): readonly Recorded[] {
  return fixtures(category).flatMap(({ name, response, streamed, status }) => {
    const reply =
      streamed || status !== 200 ? undefined : parseJson(Buffer.from(response).toString());
    if (!isJsonObject(reply)) return [];
    if (category === 'gemini') {
      const stated = member(reply, 'usageMetadata');
      const usage = protocols.native.relay.readUsage(reply, {}, () => 0);
      if (stated === undefined || usage === undefined) return [];
      return [{ name, usage, expected: geminiCost(stated) }];
    }
    const stated = member(reply, 'usage');
    if (!isJsonObject(stated)) return [];
    if (category === 'anthropic') {
      const usage = anthropicUsage(reply);
      return usage === undefined ? [] : [{ name, usage, expected: anthropicCost(stated) }];
    }
    const usage = protocols.chat.relay.readUsage(reply, {}, () => 0);
    if (usage === undefined) return [];
    return [{ name, usage, expected: openaiCost(stated, usage.images) }];
  });
}

const categories = ['anthropic', 'gemini', 'openai-chat', 'openai-compat'] as const;

it.each(categories)('%s', (category) => {
  const found = recorded(category);

  expect(found.length).toBeGreaterThan(5);
  const charged = found.map(({ name, usage }) => [name, Number(costOf(usage, price))]);
  expect(charged).toEqual(found.map(({ name, expected }) => [name, expected]));
});
