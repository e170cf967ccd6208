// suite: quick
/** Counts of usage are valid integers or missing; without usage, the relayed content is counted. */
import { describe, expect, it } from 'vitest';
import { lastValueOf } from '../../src/dialects/gemini/stream-record.ts';
import { type ContentCount, contentCount } from '../../src/dialects/taps/content-count.ts';
import { documentTokens } from '../../src/dialects/taps/document-tokens.ts';
import type { JsonValue } from '../../src/json.ts';
import { protocols } from '../../src/protocols/table.ts';

const noCounts: readonly JsonValue[] = [-1, 1.5, -1e18, '5', true, [], {}, null];
const none = (): number => 0;
/** Counts above the maximum, which are read as the maximum. */
const enormous: readonly JsonValue[] = [1e18, 1e300, Number.POSITIVE_INFINITY];

describe('OpenAI’s usage', () => {
  const read = (usage: JsonValue, reasoningOutsideCompletion = false) =>
    protocols.chat.relay.readUsage(
      { usage },
      { capabilities: { reasoningOutsideCompletion } },
      none,
    );

  it.each<[string, JsonValue, readonly [number, number, number]]>([
    ['of chat', { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 }, [3, 0, 5]],
    ['of images', { input_tokens: 3, output_tokens: 5, total_tokens: 8 }, [3, 0, 5]],
    [
      'under both names',
      { prompt_tokens: 3, input_tokens: 3, completion_tokens: 5, output_tokens: 5 },
      [3, 0, 5],
    ],
    ['with zeros under the other names', { prompt_tokens: 3, input_tokens: 0 }, [3, 0, 0]],
    [
      'with cached tokens',
      { prompt_tokens: 3, prompt_tokens_details: { cached_tokens: 2 } },
      [3, 2, 0],
    ],
    ['without details', { prompt_tokens: 3, prompt_tokens_details: null }, [3, 0, 0]],
    ['with a prompt and a total only', { prompt_tokens: 3, total_tokens: 20 }, [3, 0, 17]],
    ['with zeros', { prompt_tokens: 0, completion_tokens: 0 }, [0, 0, 0]],
  ])('%s', (_, usage, [inputTokens, cachedInputTokens, outputTokens]) => {
    expect(read(usage)).toEqual({ inputTokens, cachedInputTokens, outputTokens, images: 0 });
  });

  it('includes reasoning from the total if the channel says so, else contradicts itself', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 20 };

    expect(read(usage)).toMatchObject({ outputTokens: 5, remarks: { isInconsistent: true } });
    expect(read(usage, true)).toMatchObject({ inputTokens: 3, outputTokens: 17 });
  });

  it('is read from Groq’s x_groq', () => {
    const reply = { x_groq: { usage: { prompt_tokens: 3, completion_tokens: 5 } } };

    expect(protocols.chat.relay.readUsage(reply, {}, none)).toMatchObject({
      inputTokens: 3,
      outputTokens: 5,
    });
  });

  it.each(
    [null, {}, [], 'many', { cost: 1 }].map((usage) => [JSON.stringify(usage), usage]),
  )('is missing in %s, but images are still counted', (_, usage) => {
    const data = [{ b64_json: '' }, { b64_json: '' }];

    expect(protocols.chat.relay.readUsage({ usage: usage ?? null }, {}, none)).toBe(undefined);
    expect(protocols.chat.relay.readUsage({ usage: usage ?? null, data }, {}, none)).toMatchObject({
      images: 2,
    });
  });

  it('is read count by count: an invalid one does not affect the others', () => {
    const good = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };
    const expected = { inputTokens: 3, cachedInputTokens: 0, outputTokens: 5, images: 0 };
    for (const value of noCounts) {
      for (const name of ['total_tokens', 'input_tokens', 'output_tokens']) {
        expect([name, value, read({ ...good, [name]: value })]).toEqual([name, value, expected]);
      }
      const details = { cached_tokens: value };
      expect(read({ ...good, prompt_tokens_details: details })).toEqual(expected);
      const { prompt_tokens, completion_tokens } = good;
      expect(read({ prompt_tokens, completion_tokens: value })).toMatchObject({ outputTokens: 0 });
      expect(read({ prompt_tokens: value, completion_tokens })).toMatchObject({ inputTokens: 0 });
      expect(read({ prompt_tokens: value, completion_tokens: value })).toBe(undefined);
    }
  });

  it('above the maximum stays a number', () => {
    for (const value of enormous) {
      const usage = read({ prompt_tokens: value, completion_tokens: value, total_tokens: 8 });
      expect(usage?.inputTokens).toBeGreaterThan(1e12);
      expect(usage?.outputTokens).toBeGreaterThan(1e12);
    }
  });
});

describe('Gemini’s usage', () => {
  const candidates = [{}];

  it.each<[string, JsonValue, readonly [number, number, number]]>([
    ['of a reply', { promptTokenCount: 3, candidatesTokenCount: 5, totalTokenCount: 8 }, [3, 0, 5]],
    [
      'with thoughts',
      { promptTokenCount: 3, candidatesTokenCount: 5, thoughtsTokenCount: 7 },
      [3, 0, 12],
    ],
    [
      'with thoughts inside the candidates',
      {
        promptTokenCount: 533,
        candidatesTokenCount: 1337,
        thoughtsTokenCount: 217,
        totalTokenCount: 1870,
      },
      [533, 0, 1337],
    ],
    ['with tools', { promptTokenCount: 3, toolUsePromptTokenCount: 4 }, [7, 0, 0]],
    ['with cached tokens', { promptTokenCount: 3, cachedContentTokenCount: 2 }, [3, 2, 0]],
  ])('%s', (_, usageMetadata, [inputTokens, cachedInputTokens, outputTokens]) => {
    const counts = { inputTokens, cachedInputTokens, outputTokens, images: 0 };

    expect(protocols.native.relay.readUsage({ candidates, usageMetadata }, {}, none)).toMatchObject(
      counts,
    );
    expect(
      protocols.native.relay.readUsage([{ usageMetadata }, { candidates }], {}, none),
    ).toMatchObject(counts);
  });

  it('is missing if it has only a traffic type, unless the reply has no candidates', () => {
    const usageMetadata = { trafficType: 'ON_DEMAND' };

    expect(protocols.native.relay.readUsage({ candidates, usageMetadata }, {}, none)).toBe(
      undefined,
    );
    expect(protocols.native.relay.readUsage({ usageMetadata }, {}, none)).toMatchObject({
      inputTokens: 0,
    });
    expect(protocols.native.relay.readUsage({ candidates }, {}, none)).toBe(undefined);
  });

  it('is read count by count: an invalid one does not affect the others', () => {
    for (const value of noCounts) {
      const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: value };

      expect(protocols.native.relay.readUsage({ candidates, usageMetadata }, {}, none)).toEqual({
        inputTokens: 3,
        cachedInputTokens: 0,
        outputTokens: 0,
        images: 0,
      });
    }
  });
});

describe('the content of a reply without usage is counted', () => {
  const counts = (add: (count: ContentCount) => void): number => {
    const count = contentCount();
    add(count);
    return count.tokens();
  };
  const chunk = (delta: JsonValue) => ({ choices: [{ delta }] });
  const x = (bytes: number) => 'x'.repeat(bytes);

  it.each<[string, JsonValue, number]>([
    ['text', { content: x(100) }, 40],
    ['a refusal', { refusal: x(100) }, 40],
    ['arguments', { tool_calls: [{ function: { name: x(50), arguments: x(100) } }] }, 40],
    ['reasoning', { reasoning_content: x(100) }, 40],
    ['reasoning and text', { reasoning: x(100), content: x(50) }, 60],
    [
      'reasoning under each of its names once',
      {
        reasoning: x(100),
        reasoning_content: x(100),
        reasoning_details: [{ type: 'reasoning.text', text: x(100) }],
      },
      40,
    ],
    ['reasoning in details only', { reasoning_details: [{ summary: x(100) }] }, 40],
    ['no frame, role or empty text', { role: 'assistant', content: '' }, 0],
    ['encrypted content', { reasoning_details: [{ encrypted_content: x(100) }] }, 20],
    ['bytes, not characters', { content: '漢字' }, 3],
    ['an escape as the character it encodes', { content: '"\\\n'.repeat(10) }, 12],
    ['member names inside a text as text', { content: `"content":"${x(88)}"` }, 40],
  ])('%s', (_, delta, tokens) => {
    expect(counts((count) => count.add(chunk(delta)))).toBe(tokens);
  });

  it('equally with and without escapes of non-ASCII characters', () => {
    const texts = ['é漢😀', '\\u00e9\\u6f22\\ud83d\\ude00'].map((text) =>
      Buffer.from(text).toString('latin1'),
    );
    expect(
      texts.map((text) => counts((count) => count.addString(text, 0, text.length, ''))),
    ).toEqual([4, 4]);
    expect(counts((count) => count.add(chunk({ content: 'é漢😀' })))).toBe(4);
    const halves = ['é漢\ud83d', '\ude00'].map((content) => chunk({ content }));
    expect(counts((count) => count.add(halves))).toBe(4);
  });

  it('equally in many events and in one', () => {
    const one = counts((count) => count.add(chunk({ content: x(2_000) })));
    const many = counts((count) => {
      for (let at = 0; at < 40; at += 1) count.add(chunk({ content: x(50) }));
    });
    expect([one, many]).toEqual([800, 800]);
  });

  it('in Gemini’s text and thoughts', () => {
    const parts = [{ text: x(50), thought: true }, { text: x(50) }];
    expect(counts((count) => count.add({ candidates: [{ content: { parts } }] }))).toBe(40);
  });

  it('up to the point where a document was cut off', () => {
    const whole = JSON.stringify({ choices: [{ message: { content: x(100) } }] });
    const cut = Buffer.from(whole.slice(0, whole.indexOf('x') + 50));
    expect(documentTokens(cut)).toBe(20);
    expect(documentTokens(Buffer.from('<html>content":"</html>'.repeat(9)))).toBeLessThan(100);
    expect(documentTokens(Buffer.from('<html>busy</html>'))).toBe(0);
  });
});

it('cache writes and tool calls of the Responses API are read from a whole reply', () => {
  const usage = {
    input_tokens: 8_576,
    input_tokens_details: { cached_tokens: 100, cache_write_tokens: 4_418 },
    output_tokens: 52,
    output_tokens_details: { reasoning_tokens: 32 },
  };
  const reply = { output: [], usage, tool_usage: { web_search: { num_requests: 1 } } };

  expect(protocols.responses.relay.readUsage(reply, {}, none)).toMatchObject({
    ...{ inputTokens: 8_576, cachedInputTokens: 100, cacheWrite5mTokens: 4_418 },
    ...{ outputTokens: 52, reasoningTokens: 32, toolCalls: { web_search: 1 } },
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
