// suite: quick
/** Streams of OpenAI and compatible vendors: the reply is the same however it is chunked. */

import { describe, expect, it } from 'vitest';
import { openaiClient } from '../../../src/dialects/openai/client/codec.ts';
import type { JsonValue } from '../../../src/json.ts';
import { documentsOf } from '../../support/codec.ts';
import { fixture } from '../../support/recorded/fixtures.ts';
import {
  callsOf,
  chunk,
  contentRequest,
  eventsOfStream,
  exchange,
  finishesOf,
  reasoningOf,
  target,
  textOf,
} from './client.ts';

function calling(...calls: readonly JsonValue[]): JsonValue {
  return chunk({ tool_calls: calls });
}

const done = chunk({}, 'tool_calls');

function callsIn(...chunks: readonly JsonValue[]) {
  const calls = callsOf(eventsOfStream([...chunks, done]));
  return calls.map(({ id, name, arguments: json }) => ({ id, name, json }));
}

const madeUp = expect.stringMatching(/^call_[A-Za-z0-9]{24}$/);

describe('calls in pieces', () => {
  it('with one index are one call', () => {
    const recorded = documentsOf(
      Buffer.from(fixture('openai-chat/stream-tools.1').response).toString(),
    );

    const events = eventsOfStream(recorded);

    expect(callsOf(events)).toMatchObject([
      {
        call: 0,
        id: 'call_P9Ayqu3UQNYuTBVAg2sLimh9',
        name: 'get_current_weather',
        arguments: '{"location":"San Francisco"}',
      },
    ]);
  });

  it('with an index that starts at 1 leave no gap', () => {
    const recorded = documentsOf(
      Buffer.from(fixture('openai-compat/anthropic-fallback-tool-call').response).toString(),
    );

    expect(callsOf(eventsOfStream(recorded))).toMatchObject([
      { call: 0, id: 'toolu_sanitized', arguments: '{"path": "a.txt"}' },
    ]);
  });

  it('may be interleaved', () => {
    const calls = callsIn(
      calling({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }),
      calling({ index: 1, id: 'b', function: { name: 'g', arguments: '{"y"' } }),
      calling(
        { index: 0, function: { arguments: ':1}' } },
        { index: 1, function: { arguments: ':2}' } },
      ),
    );

    expect(calls).toEqual([
      { id: 'a', name: 'f', json: '{"x":1}' },
      { id: 'b', name: 'g', json: '{"y":2}' },
    ]);
  });

  it('with index 0 again and another id are another call', () => {
    const calls = callsIn(
      calling({ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }),
      calling({ index: 0, id: 'b', function: { name: 'f', arguments: '{"z"' } }),
      calling({ index: 0, function: { arguments: ':3}' } }),
    );

    expect(calls).toEqual([
      { id: 'a', name: 'f', json: '{}' },
      { id: 'b', name: 'f', json: '{"z":3}' },
    ]);
  });

  it('with index 0 again and no id are another call after complete arguments', () => {
    const calls = callsIn(
      calling({ index: 0, id: '', function: { name: 'f', arguments: '{"a":1}' } }),
      calling({ index: 0, id: '', function: { name: 'f', arguments: '{"a":2}' } }),
      calling({ index: 0, id: '', function: { name: 'g', arguments: '' } }),
    );

    expect(calls).toEqual([
      { id: madeUp, name: 'f', json: '{"a":1}' },
      { id: madeUp, name: 'f', json: '{"a":2}' },
      { id: madeUp, name: 'g', json: '' },
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(3);
  });

  it('without an index start a new call with a new name or id, else continue the last', () => {
    const calls = callsIn(
      calling({ id: 'a', function: { name: 'f', arguments: '{"x":' } }),
      calling({ function: { arguments: '1}' } }),
      calling({ id: 'b', function: { name: 'f', arguments: '{}' } }),
      calling({ function: { name: 'g', arguments: '{}' } }),
    );

    expect(calls).toEqual([
      { id: 'a', name: 'f', json: '{"x":1}' },
      { id: 'b', name: 'f', json: '{}' },
      { id: madeUp, name: 'g', json: '{}' },
    ]);
  });

  it('without an index are separate calls in one delta', () => {
    const calls = callsIn(
      calling(
        { id: '', function: { name: 'f', arguments: '{"a":1}' } },
        { id: '', function: { name: 'f', arguments: '{"a":2}' } },
      ),
    );

    expect(calls.map(({ json }) => json)).toEqual(['{"a":1}', '{"a":2}']);
  });

  it('have their name joined if it is split, but not if it is repeated', () => {
    const pieces = callsIn(
      calling({ index: 0, id: 'a', function: { name: 'get_', arguments: '' } }),
      calling({ index: 0, function: { name: 'weather', arguments: '{}' } }),
    );
    const repeated = callsIn(
      calling({ index: 0, id: 'a', function: { name: 'f', arguments: '{"x"' } }),
      calling({ index: 0, id: 'a', function: { name: 'f', arguments: ':{"y":' } }),
      calling({ index: 0, id: 'a', function: { name: 'f', arguments: '1}}' } }),
    );

    expect(pieces).toEqual([{ id: 'a', name: 'get_weather', json: '{}' }]);
    expect(repeated).toEqual([{ id: 'a', name: 'f', json: '{"x":{"y":1}}' }]);
  });

  it('may have the id after the name', () => {
    const calls = callsIn(
      calling({ index: 0, function: { name: 'f' } }),
      calling({ index: 0, id: 'late', function: { arguments: '{}' } }),
    );

    expect(calls).toEqual([{ id: 'late', name: 'f', json: '{}' }]);
  });

  it('are held back until the end for callers that take them together', () => {
    const reader = exchange().readStream({ holdsCalls: true });

    const early = reader.read(
      chunk({
        reasoning_content: 'Hm',
        content: 'Wait',
        tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '{}' } }],
      }),
    );

    expect(early.map(({ type }) => type)).toEqual(['start', 'reasoning', 'text']);
    reader.read(done);
    expect(reader.end().map(({ type }) => type)).toEqual(['tool_begin', 'tool_end', 'finish']);
  });
});

describe('other contents of chunks', () => {
  it("Azure's first chunk without choices has no event, not even the start", () => {
    const recorded = documentsOf(
      Buffer.from(fixture('openai-chat/azure-stream.1').response).toString(),
    );
    const reader = exchange().readStream();

    expect(reader.read(recorded[0] ?? null)).toEqual([]);
    expect(reader.read(recorded[1] ?? null)).toMatchObject([
      { type: 'start', model: 'gpt-35-turbo' },
    ]);
  });

  it('xAI counts reasoning outside the completion', () => {
    const recorded = documentsOf(
      Buffer.from(fixture('openai-compat/xai-tool-call-stream').response).toString(),
    );

    const contentExchange = openaiClient.begin(
      contentRequest({}),
      target({ reasoningOutsideCompletion: true }),
    );
    const usage = eventsOfStream(recorded, contentExchange).filter(({ type }) => type === 'usage');

    expect(usage).toMatchObject([
      {
        usage: {
          inputTokens: 307,
          outputTokens: 253,
          reasoningTokens: 227,
          cachedInputTokens: 306,
        },
      },
    ]);
  });

  it('usage is read in every location', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const locations: readonly JsonValue[] = [
      { choices: [], usage },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage }] },
      { choices: [], x_groq: { usage } },
    ];

    for (const location of locations) {
      const events = eventsOfStream([chunk({ content: 'Hi' }), location]);

      expect(events.filter(({ type }) => type === 'usage')).toHaveLength(1);
    }
  });

  it('reasoning sent under both names at once is read once', () => {
    const events = eventsOfStream([
      chunk({ reasoning_content: 'So', reasoning: 'So' }),
      chunk({
        reasoning: ' it is',
        reasoning_details: [{ type: 'reasoning.text', text: ' it is' }],
      }),
      chunk({ reasoning_details: [{ type: 'reasoning.text', text: 'So it is', signature: 's' }] }),
      chunk({ content: 'Yes' }, 'stop'),
    ]);

    expect(reasoningOf(events)).toBe('So it is');
    expect(events.filter((event) => event.type === 'reasoning' && event.providerData)).toHaveLength(
      1,
    );
  });

  it('a message repeated in full after its deltas is not read again', () => {
    const whole = { content: 'Hello', tool_calls: [] };
    const events = eventsOfStream([
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      { choices: [{ index: 0, message: whole, finish_reason: 'stop' }] },
    ]);

    expect(textOf(events)).toBe('Hello');
    expect(finishesOf(events)).toMatchObject([{ reason: 'stop' }]);
  });

  it('calls repeated in full after their deltas are not read again', () => {
    const call = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } };
    const events = eventsOfStream([
      calling(call),
      { choices: [{ index: 0, message: { tool_calls: [call] }, finish_reason: 'tool_calls' }] },
    ]);

    expect(callsOf(events)).toHaveLength(1);
  });

  it('a whole message instead of deltas is read', () => {
    const events = eventsOfStream([
      { choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }] },
    ]);

    expect(textOf(events)).toBe('Hello');
  });

  it('choices finish in order, each once, after all content', () => {
    const events = eventsOfStream([
      chunk({ content: 'b' }, null, 1),
      chunk({ content: 'a' }, 'stop', 0),
      chunk({}, 'length', 1),
      { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } },
    ]);

    expect(events.slice(-2)).toMatchObject([
      { type: 'finish', choice: 0, reason: 'stop' },
      { type: 'finish', choice: 1, reason: 'length' },
    ]);
    expect(finishesOf(events)).toHaveLength(2);
  });

  it('a stream is complete when every choice that was seen has finished', () => {
    const reader = exchange().readStream();

    expect(reader.complete()).toBe(false);
    reader.read(chunk({ content: 'a' }, 'stop', 0));
    expect(reader.complete()).toBe(true);
    reader.read(chunk({ content: 'b' }, null, 1));
    expect(reader.complete()).toBe(false);
    reader.read(chunk({}, 'stop', 1));
    expect(reader.complete()).toBe(true);
  });

  it('a stream without content is unusable', () => {
    expect(eventsOfStream([])).toEqual([{ type: 'unusable', reason: 'upstream_empty_response' }]);
  });

  it('streamed audio is raw PCM', () => {
    const contentExchange = exchange({ streamed: true });

    const events = eventsOfStream([chunk({ audio: { data: 'AAAA' } }, 'stop')], contentExchange);

    expect(events).toContainEqual({
      type: 'media',
      choice: 0,
      mimeType: 'audio/pcm;rate=24000',
      data: 'AAAA',
    });
  });
});
