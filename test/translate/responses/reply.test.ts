// suite: quick
/** Replies to Responses callers: what each event becomes. */
import { describe, expect, it } from 'vitest';
import { openEnvelope } from '../../../src/canonical/envelope.ts';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { writeReply } from '../../../src/dialects/openai/responses/server/write-reply.ts';
import { member } from '../../../src/json.ts';
import { brokenLaws } from '../../support/responses-laws.ts';
import { call, described, each, finish, refusal, signed, text, thought } from './brief.ts';
import { someUsage } from './events.ts';
import {
  countedHead,
  outputOf,
  plainContext,
  streamOf,
  summaryContext,
  typesOf,
  wholeOf,
} from './writer.ts';

describe('reasoning', () => {
  it.each([
    [
      'that is signed has its text in the envelope, and in a summary if one is wanted',
      [thought('Well, '), thought('so.'), signed('S'), text('Yes.')],
      ['reasoning:  +thinking:S', 'message: Yes.'],
      ['reasoning: Well, so. +thinking:S', 'message: Yes.'],
    ],
    [
      'that nobody signed is only shown',
      [thought('Well.'), text('Yes.')],
      ['message: Yes.'],
      ['reasoning: Well.', 'message: Yes.'],
    ],
    [
      'that is a signature alone is an item',
      [signed('S'), text('Yes.')],
      ['reasoning:  +thinking:S', 'message: Yes.'],
      ['reasoning:  +thinking:S', 'message: Yes.'],
    ],
    [
      'between calls stays there',
      [thought('A'), signed('S'), ...call('weather', '{}', 0), thought('B'), signed('T')],
      ['reasoning:  +thinking:S', 'function_call: {}', 'reasoning:  +thinking:T'],
      ['reasoning: A +thinking:S', 'function_call: {}', 'reasoning: B +thinking:T'],
    ],
  ] as const)('%s', (_, events, hidden, shown) => {
    expect(described(wholeOf(events))).toEqual(hidden);
    expect(described(wholeOf(events, summaryContext))).toEqual(shown);
  });

  it('that is encrypted is an item of its own, which ends the one before it', () => {
    const providerData = { provider: 'anthropic', kind: 'encrypted', data: 'X' } as const;
    const events = [
      thought('Plain.'),
      { type: 'reasoning', choice: 0, text: '', providerData } as const,
      text('Yes.'),
    ];

    expect(described(wholeOf(events))).toEqual(['reasoning:  +redacted:X', 'message: Yes.']);
    expect(described(wholeOf(events, summaryContext))).toEqual([
      'reasoning: Plain.',
      'reasoning:  +redacted:X',
      'message: Yes.',
    ]);
  });

  it('before a signed call gets its signature; other signed calls have an item before them', () => {
    const providerData = { provider: 'gemini', kind: 'signature', data: 'S' } as const;
    const [begin, end] = call('weather', '{}');
    const events = [{ ...begin, providerData }, end] as const;

    expect(described(wholeOf(events))).toEqual(['reasoning:  +call:S', 'function_call: {}']);
    expect(described(wholeOf([thought('Hm.'), ...events], summaryContext))).toEqual([
      'reasoning: Hm. +call:S',
      'function_call: {}',
    ]);
  });

  it('is not an answer: a message follows it', () => {
    expect(described(wholeOf([thought('Well.'), signed('S')], summaryContext))).toEqual([
      'reasoning: Well. +thinking:S',
      'message: ',
    ]);
  });

  it('signatures of texts come after their texts', () => {
    const providerData = { provider: 'gemini', kind: 'signature', data: 'S' } as const;
    const signedText = { type: 'text', choice: 0, text: 'One.', providerData } as const;
    const other = { ...signedText, text: '', providerData: { ...providerData, data: 'T' } };

    expect(described(wholeOf([signedText, text('Two.'), other, other]))).toEqual([
      'message: One.',
      'reasoning:  +text:S',
      'message: Two.',
      'reasoning:  +text:T',
      'reasoning:  +text:T',
    ]);
  });

  it('that its upstream needs back is sealed although nobody signed it', () => {
    const [item] = outputOf(
      wholeOf([thought('Well.'), text('Yes.')], plainContext, { needsReasoningBack: true }),
    );

    expect(openEnvelope(String(member(item, 'encrypted_content')))).toEqual({
      provider: 'any',
      kind: 'thinking',
      data: '',
      text: 'Well.',
      callId: undefined,
    });
  });
});

describe('a call', () => {
  it.each([
    ['agents__spawn', '{"a":1}', { type: 'function_call', namespace: 'agents', name: 'spawn' }],
    ['undeclared', '{}', { type: 'function_call', name: 'undeclared' }],
    ['weather', '', { type: 'function_call', name: 'weather', arguments: '{}' }],
    ['patch', '{"input":"a\\nb"}', { type: 'custom_tool_call', name: 'patch', input: 'a\nb' }],
    ['patch', 'plain text', { type: 'custom_tool_call', name: 'patch', input: 'plain text' }],
    ['patch', '{"input":1}', { type: 'custom_tool_call', name: 'patch', input: '{"input":1}' }],
    [
      'functions__exec',
      '{"input":"ls"}',
      { type: 'custom_tool_call', namespace: 'functions', name: 'exec', input: 'ls' },
    ],
  ])('of %s with %s is in the caller’s terms', (name, argumentText, item) => {
    const [written] = outputOf(wholeOf(call(name, argumentText)));

    expect(written).toMatchObject({ ...item, call_id: 'call_0', status: 'completed' });
  });

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
    ['a stop', [text('a'), finish('stop')], 'completed', undefined, ['message: a']],
    ['a length', [text('a'), finish('length')], 'incomplete', 'max_output_tokens', ['message: a']],
    ['a length without text', [finish('length')], 'incomplete', 'max_output_tokens', ['message: ']],
    [
      'a filter after text',
      [text('a'), finish('content_filter')],
      'incomplete',
      'content_filter',
      ['message: a'],
    ],
    [
      'a refusal that the limit cut',
      [refusal('I can'), finish('length')],
      'incomplete',
      'max_output_tokens',
      ['message: I can'],
    ],
    [
      'a filter with an explanation',
      [text('a'), finish('content_filter', 'Not this.')],
      'completed',
      undefined,
      ['message: a', 'message: Not this.'],
    ],
    [
      'a filter without output',
      [thought('a'), finish('content_filter')],
      'completed',
      undefined,
      ['message: Reply blocked: content_filter'],
    ],
    [
      'a refusal that was also filtered',
      [refusal('No.'), finish('content_filter')],
      'completed',
      undefined,
      ['message: No.'],
    ],
    [
      'a refusal after text, in a separate message',
      [text('a'), refusal('No'), refusal('.'), finish('stop')],
      'completed',
      undefined,
      ['message: a', 'message: No.'],
    ],
    ['nothing', [finish('stop')], 'completed', undefined, ['message: ']],
    ['reasoning alone', [thought('a'), finish('stop')], 'completed', undefined, ['message: ']],
    [
      'a blocked prompt',
      [{ type: 'blocked', reason: 'SAFETY', message: undefined }],
      'completed',
      undefined,
      ['message: Prompt blocked: SAFETY'],
    ],
  ] as const)('of %s', (_, events, status, why, items) => {
    const { response } = streamOf(each(events));

    expect(member(response, 'status')).toBe(status);
    expect(member(member(response, 'incomplete_details'), 'reason')).toBe(why);
    expect(described(response)).toEqual(items);
    expect(response).toEqual(wholeOf(events));
  });

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
      model: 'some/model:1',
      output: [],
      service_tier: null,
      metadata: { a: 'line\u2028end' },
      previous_response_id: null,
      temperature: null,
      tool_choice: 'auto',
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

  it('lists what it can’t express', () => {
    const events: readonly ContentEvent[] = [
      { type: 'media', choice: 0, mimeType: 'audio/wav', data: 'AAAA' },
      { type: 'media_url', choice: 0, url: 'https://a.example/b.png' },
      { type: 'provider_specific', choice: 0, provider: 'gemini', name: 'ratings', value: {} },
      finish('other', 'Why.'),
    ];

    const { dropped } = writeReply(events, countedHead(), plainContext);

    expect(dropped).toEqual(['audio', 'images', 'ratings', 'finish_message']);
  });

  it('has only the first choice', () => {
    const other: ContentEvent = { type: 'text', choice: 1, text: 'other' };

    expect(described(wholeOf([other, text('a')]))).toEqual(['message: a']);
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
