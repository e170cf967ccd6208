// suite: quick
/**
 * Reading of a chat caller's messages: all recorded ones, and other forms that callers were seen to
 * send.
 */
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { ContentRequest } from '../../../src/canonical/request.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { fixture, fixtures } from '../../support/recorded/fixtures.ts';
import { wholeOf } from './server-assemble.ts';
import { finish, text, time, weather } from './server-events.ts';
import { bodyOf, conversation, read, user } from './server-read.ts';

const answered = [...fixtures('openai-chat'), ...fixtures('openai-compat')].filter(
  ({ request, url, status }) =>
    request !== undefined && url.includes('/chat/completions') && status < 400,
);

function recorded(name: string): ContentRequest {
  return read(bodyOf(fixture(name).request));
}

describe('the recorded requests', () => {
  it.each(answered.map((row) => [row.name, row] as const))('%s is read', (_, { request }) => {
    const body = bodyOf(request);

    const { system, turns } = read(body);

    expect(system.length + turns.length).toBeGreaterThan(0);
  });

  it('a tool loop pairs each result with its call', () => {
    const { turns } = recorded('openai-chat/multi-turn-tools.3');

    const calls = turns.flatMap(({ parts }) => parts.filter(({ kind }) => kind === 'tool_call'));
    const results = turns.flatMap(({ parts }) =>
      parts.filter(({ kind }) => kind === 'tool_result'),
    );

    expect(results.length).toBeGreaterThan(0);
    expect(results.map((result) => result.kind === 'tool_result' && result.callId)).toEqual(
      calls.slice(0, results.length).map((call) => call.kind === 'tool_call' && call.id),
    );
  });

  it('signed reasoning of Claude keeps its signature for Anthropic only', () => {
    const { turns } = recorded('openai-compat/snowflake-thinking.2');

    const reasoning = turns
      .flatMap(({ parts }) => parts)
      .filter(({ kind }) => kind === 'reasoning');

    expect(reasoning).toEqual([
      expect.objectContaining({
        text: 'Let me get the weather for Mexico City.',
        providerData: expect.objectContaining({ provider: 'anthropic', kind: 'signature' }),
      }),
    ]);
  });

  it('plain reasoning is kept without a signature', () => {
    const { turns } = recorded('openai-compat/zai-thinking-roundtrip.2');

    const reasoning = turns
      .flatMap(({ parts }) => parts)
      .filter(({ kind }) => kind === 'reasoning');

    expect(reasoning).toHaveLength(1);
    expect(reasoning[0]?.providerData).toBeUndefined();
  });
});

describe('media', () => {
  const partOf = (part: JsonValue): unknown =>
    conversation({ role: 'user', content: [part] }).turns[0]?.parts[0];

  it.each<[string, JsonValue, object]>([
    [
      'an image as a data URL',
      { type: 'image_url', image_url: { url: 'data:image/PNG;base64,iVBO Rw0K', detail: 'low' } },
      {
        mimeType: 'image/png',
        source: { type: 'base64', data: 'iVBORw0K' },
        detail: 'low',
        at: 'messages[0].content[0]',
      },
    ],
    [
      'an image URL',
      { type: 'image_url', image_url: 'https://a.example/b.jpg?c=1' },
      { mimeType: 'image/jpeg', source: { type: 'url', url: 'https://a.example/b.jpg?c=1' } },
    ],
    [
      'an image URL that only Google can read',
      { type: 'image_url', image_url: { url: 'gs://bucket/b.png', format: 'image/webp' } },
      { mimeType: 'image/webp', source: { type: 'file', id: 'gs://bucket/b.png' } },
    ],
    [
      'audio',
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
      { mimeType: 'audio/mp3', source: { type: 'base64', data: 'AAAA' } },
    ],
    [
      'a file in the request',
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:;base64,AAAA' } },
      { mimeType: 'application/pdf', fileName: 'a.pdf', source: { type: 'base64', data: 'AAAA' } },
    ],
    [
      'a stored file',
      { type: 'file', file: { file_id: 'file-1' } },
      { source: { type: 'file', id: 'file-1' } },
    ],
  ])('%s is read', (_, part, expected) => {
    expect(partOf(part)).toMatchObject({ kind: 'media', ...expected });
  });
});

describe('calls and results', () => {
  const call = (id: string, name: string, more: JsonObject = {}): JsonObject => ({
    id,
    type: 'function',
    function: { name, arguments: '{"n":12345678901234567890}' },
    ...more,
  });
  const turnsOf = (...messages: readonly JsonObject[]): ContentRequest['turns'] =>
    conversation(user, ...messages).turns;

  it('consecutive results are one turn, with the names of their calls', () => {
    const turns = turnsOf(
      { role: 'assistant', content: '', tool_calls: [call('a', 'first'), call('b', 'second')] },
      { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: '2' }] },
      { role: 'tool', tool_call_id: 'a', content: '1' },
      { role: 'tool', tool_call_id: 'x', content: '?' },
      user,
    );

    expect(turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'user']);
    expect(turns[1]?.parts).toMatchObject([
      {
        kind: 'tool_call',
        at: 'messages[1].tool_calls[0]',
        arguments: '{"n":12345678901234567890}',
      },
      { kind: 'tool_call', at: 'messages[1].tool_calls[1]' },
    ]);
    expect(turns[2]?.parts).toMatchObject([
      { kind: 'tool_result', callId: 'b', name: 'second', at: 'messages[2]' },
      { kind: 'tool_result', callId: 'a', name: 'first', at: 'messages[3]' },
      { kind: 'tool_result', callId: 'x', name: undefined },
    ]);
  });

  it('a reply that is sent back keeps its ids, arguments and signatures', () => {
    const reasoning: ContentEvent = {
      type: 'reasoning',
      choice: 0,
      text: 'Hm.',
      providerData: { provider: 'anthropic', kind: 'signature', data: 'U2ln' },
    };
    const reply = wholeOf([reasoning, text('Now.'), ...weather, ...time, finish('tool_calls')]);
    const message = member(items(member(reply, 'choices'))[0], 'message');

    const { turns, dropped } = conversation(user, isJsonObject(message) ? message : {});

    expect(turns[1]?.parts).toMatchObject([
      { kind: 'reasoning', text: 'Hm.', providerData: { provider: 'anthropic', data: 'U2ln' } },
      { kind: 'text', text: 'Now.' },
      {
        kind: 'tool_call',
        id: 'call_a',
        name: 'weather',
        arguments: '{"city":"Oslo","id":12345678901234567890}',
        providerData: { provider: 'gemini', kind: 'signature', data: 'c2ln' },
      },
      { kind: 'tool_call', id: 'call_b', name: 'time', arguments: '{}', providerData: undefined },
    ]);
    expect(dropped).toEqual([]);
  });
});
