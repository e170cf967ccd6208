// suite: quick
/** A whole reply as a chat caller receives it. */
import { describe, expect, it } from 'vitest';
import type { ContentEvent } from '../../../src/canonical/reply.ts';
import { writeReply } from '../../../src/dialects/openai/server/write-reply.ts';
import { items, member } from '../../../src/json.ts';
import { head, wholeOf } from './server-assemble.ts';
import { finish, text, time, usage, weather } from './server-events.ts';

function messageOf(events: readonly ContentEvent[]): unknown {
  return member(items(member(wholeOf(events), 'choices'))[0], 'message');
}

function finishOf(events: readonly ContentEvent[]): unknown {
  return member(items(member(wholeOf(events), 'choices'))[0], 'finish_reason');
}

describe('a whole reply', () => {
  it('has an id, the content, a finish reason and usage', () => {
    const events: readonly ContentEvent[] = [
      { type: 'start', id: 'abc', model: 'gemini-x' },
      text('Hello'),
      text(' there\n '),
      finish('stop'),
      usage,
    ];

    const reply = wholeOf(events);

    expect(reply).toEqual({
      id: 'chatcmpl-abc',
      object: 'chat.completion',
      created: 1_795_177_645,
      model: 'some/model:1',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hello there\n ', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 11,
        completion_tokens: 7,
        total_tokens: 18,
        prompt_tokens_details: { cached_tokens: 3 },
        completion_tokens_details: { reasoning_tokens: 2 },
      },
    });
  });

  it('falls back to a generated id, and leaves out usage that was not reported', () => {
    const reply = wholeOf([text('Hi'), finish('stop')]);

    expect(member(reply, 'id')).toBe('chatcmpl-fallback');
    expect(member(reply, 'usage')).toBeUndefined();
  });

  it('keeps every digit of arguments, and makes missing arguments parseable', () => {
    const message = messageOf([...weather, ...time, finish('tool_calls')]);

    expect(message).toMatchObject({
      content: null,
      tool_calls: [
        {
          id: 'call_a',
          type: 'function',
          function: { name: 'weather', arguments: '{"city":"Oslo","id":12345678901234567890}' },
          extra_content: { google: { thought_signature: 'c2ln' } },
        },
        { id: 'call_b', type: 'function', function: { name: 'time', arguments: '{}' } },
      ],
    });
  });

  it.each<[string, readonly ContentEvent[], string]>([
    ['a stop with calls', [...weather, finish('stop')], 'tool_calls'],
    ['tool_calls without a call', [text('Hi'), finish('tool_calls')], 'stop'],
    ['a length limit after calls', [...weather, finish('length')], 'length'],
    ['a content filter after calls', [...weather, finish('content_filter')], 'content_filter'],
    ['an unknown reason', [text('Hi'), finish('other', 'LANGUAGE')], 'stop'],
  ])('has the finish reason for %s', (_, events, reason) => {
    expect(finishOf(events)).toBe(reason);
  });

  it('adds the upstream’s finish reason if OpenAI has no equivalent', () => {
    const reply = wholeOf([text('Hi'), finish('other', 'LANGUAGE')]);

    expect(items(member(reply, 'choices'))[0]).toMatchObject({ native_finish_reason: 'LANGUAGE' });
  });

  it('has one filtered choice and zero usage for a blocked prompt', () => {
    const reply = wholeOf([{ type: 'blocked', reason: 'SAFETY', message: 'Try another.' }]);

    expect(reply).toMatchObject({
      choices: [
        {
          index: 0,
          message: { content: null, refusal: 'Prompt blocked: SAFETY. Try another.' },
          finish_reason: 'content_filter',
        },
      ],
      usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    });
  });

  it('shows a filter’s explanation as the refusal, and keeps the text before it', () => {
    const message = messageOf([
      text('First'),
      { type: 'finish', choice: 0, reason: 'content_filter', message: 'Not that.' },
    ]);

    expect(message).toMatchObject({ content: 'First', refusal: 'Not that.' });
  });

  it('tags signed and encrypted reasoning with the format of its provider', () => {
    const message = messageOf([
      { type: 'reasoning', choice: 0, text: 'Let me ' },
      { type: 'reasoning', choice: 0, text: 'see.' },
      {
        type: 'reasoning',
        choice: 0,
        text: '',
        providerData: { provider: 'anthropic', kind: 'signature', data: 'U2ln' },
      },
      {
        type: 'reasoning',
        choice: 0,
        text: '',
        providerData: { provider: 'anthropic', kind: 'encrypted', data: 'RW5j' },
      },
      text('Done.'),
      finish('stop'),
    ]);

    expect(message).toMatchObject({
      content: 'Done.',
      reasoning_content: 'Let me see.',
      reasoning_details: [
        {
          type: 'reasoning.text',
          text: 'Let me see.',
          signature: 'U2ln',
          format: 'anthropic-claude-v1',
        },
        { type: 'reasoning.encrypted', data: 'RW5j', format: 'anthropic-claude-v1' },
      ],
    });
  });

  it('puts a signature of Google on the message if no call carries it', () => {
    const message = messageOf([
      text('Hi'),
      {
        type: 'text',
        choice: 0,
        text: '',
        providerData: { provider: 'gemini', kind: 'signature', data: 'dA==' },
      },
      finish('stop'),
    ]);

    expect(message).toMatchObject({ extra_content: { google: { thought_signature: 'dA==' } } });
  });

  it('shows no other provider’s signature on text or calls', () => {
    const events = weather.map((event) =>
      event.type === 'tool_begin'
        ? {
            ...event,
            providerData: { provider: 'anthropic', kind: 'signature', data: 'Zm9l' } as const,
          }
        : event,
    );

    const { text: reply } = writeReply([...events, finish('tool_calls')], head);

    expect(reply).not.toContain('Zm9l');
  });

  it('contains images, audio, citations, logprobs and provider-specific content', () => {
    const reply = wholeOf([
      text('é'),
      { type: 'media', choice: 0, mimeType: 'image/png', data: 'AAAA' },
      { type: 'media', choice: 0, mimeType: 'audio/L16;rate=24000', data: 'AQ==' },
      { type: 'media', choice: 0, mimeType: 'audio/L16;rate=24000', data: 'Ag==' },
      {
        type: 'citations',
        choice: 0,
        citations: [{ url: 'https://a.example', title: 'A', start: 0, end: 1 }],
      },
      {
        type: 'logprobs',
        choice: 0,
        tokens: [{ token: 'é', logprob: -0.5, top: [{ token: 'e', logprob: -1 }] }],
      },
      {
        type: 'provider_specific',
        choice: 0,
        provider: 'gemini',
        name: 'groundingMetadata',
        value: { webSearchQueries: [] },
      },
      {
        type: 'provider_specific',
        choice: 0,
        provider: 'anthropic',
        name: 'blocks',
        value: [{ n: 1 }],
      },
      {
        type: 'provider_specific',
        choice: 0,
        provider: 'anthropic',
        name: 'blocks',
        value: [{ n: 2 }],
      },
      finish('stop'),
    ]);

    expect(items(member(reply, 'choices'))[0]).toMatchObject({
      message: {
        images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' }, index: 0 }],
        audio: { id: 'audio-chatcmpl-fallback', data: 'AQI=', mime_type: 'audio/L16;rate=24000' },
        annotations: [
          {
            type: 'url_citation',
            url_citation: { start_index: 0, end_index: 1, url: 'https://a.example', title: 'A' },
          },
        ],
        extra_content: {
          google: { grounding_metadata: { webSearchQueries: [] } },
          anthropic: { blocks: [{ n: 1 }, { n: 2 }] },
        },
      },
      logprobs: {
        content: [
          {
            token: 'é',
            logprob: -0.5,
            bytes: [195, 169],
            top_logprobs: [{ token: 'e', logprob: -1, bytes: [101] }],
          },
        ],
        refusal: null,
      },
    });
  });

  it('lists what it cannot express', () => {
    const events: readonly ContentEvent[] = [
      text('Hi'),
      { type: 'finish', choice: 0, reason: 'other', native: 'OTHER', message: 'Because.' },
    ];

    const { dropped } = writeReply(events, head);

    expect(dropped).toEqual(['finish_message']);
  });

  it('always has a choice', () => {
    expect(items(member(wholeOf([]), 'choices'))).toHaveLength(1);
  });
});
