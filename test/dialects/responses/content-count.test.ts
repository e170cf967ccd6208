// suite: quick
/**
 * Without reported usage, the content of a Responses reply counts once, however often a stream
 * repeats it, and whatever of it is missing. Padding, sources and results of tools are free.
 */
import { describe, expect, it } from 'vitest';
import { parseEvents } from '../../../src/bytes/sse.ts';
import { responseCount } from '../../../src/dialects/openai/responses/content-count.ts';
import { documentTokens, replyTokens } from '../../../src/dialects/taps/document-tokens.ts';
import { isJsonObject, items, type JsonObject, member, parseJson } from '../../../src/json.ts';
import { responsesFixtures } from '../../support/recorded/responses-fixtures.ts';

const first = 'response.created';
const typeOf = (event: JsonObject): string => String(member(event, 'type'));

const streams = responsesFixtures()
  .filter(({ streamed, response }) => streamed && response !== undefined)
  .map(({ name, response }) => ({ name, events: eventsIn(response ?? new Uint8Array()) }))
  // One recording has several replies.
  .filter(({ events }) => events.filter((event) => typeOf(event) === first).length === 1);

function eventsIn(response: Uint8Array): readonly JsonObject[] {
  return [...parseEvents(response)]
    .map(({ data }) => parseJson(data ?? '') ?? null)
    .filter(isJsonObject);
}

function tokensOf(events: readonly JsonObject[]): number {
  const count = responseCount();
  for (const event of events) count.add(event);
  return count.tokens();
}

const isTerminal = (event: JsonObject): boolean =>
  /^response\.(?:completed|incomplete|failed)$/.test(typeOf(event));

describe('a stream counts the same', () => {
  const whole = streams.filter(({ events }) => {
    const last = events.findLast((event) => typeOf(event) === 'response.completed');
    return items(member(member(last, 'response'), 'output')).length > 0;
  });

  it.each(whole)('with every event or only some of its repetitions: $name', ({ events }) => {
    const all = tokensOf(events);
    const last = events.filter(isTerminal);

    expect(all).toBeGreaterThan(0);
    expect(tokensOf(last)).toBe(all);
    expect(tokensOf(events.filter((event) => !isTerminal(event)))).toBe(all);
    const items = events.filter((event) => typeOf(event) === 'response.output_item.done');
    expect(tokensOf(items)).toBe(all);
    expect(tokensOf(events.filter((event) => !typeOf(event).endsWith('.delta')))).toBe(all);
    expect(replyTokens(member(last[0], 'response') ?? null)).toBe(all);
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    expect(documentTokens(Buffer.from(text))).toBe(all);
  });

  const stable = streams.filter(({ name }) => !name.includes('rotating-ids'));

  it.each(stable)('without the places of its items: $name', ({ events }) => {
    const bare = events.map(({ output_index: _place, ...event }) => event);

    expect(tokensOf(bare)).toBe(tokensOf(events));
  });

  it.each(streams)('without padding, log probabilities and echoes of the request: $name', (one) => {
    const padded = one.events.map((event) => {
      const response = member(event, 'response');
      return {
        ...event,
        obfuscation: 'x'.repeat(1_000),
        sequence_number: 123_456,
        ...(isJsonObject(response)
          ? { response: { ...response, instructions: 'y'.repeat(9_000), tools: [{ a: 'z' }] } }
          : {}),
      };
    });

    expect(tokensOf(padded)).toBe(tokensOf(one.events));
  });
});

it.each(streams)('the count grows with the events, and never shrinks: $name', ({ events }) => {
  const count = responseCount();
  let before = 0;
  for (const event of events) {
    const hasContent = count.add(event);
    const after = count.tokens();
    expect(after).toBeGreaterThanOrEqual(before);
    if (typeOf(event).endsWith('_text.delta')) expect(hasContent).toBe(true);
    if (/^response\.(?:created|in_progress)$/.test(typeOf(event))) expect(hasContent).toBe(false);
    before = after;
  }
});

const item = (value: JsonObject): JsonObject => ({
  type: 'response.output_item.done',
  output_index: 0,
  item: value,
});
const text = 'x'.repeat(1_000);

it.each<[what: string, item: JsonObject, tokens: number]>([
  ['a call', { type: 'function_call', name: 'f', arguments: text }, 400],
  ['a custom call', { type: 'custom_tool_call', name: 'f', input: text }, 400],
  ['code', { type: 'code_interpreter_call', code: text, outputs: [{ logs: text }] }, 400],
  ['a patch', { type: 'apply_patch_call', operation: { type: 'create_file', diff: text } }, 400],
  ['a refusal', { type: 'message', content: [{ type: 'refusal', refusal: text }] }, 400],
  ['an image', { type: 'image_generation_call', result: 'AAAA', quality: 'low' }, 1_290],
  ['a call of a server', { type: 'mcp_call', arguments: text, output: text, name: 'f' }, 400],
  ['the tools of a server', { type: 'mcp_list_tools', tools: [{ name: text }] }, 0],
  ['results', { type: 'file_search_call', queries: ['abcde'], results: [{ text }] }, 2],
  [
    'a search',
    {
      type: 'web_search_call',
      action: { type: 'search', query: 'abcde', queries: ['abcde'], sources: [{ url: text }] },
    },
    2,
  ],
  ['an unknown item', { type: 'new_item', anything: { else: text } }, 400],
  ['encrypted reasoning', { type: 'reasoning', summary: [], encrypted_content: text }, 200],
  [
    'reasoning in three forms, by its text',
    {
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'abcde' }],
      content: [{ type: 'reasoning_text', text: 'abcdefghij' }],
      encrypted_content: text,
    },
    4,
  ],
  [
    'a summary of encrypted reasoning, by the larger',
    { type: 'reasoning', summary: [{ type: 'summary_text', text }], encrypted_content: 'AAAA' },
    400,
  ],
  ['a long name', { type: 'function_call', name: text, arguments: '' }, 375],
])('counts %s', (_what, value, tokens) => {
  expect(Math.round(tokensOf([item(value)]))).toBeLessThanOrEqual(tokens + 5);
  expect(tokensOf([item(value)])).toBeGreaterThanOrEqual(tokens);
  expect(replyTokens({ object: 'response', output: [value] })).toBe(tokensOf([item(value)]));
});

it('counts deltas by their source text like parsed ones', () => {
  const delta = { type: 'response.output_text.delta', output_index: 0, delta: 'héllo\n' };
  const source = Buffer.from(JSON.stringify(delta)).toString('latin1');
  const start = source.indexOf('"delta":"') + '"delta":"'.length;
  const count = responseCount();

  count.add(delta);
  for (let more = 0; more < 99; more += 1) {
    count.addString(source, start, source.indexOf('"', start));
  }

  expect(count.tokens()).toBe(tokensOf(Array.from({ length: 100 }, () => delta)));
});

it('counts arguments that come without deltas', () => {
  const done = {
    type: 'response.function_call_arguments.done',
    item_id: 'fc_1',
    output_index: 0,
    arguments: text,
  };

  expect(tokensOf([done])).toBe(400);
  expect(tokensOf([done, item({ type: 'function_call', name: 'f', arguments: text })])).toBe(400);
});
