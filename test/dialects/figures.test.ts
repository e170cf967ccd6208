/** Figures are whole numbers in a sane range or none; without them, what passed is counted. */
import { describe, expect, it } from 'vitest';
import { lastValueOf } from '../../src/dialects/last-value.ts';
import { callerDialects } from '../../src/dialects/table.ts';
import { tokenCount } from '../../src/dialects/token-count.ts';
import type { JsonValue } from '../../src/json.ts';

const absurd: readonly JsonValue[] = [-1, 1.5, 1e18, 100_000_000, '5', true, [], {}];

describe('OpenAI’s figures', () => {
  const read = (usage: JsonValue) => callerDialects.openai.readUsage({ usage });

  it.each<[string, JsonValue, readonly [number, number, number]]>([
    ['of chat', { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }, [3, 0, 5]],
    ['of images', { input_tokens: 3, output_tokens: 5, total_tokens: 8 }, [3, 0, 5]],
    [
      'under both names',
      { prompt_tokens: 3, input_tokens: 3, completion_tokens: 5, output_tokens: 5 },
      [3, 0, 5],
    ],
    ['with zeros under the other names', { prompt_tokens: 3, input_tokens: 0 }, [3, 0, 0]],
    ['of a cache', { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 2 } }, [3, 2, 0]],
    [
      'of a cache beside the prompt',
      { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 9 } },
      [9, 9, 0],
    ],
    ['without details', { prompt_tokens: 3, prompt_tokens_details: null }, [3, 0, 0]],
    [
      'whose total has reasoning',
      { prompt_tokens: 3, completion_tokens: 5, total_tokens: 20 },
      [3, 0, 17],
    ],
    ['of zero', { prompt_tokens: 0, completion_tokens: 0 }, [0, 0, 0]],
  ])('%s', (_, usage, [inputTokens, cachedInputTokens, outputTokens]) => {
    expect(read(usage)).toEqual({ inputTokens, cachedInputTokens, outputTokens, images: 0 });
  });

  it('of Groq stand elsewhere', () => {
    const reply = { x_groq: { usage: { prompt_tokens: 3, completion_tokens: 5 } } };

    expect(callerDialects.openai.readUsage(reply)).toMatchObject({
      inputTokens: 3,
      outputTokens: 5,
    });
  });

  it.each(
    [null, {}, [], 'many', { cost: 1 }].map((usage) => [JSON.stringify(usage), usage]),
  )('are absent in %s, but images still count', (_, usage) => {
    const data = [{ b64_json: '' }, { b64_json: '' }];

    expect(callerDialects.openai.readUsage({ usage: usage ?? null })).toBe(undefined);
    expect(callerDialects.openai.readUsage({ usage: usage ?? null, data })).toMatchObject({
      images: 2,
    });
  });

  it('T45 are refused as soon as one is absurd', () => {
    const names = [
      'prompt_tokens',
      'completion_tokens',
      'input_tokens',
      'output_tokens',
      'total_tokens',
    ];
    for (const value of absurd) {
      for (const name of names) {
        expect(read({ prompt_tokens: 3, completion_tokens: 5, [name]: value })).toBe(undefined);
      }
      const details = { cached_tokens: value };
      expect(read({ prompt_tokens: 3, prompt_tokens_details: details })).toBe(undefined);
    }
  });
});

describe('Gemini’s figures', () => {
  const candidates = [{}];

  it.each<[string, JsonValue, readonly [number, number, number]]>([
    ['of a reply', { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 }, [3, 0, 5]],
    [
      'with thoughts',
      { promptTokenCount: 3, candidatesTokenCount: 5, thoughtsTokenCount: 7 },
      [3, 0, 12],
    ],
    ['with tools', { promptTokenCount: 3, toolUsePromptTokenCount: 4 }, [7, 0, 0]],
    ['with a cache', { promptTokenCount: 3, cachedContentTokenCount: 2 }, [3, 2, 0]],
  ])('%s', (_, usageMetadata, [inputTokens, cachedInputTokens, outputTokens]) => {
    const figures = { inputTokens, cachedInputTokens, outputTokens, images: 0 };

    expect(callerDialects.gemini.readUsage({ candidates, usageMetadata })).toEqual(figures);
    expect(callerDialects.gemini.readUsage([{ usageMetadata }, { candidates }])).toEqual(figures);
  });

  it('say nothing where they only name the traffic, unless nothing was said', () => {
    const usageMetadata = { trafficType: 'ON_DEMAND' };

    expect(callerDialects.gemini.readUsage({ candidates, usageMetadata })).toBe(undefined);
    expect(callerDialects.gemini.readUsage({ usageMetadata })).toMatchObject({ inputTokens: 0 });
    expect(callerDialects.gemini.readUsage({ candidates })).toBe(undefined);
  });

  it('T45 are refused as soon as one is absurd', () => {
    for (const value of absurd) {
      const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: value };

      expect(callerDialects.gemini.readUsage({ candidates, usageMetadata })).toBe(undefined);
    }
  });
});

describe('the count of what passed', () => {
  const frame = (content: string, end = '\n\n') =>
    Buffer.from(`data: {"choices":[{"delta":{"content":"${content}"}}]}${end}`);

  it('is a token for every event, and more where one is longer', () => {
    const counted = tokenCount();

    for (const content of ['a', 'b', 'a'.repeat(31)]) counted.add(frame(content));

    expect(counted.tokens()).toBe(3 + 10);
  });

  it('does not depend on blocks or line ends', () => {
    const contents = Array.from({ length: 9 }, (_, at) => 'x'.repeat(at));
    const counts = ['\n\n', '\r\r'].flatMap((end) => {
      const [apart, together] = [tokenCount(), tokenCount()];
      for (const content of contents) apart.add(frame(content, end));
      together.add(Buffer.concat(contents.map((content) => frame(content, end))));
      return [apart.tokens(), together.tokens()];
    });

    expect(new Set(counts).size).toBe(1);
  });

  it('leaves out comments and [DONE], and is 0 at first', () => {
    const counted = tokenCount();
    counted.add(Buffer.from(': ping\n\ndata: [DONE]\n\n'));

    expect(counted.tokens()).toBe(0);
  });

  it('has an event that lacks its line end', () => {
    const counted = tokenCount();
    counted.add(frame('a', ''));

    expect(counted.tokens()).toBe(1);
  });
});

describe('the last value of a member', () => {
  const name = Buffer.from('"reason"');

  it.each([
    ['a string', '{"reason":"a"}', 10],
    ['after space', '{"reason" : \r\n "a"}', 15],
    ['the last of several', '{"reason":null}{"reason":"a"}', 25],
    ['an object', '{"reason": {"a":1}}', 11],
    ['null', '{"reason":"a"}{"reason":null}', undefined],
    ['absent', '{"other":"a"}', undefined],
    ['a value of that name', '{"x":"reason"}', undefined],
    ['a name in a string', '{"x":"\\"reason\\":\\"a\\""}', undefined],
    ['at the very start', '"reason"', undefined],
  ])('%s', (_, text, at) => {
    expect(lastValueOf(Buffer.from(text), name)).toBe(at);
  });
});
