// suite: quick
/** Whole and streamed Anthropic replies become events without loss or additions. */
import { describe, expect, it } from 'vitest';
import { type JsonValue, member, parseJson } from '../../../src/json.ts';
import { documentsOf } from '../../support/codec.ts';
import { fixture } from '../../support/recorded/fixtures.ts';
import { begin, changed, folded, json, opened, streamEvents, target } from './client.ts';

describe('a whole reply', () => {
  it('passes on blocks of server tools separately from the text', () => {
    const events = begin().readReply(json(fixture('anthropic/v-web-search')));

    const types = folded(events).own.map((block) => member(block, 'type'));
    expect(new Set(types)).toEqual(new Set(['server_tool_use', 'web_search_tool_result']));
  });

  it('cites the sources of its text', () => {
    const events = begin().readReply(json(fixture('anthropic/v-web-search')));

    const shown = folded(events).text;
    const cited = events.flatMap((event) => (event.type === 'citations' ? event.citations : []));
    expect(cited[0]?.url).toBe('https://acecomments.mu.nu/?post=411647');
    expect(shown.slice(cited[0]?.start, cited[0]?.end)).toMatch(/^Caroline Ellison/);
  });

  it('counts a compaction, and an attempt that another model took over', () => {
    const compacted = begin().readReply(json(fixture('anthropic/v-compaction')));
    const takenOver = begin().readReply(json(fixture('anthropic/v-fallback')));

    expect(folded(compacted).usage).toMatchObject({ inputTokens: 61_067, outputTokens: 1_912 });
    expect(folded(takenOver).usage).toMatchObject({ inputTokens: 820, outputTokens: 264 });
  });

  it('without content and stop reason is unusable', () => {
    for (const reply of [null, {}, [], 'text', { content: 'text' }]) {
      expect(begin().readReply(reply)).toEqual([
        { type: 'unusable', reason: 'upstream_empty_response' },
      ]);
    }
  });
});

describe('the finish of a reply', () => {
  it('has the explanation of a refusal', () => {
    const events = begin().readReply(json(fixture('anthropic/v-refusal')));

    const finish = events.find(({ type }) => type === 'finish');
    expect(finish).toMatchObject({
      reason: 'content_filter',
      message: expect.stringContaining('restrictions on violative cyber content'),
    });
  });
});

describe('a stream', () => {
  it('with a repeated message_start emits one start event', () => {
    const documents = documentsOf(fixture('anthropic/v-stream-dup-message-start').response);

    const events = streamEvents(documents);

    expect(events.filter(({ type }) => type === 'start')).toHaveLength(1);
    expect(folded(events)).toMatchObject({ text: 'Hello, World!', finish: ['stop'] });
    expect(folded(events).usage).toMatchObject({ inputTokens: 17, outputTokens: 227 });
  });

  it('takes the input count from message_delta, except members that are null', () => {
    const start = { input_tokens: 5, cache_read_input_tokens: 40, output_tokens: 1 };
    const end = { input_tokens: 6, cache_read_input_tokens: null, output_tokens: 9 };

    const events = streamEvents([
      { type: 'message_start', message: { id: 'msg_1', usage: start } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: end },
    ]);

    expect(folded(events).usage).toMatchObject({ inputTokens: 46, outputTokens: 9 });
  });

  it.each<[string, JsonValue, string]>([
    ['nothing', {}, ''],
    ['what its start held', { city: 'Paris' }, '{"city":"Paris"}'],
  ])('calls with %s if no fragment of the arguments was received', (_, input, json) => {
    const events = streamEvents([
      opened(0, { type: 'tool_use', id: 'toolu_1', name: 'look', input }),
      changed(0, { type: 'input_json_delta', partial_json: '' }),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
    ]);

    expect(folded(events).calls).toEqual([{ id: 'toolu_1', name: 'look', json }]);
    expect(folded(events).finish).toEqual(['tool_calls']);
  });

  it('numbers calls from 0 without gaps, whatever is between them', () => {
    const events = streamEvents([
      opened(0, { type: 'text', text: 'So.' }),
      { type: 'content_block_stop', index: 0 },
      opened(1, { type: 'tool_use', id: 'a', name: 'look', input: {} }),
      { type: 'content_block_stop', index: 1 },
      opened(2, { type: 'thinking', thinking: '' }),
      opened(3, { type: 'tool_use', id: 'b', name: 'look', input: {} }),
    ]);

    const begins = events.filter((event) => event.type === 'tool_begin');
    expect(begins.map(({ call }) => call)).toEqual([0, 1]);
    expect(events.filter(({ type }) => type === 'tool_end')).toHaveLength(2);
  });

  it('gives the input of the reply tool as text', () => {
    const documents = documentsOf(fixture('anthropic/v-stream-json-tool').response);
    const schema = { type: 'object', properties: { elements: { type: 'array' } } };
    const format = {
      type: 'json_schema',
      name: undefined,
      description: undefined,
      schema,
      strict: undefined,
    } as const;
    const exchange = begin({ format }, target('claude-haiku-4-5', { structuredOutput: 'none' }));

    const events = streamEvents(documents, exchange);

    expect(folded(events)).toMatchObject({ calls: [], finish: ['stop'] });
    expect(parseJson(folded(events).text)).toMatchObject({
      elements: [{ location: 'San Francisco', temperature: 58, condition: 'sunny' }],
    });
  });

  it('keeps unknown blocks complete and out of the text', () => {
    const events = streamEvents([
      opened(0, { type: 'new_thing', note: 'a' }),
      changed(0, { type: 'text_delta', text: 'not to be seen' }),
      changed(0, { type: 'note_delta', note: 'b' }),
      changed(0, { type: 'input_json_delta', partial_json: '{"x":' }),
      changed(0, { type: 'input_json_delta', partial_json: '1}' }),
      { type: 'content_block_stop', index: 0 },
      { type: 'message_stop' },
    ]);

    const block = { type: 'new_thing', note: 'ab', text: 'not to be seen', input: { x: 1 } };
    expect(folded(events)).toMatchObject({ text: '', own: [block] });
  });

  it('is complete after its stop reason or message_stop, and ignores later events', () => {
    const byReason = begin().readStream();
    const byStop = begin().readStream();

    byReason.read({ type: 'message_delta', delta: { stop_reason: null } });
    expect(byReason.complete()).toBe(false);
    byReason.read({ type: 'message_delta', delta: { stop_reason: 'end_turn' } });
    byStop.read({ type: 'ping' });
    expect(byStop.complete()).toBe(false);
    byStop.read({ type: 'message_stop' });

    expect(byReason.complete()).toBe(true);
    expect(byStop.complete()).toBe(true);
    expect(byStop.read(opened(0, { type: 'text', text: 'late' }))).toEqual([]);
  });
});
