/** Streams of OpenAI and its like: whatever the chunks are, the reply is the same. */

import { describe, expect, it } from 'vitest';
import { openaiClient } from '../../src/dialects/openai/client/codec.ts';
import type { JsonValue } from '../../src/json.ts';
import { fixture } from '../support/fixtures.ts';
import {
  callsOf,
  chunk,
  contentRequest,
  documentsOf,
  eventsOfStream,
  exchange,
  finishesOf,
  reasoningOf,
  target,
  textOf,
} from './openai-client-support.ts';

function calling(...calls: readonly JsonValue[]): JsonValue {
  return chunk({ tool_calls: calls });
}

const done = chunk({}, 'tool_calls');

function callsIn(...chunks: readonly JsonValue[]) {
  const calls = callsOf(eventsOfStream([...chunks, done]));
  return calls.map(({ id, name, arguments: json }) => ({ id, name, json }));
}

const madeUp = expect.stringMatching(/^call_[A-Za-z0-9]{24}$/);

describe('§7.4 calls in pieces', () => {
  it('pieces of one index are one call', () => {
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

  it('an index that begins at 1 leaves no hole', () => {
    const recorded = documentsOf(
      Buffer.from(fixture('openai-compat/anthropic-fallback-tool-call').response).toString(),
    );

    expect(callsOf(eventsOfStream(recorded))).toMatchObject([
      { call: 0, id: 'toolu_sanitized', arguments: '{"path": "a.txt"}' },
    ]);
  });

  it('pieces of several calls may alternate', () => {
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

  it('an index that begins at 0 again for another id is another call', () => {
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

  it('an index that begins at 0 again without ids is another call behind whole arguments', () => {
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

  it('without an index a new name or a new id is a new call, and the rest goes on', () => {
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

  it('calls side by side in one delta without an index are several', () => {
    const calls = callsIn(
      calling(
        { id: '', function: { name: 'f', arguments: '{"a":1}' } },
        { id: '', function: { name: 'f', arguments: '{"a":2}' } },
      ),
    );

    expect(calls.map(({ json }) => json)).toEqual(['{"a":1}', '{"a":2}']);
  });

  it('a name in pieces is joined, a name repeated with each piece is not', () => {
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

  it('an id that comes behind the name belongs to the same call', () => {
    const calls = callsIn(
      calling({ index: 0, function: { name: 'f' } }),
      calling({ index: 0, id: 'late', function: { arguments: '{}' } }),
    );

    expect(calls).toEqual([{ id: 'late', name: 'f', json: '{}' }]);
  });

  it('calls wait for the end, text and thoughts do not', () => {
    const reader = exchange().readStream();

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

describe('what else chunks hold', () => {
  it("Azure's first chunk without choices says nothing, not even who it is", () => {
    const recorded = documentsOf(
      Buffer.from(fixture('openai-chat/azure-stream.1').response).toString(),
    );
    const reader = exchange().readStream();

    expect(reader.read(recorded[0] ?? null)).toEqual([]);
    expect(reader.read(recorded[1] ?? null)).toMatchObject([
      { type: 'start', model: 'gpt-35-turbo' },
    ]);
  });

  it('xAI counts reasoning beside the completion', () => {
    const recorded = documentsOf(
      Buffer.from(fixture('openai-compat/xai-tool-call-stream').response).toString(),
    );

    const over = openaiClient.begin(
      contentRequest({}),
      target({ reasoningOutsideCompletion: true }),
    );
    const usage = eventsOfStream(recorded, over).filter(({ type }) => type === 'usage');

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

  it('figures are taken wherever they stand', () => {
    const figures = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const places: readonly JsonValue[] = [
      { choices: [], usage: figures },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: figures },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: figures }] },
      { choices: [], x_groq: { usage: figures } },
    ];

    for (const place of places) {
      const events = eventsOfStream([chunk({ content: 'Hi' }), place]);

      expect(events.filter(({ type }) => type === 'usage')).toHaveLength(1);
    }
  });

  it('thoughts told under both names at once are told once', () => {
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

  it('a message repeated whole behind its deltas is not told again', () => {
    const whole = { content: 'Hello', tool_calls: [] };
    const events = eventsOfStream([
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      { choices: [{ index: 0, message: whole, finish_reason: 'stop' }] },
    ]);

    expect(textOf(events)).toBe('Hello');
    expect(finishesOf(events)).toMatchObject([{ reason: 'stop' }]);
  });

  it('nor are calls', () => {
    const call = { index: 0, id: 'a', function: { name: 'f', arguments: '{}' } };
    const events = eventsOfStream([
      calling(call),
      { choices: [{ index: 0, message: { tool_calls: [call] }, finish_reason: 'tool_calls' }] },
    ]);

    expect(callsOf(events)).toHaveLength(1);
  });

  it('a whole message in place of deltas is read', () => {
    const events = eventsOfStream([
      { choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }] },
    ]);

    expect(textOf(events)).toBe('Hello');
  });

  it('choices end in order, each once, behind everything', () => {
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

  it('a stream that said nothing is of no use', () => {
    expect(eventsOfStream([])).toEqual([{ type: 'unusable', reason: 'upstream_empty_response' }]);
  });

  it('streamed sound is bare samples', () => {
    const over = exchange({ streamed: true });

    const events = eventsOfStream([chunk({ audio: { data: 'AAAA' } }, 'stop')], over);

    expect(events).toContainEqual({
      type: 'media',
      choice: 0,
      mimeType: 'audio/pcm;rate=24000',
      data: 'AAAA',
    });
  });
});
