// suite: quick
/** Replies to Responses callers: what each event becomes. */
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { member } from '../../../src/json.ts';
import { brokenLaws } from '../../support/laws/responses-laws.ts';
import { call, described, each, finish, text, thought } from './brief.ts';
import { someUsage } from './events.ts';
import { outputOf, plainContext, streamOf, summaryContext, typesOf, wholeOf } from './writer.ts';

describe('a call', () => {
  it.each([
    ['length', '{"a":1', 'max_output_tokens', ['message: ']],
    ['length', '', 'max_output_tokens', ['message: ']],
    ['length', '{"a":1}', 'max_output_tokens', ['function_call: {"a":1}']],
    ['stop', '{"a":1', 'max_output_tokens', ['message: ']],
    ['stop', '{a:1', undefined, ['function_call: {a:1']],
    ['content_filter', '{"a":1', 'content_filter', ['message: Reply blocked: content_filter']],
  ] as const)('that ends on %s with %s may have been cut', (reason, argumentText, why, items) => {
    const events = [...call('weather', argumentText), finish(reason)];

    const { events: written, response } = streamOf(each(events));

    expect(described(response)).toEqual(items);
    expect(member(member(response, 'incomplete_details'), 'reason')).toBe(why);
    const ended = typesOf(written).includes('function_call_arguments.done');
    expect(ended).toBe(items[0].startsWith('function_call'));
  });

  it.each([
    ['{"a":1', ['message: !']],
    ['', ['function_call: {}', 'message: !']],
    ['{a:1', ['function_call: {a:1', 'message: !']],
  ])('with %s that anything follows is cut if more could have come', (argumentText, items) => {
    const events = [...call('weather', argumentText), text('!'), finish('length')];

    expect(described(wholeOf(events))).toEqual(items);
  });

  it('that a filter cut is not in a complete reply, as OpenAI’s SDK requires', () => {
    const events = [...call('weather', '{"a":1'), finish('content_filter', 'Not this.')];

    const { events: written, response } = streamOf(each(events));

    expect(member(response, 'status')).toBe('incomplete');
    expect(described(response)).toEqual(['message: Not this.']);
    expect(brokenLaws(written)).toEqual([]);
  });
});

describe('the end', () => {
  it.each([
    [text('a'), 'message'],
    [thought('a'), 'reasoning'],
  ])('of a length leaves the open item incomplete', (event, type) => {
    const response = wholeOf([event, finish('length')], summaryContext);

    expect(outputOf(response)[0]).toMatchObject({ type, status: 'incomplete' });
  });
});

describe('a response object', () => {
  it('repeats the request, the large members only at the end', () => {
    const { events, response } = streamOf([[text('a')]]);

    const [created] = events;
    expect(member(created?.data, 'response')).toEqual({
      id: 'resp_tg_n1',
      object: 'response',
      created_at: 1_795_177_645,
      status: 'in_progress',
      background: false,
      error: null,
      incomplete_details: null,
      max_output_tokens: null,
      max_tool_calls: null,
      model: 'some/model:1',
      output: [],
      service_tier: null,
      metadata: { a: 'line\u2028end' },
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      temperature: null,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      top_logprobs: 0,
      top_p: null,
      truncation: 'disabled',
      user: null,
      store: false,
      usage: null,
    });
    expect(response).toMatchObject({ instructions: 'Be brief.', tools: [{ name: 'weather' }] });
  });

  it('states the usage with both details, and zero for a blocked prompt', () => {
    expect(member(wholeOf([{ type: 'usage', usage: someUsage }]), 'usage')).toEqual({
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 3, cache_write_tokens: 0 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 18,
    });
    const blocked = wholeOf([{ type: 'blocked', reason: 'SAFETY', message: undefined }]);
    expect(member(blocked, 'usage')).toMatchObject({ total_tokens: 0 });
    expect(member(wholeOf([text('a')]), 'usage')).toBeNull();
  });

  it.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
    [true, undefined, false],
  ])('states whether it is kept: caller %s, gateway %s', (stores, keepsOutput, store) => {
    const context = { ...plainContext, stores };
    const head = keepsOutput === undefined ? {} : { keepsOutput };

    expect(member(wholeOf([text('a')], context, head), 'store')).toBe(store);
  });

  it('has an image as the item of OpenAI’s image tool', () => {
    const image: ContentEvent = { type: 'media', choice: 0, mimeType: 'image/png', data: 'AAAA' };
    const { events, response } = streamOf([[image]]);

    expect(described(response)).toEqual(['image_generation_call: AAAA']);
    expect(typesOf(events).slice(2, -1)).toEqual([
      'output_item.added',
      'image_generation_call.completed',
      'output_item.done',
    ]);
  });
});
