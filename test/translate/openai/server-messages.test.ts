// suite: quick
/**
 * Reading of a chat caller's messages: all recorded ones, and other forms that callers were seen to
 * send.
 */
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import type { ContentRequest } from '../../../src/canonical/request.ts';
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../src/json.ts';
import { fixture, fixtures } from '../../support/fixtures.ts';
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

describe('instructions', () => {
  it('at the start are system parts, one each; later ones stay in place', () => {
    const { system, turns } = conversation(
      { role: 'system', content: 'A' },
      {
        role: 'developer',
        content: [
          { type: 'text', text: 'B' },
          { type: 'text', text: 'C' },
        ],
      },
      user,
      { role: 'system', content: 'D' },
    );

    expect(system.map(({ text, at }) => [text, at])).toEqual([
      ['A', 'messages[0].content'],
      ['B', 'messages[1].content[0]'],
      ['C', 'messages[1].content[1]'],
    ]);
    expect(turns.map(({ role }) => role)).toEqual(['user', 'system']);
  });

  it('without other messages become a user turn with the last one', () => {
    const { system, turns } = conversation(
      { role: 'system', content: 'A' },
      { role: 'system', content: 'B' },
    );

    expect(system.map(({ text }) => text)).toEqual(['A']);
    expect(turns).toEqual([
      { role: 'user', parts: [expect.objectContaining({ kind: 'text', text: 'B' })] },
    ]);
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

  it('a URL that is neither data nor http is refused', () => {
    const part = { type: 'image_url', image_url: { url: 'file:///etc/passwd' } };

    expect(() => partOf(part)).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        param: 'messages[0].content[0].image_url.url',
      }),
    );
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

  it('calls without ids get derived ids, and results are matched in order', () => {
    const turns = turnsOf(
      { role: 'assistant', content: 'Now.', tool_calls: [call('', 'first'), call('', 'second')] },
      { role: 'tool', tool_call_id: '', content: '1' },
      { role: 'tool', tool_call_id: '', content: '2' },
    );

    expect(turns[1]?.parts).toMatchObject([
      { kind: 'text' },
      { id: 'call_t1p1', name: 'first' },
      { id: 'call_t1p2', name: 'second' },
    ]);
    expect(turns[2]?.parts).toMatchObject([
      { callId: 'call_t1p1', name: 'first' },
      { callId: 'call_t1p2', name: 'second' },
    ]);
  });

  it('the older function_call and its result are matched as well', () => {
    const turns = turnsOf(
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      { role: 'function', name: 'f', content: 'done' },
    );

    expect(turns[1]?.parts).toMatchObject([{ kind: 'tool_call', id: 'call_t1p0', name: 'f' }]);
    expect(turns[2]?.parts).toMatchObject([{ callId: 'call_t1p0', name: 'f' }]);
  });

  const google = { google: { thought_signature: 'c2ln' } };

  it.each<[string, JsonObject]>([
    [
      'on the call, as Google sends it',
      { tool_calls: [call('a', 'f', { extra_content: google })] },
    ],
    ['on the message', { tool_calls: [call('a', 'f')], extra_content: google }],
    [
      'inside the function, as Portkey sends it',
      {
        tool_calls: [call('a', 'f', { function: { name: 'f', thought_signature: 'c2ln' } })],
      },
    ],
    ['in the id, as LiteLLM sends it', { tool_calls: [call('a__thought__c2ln', 'f')] }],
  ])('a signature %s is read with the call', (_, message) => {
    const turns = turnsOf(
      { role: 'assistant', content: null, ...message },
      { role: 'tool', tool_call_id: 'a__thought__c2ln', content: '1' },
    );

    expect(turns[1]?.parts).toMatchObject([
      { id: 'a', providerData: { provider: 'gemini', kind: 'signature', data: 'c2ln' } },
    ]);
    expect(turns[2]?.parts).toMatchObject([{ callId: 'a', name: 'f' }]);
  });

  it('a signature on a message without calls is read with its last text', () => {
    const turns = turnsOf({ role: 'assistant', content: 'Hi', extra_content: google });

    expect(turns[1]?.parts).toMatchObject([{ kind: 'text', providerData: { data: 'c2ln' } }]);
  });

  it('images of an earlier reply keep their signatures', () => {
    const url = 'data:image/png;base64,AAAA';
    const image = { type: 'image_url', image_url: { url }, index: 0, extra_content: google };

    const turns = turnsOf({ role: 'assistant', content: null, images: [image] });

    expect(turns[1]?.parts).toMatchObject([
      {
        kind: 'media',
        mimeType: 'image/png',
        at: 'messages[1].images[0]',
        providerData: { provider: 'gemini', data: 'c2ln' },
      },
    ]);
  });

  it('encrypted reasoning is kept together with plain reasoning', () => {
    const turns = turnsOf({
      role: 'assistant',
      content: 'Hi',
      reasoning_content: 'Hm.',
      reasoning_details: [
        { type: 'reasoning.encrypted', data: 'RW5j', format: 'anthropic-claude-v1' },
      ],
    });

    expect(turns[1]?.parts).toMatchObject([
      { kind: 'reasoning', text: 'Hm.' },
      { kind: 'reasoning', text: '', providerData: { provider: 'anthropic', kind: 'encrypted' } },
      { kind: 'text', text: 'Hi' },
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
