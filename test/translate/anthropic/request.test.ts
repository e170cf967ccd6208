// suite: quick
/** Requests to Anthropic have everything that the caller sent, in the form that its API accepts. */
import { describe, expect, it } from 'vitest';
import type { Part } from '../../../src/canonical/request.ts';
import { anthropicClient } from '../../../src/dialects/anthropic/client/codec.ts';
import { assistant, user } from '../../support/plain-request.ts';
import {
  at,
  call,
  contentRequest,
  instruction,
  look,
  result,
  signedThought,
  target,
  text,
  written,
} from './client.ts';

describe('a request', () => {
  it('has only the model, the token limit and the question', () => {
    const { body, dropped } = written();

    expect(body).toEqual({
      model: 'claude-opus-5',
      max_tokens: 8_192,
      stream: false,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello?' }] }],
    });
    expect(dropped).toEqual([]);
  });

  it.each([
    [100, 200, 100],
    [undefined, 200, 200],
  ])('takes its limit from the caller, else the catalog', (maxOutputTokens, known, bound) => {
    const to = { ...target(), maxOutputTokens: known };

    expect(at(written({ maxOutputTokens }, to).body, 'max_tokens')).toBe(bound);
  });

  it('keeps the caller’s cache_control', () => {
    const cacheControl = { type: 'ephemeral' };

    const { body } = written({
      system: [text('Be brief.'), { ...text('Be kind.'), cacheControl }],
      tools: [{ ...look, cacheControl }],
    });

    expect(at(body, 'system')).toEqual([
      { type: 'text', text: 'Be brief.' },
      { type: 'text', text: 'Be kind.', cache_control: cacheControl },
    ]);
    expect(at(body, 'tools', 0, 'cache_control')).toEqual(cacheControl);
  });

  it('keeps every digit of the arguments of a call', () => {
    const { body } = anthropicClient.begin(
      contentRequest({
        turns: [user(text('Go.')), assistant(call('a', 'look', '{"n":12345678901234567890}'))],
      }),
      target(),
    );

    expect(body).toContain('{"n":12345678901234567890}');
  });
});

describe('turns', () => {
  it('of one role become one message, in order', () => {
    const { body } = written({ turns: [user(text('One.')), user(text('Two.'), text('Three.'))] });

    expect(at(body, 'messages')).toEqual([
      { role: 'user', content: ['One.', 'Two.', 'Three.'].map(textOf) },
    ]);
  });

  it('that are blank are left out', () => {
    const { body, dropped } = written({
      turns: [user(text('Hi.')), assistant(text('')), user(text('You?'))],
    });

    expect(at(body, 'messages')).toEqual([
      { role: 'user', content: [textOf('Hi.'), textOf('You?')] },
    ]);
    expect(dropped).toEqual([]);
  });

  it('that are all blank are refused', () => {
    expect(() => written({ turns: [user(text('  ', 'messages[0].content'))] })).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'messages[0].content' }),
    );
  });

  it('with tool results are one message, results first and in call order', () => {
    const { body } = written({
      turns: [
        user(text('Go.')),
        assistant(text('Well.'), call('a'), call('b')),
        user(result('b', 'B')),
        user(result('a', 'A')),
        user(text('And?')),
      ],
    });

    expect(at(body, 'messages', 1, 'content')).toEqual([
      textOf('Well.'),
      { type: 'tool_use', id: 'a', name: 'look', input: {} },
      { type: 'tool_use', id: 'b', name: 'look', input: {} },
    ]);
    expect(at(body, 'messages', 2)).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'a', content: [textOf('A')] },
        { type: 'tool_result', tool_use_id: 'b', content: [textOf('B')] },
        textOf('And?'),
      ],
    });
  });

  it('get unique ids that Anthropic accepts, the same on a call and its result', () => {
    const { body } = written({
      turns: [
        user(text('Go.')),
        assistant(call('call:1')),
        user(result('call:1', 'A')),
        assistant(call('call:1')),
        user(result('call:1', 'B')),
      ],
    });

    const ids = [1, 3].map((message) => at(body, 'messages', message, 'content', 0, 'id'));
    const answered = [2, 4].map((message) =>
      at(body, 'messages', message, 'content', 0, 'tool_use_id'),
    );
    expect(answered).toEqual(ids);
    expect(new Set(ids).size).toBe(2);
    expect(ids.every((id) => /^[a-zA-Z0-9_-]+$/.test(String(id)))).toBe(true);
  });

  it('have the image that a tool returned, and its error flag', () => {
    const image: Part = {
      kind: 'media',
      mimeType: 'image/png',
      source: { type: 'base64', data: 'aW1n' },
      at: 'x',
    };
    const failed: Part = {
      kind: 'tool_result',
      callId: 'a',
      name: 'look',
      content: [text('No.'), image],
      isError: true,
      at: 'y',
    };

    const { body } = written({ turns: [user(text('Go.')), assistant(call('a')), user(failed)] });

    expect(at(body, 'messages', 2, 'content', 0)).toEqual({
      type: 'tool_result',
      tool_use_id: 'a',
      content: [
        textOf('No.'),
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1n' } },
      ],
      is_error: true,
    });
  });

  it('that end with the assistant are refused for a model without prefill', () => {
    const turns = [user(text('Go.')), assistant(text('So ', 'messages[1].content'))];

    expect(() => written({ turns })).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'messages[1].content' }),
    );
  });

  it('that end with the assistant end without white space and without thinking', () => {
    const turns = [
      user(text('Go.')),
      assistant(signedThought(), text('So it \n', 'messages[1].content')),
    ];

    const { body, dropped } = written({ turns }, target('claude-sonnet-4-5'));

    expect(at(body, 'messages', 1, 'content')).toEqual([textOf('So it')]);
    expect(dropped).toEqual(['thought', 'messages[1].content']);
  });
});

describe('an instruction in the middle of a conversation', () => {
  const later = instruction(text('Now rhyme.'));

  it('keeps its position after a user message', () => {
    const { body } = written({
      turns: [user(text('Hi.')), later, assistant(text('Ho.')), user(text('You?')), later],
    });

    expect(rolesOf(body)).toEqual(['user', 'system', 'assistant', 'user', 'system']);
  });

  it('moves to the next position that Anthropic accepts', () => {
    const { body } = written({
      turns: [user(text('Hi.')), assistant(text('Ho.')), later, user(text('You?'))],
    });

    expect(rolesOf(body)).toEqual(['user', 'assistant', 'user', 'system']);
  });

  it('moves to the system prompt for models that do not accept it in place', () => {
    const message = {
      system: [text('Be kind.')],
      turns: [user(text('Hi.')), later, user(text('You?'))],
    };

    const { body } = written(message, target('claude-sonnet-4-5'));

    expect(rolesOf(body)).toEqual(['user']);
    expect(at(body, 'system')).toEqual([textOf('Be kind.'), textOf('Now rhyme.')]);
  });

  it.each([
    'claude-opus-5',
    'claude-sonnet-4-5',
  ])('at the end becomes the message that %s replies to', (model) => {
    const turns = [user(text('Hi.')), assistant(text('Ho.')), later];

    const { body, dropped } = written({ turns }, target(model));

    expect(rolesOf(body)).toEqual(['user', 'assistant', 'user']);
    expect(dropped).toEqual(['messages']);
  });

  it('alone becomes the user message', () => {
    const { body } = written({ system: [text('Be kind.'), text('Greet.')], turns: [] });

    expect(at(body, 'system')).toEqual([textOf('Be kind.')]);
    expect(at(body, 'messages')).toEqual([{ role: 'user', content: [textOf('Greet.')] }]);
  });
});

describe('thinking', () => {
  it('is returned signed or redacted, with or without text', () => {
    const hidden: Part = {
      kind: 'reasoning',
      text: '',
      providerData: { provider: 'anthropic', kind: 'encrypted', data: 'aGlk' },
      at: 'x',
    };

    const { body } = written({
      turns: [
        user(text('Go.')),
        assistant(signedThought(''), hidden, text('So.')),
        user(text('?')),
      ],
    });

    expect(at(body, 'messages', 1, 'content')).toEqual([
      { type: 'thinking', thinking: '', signature: 'c2ln' },
      { type: 'redacted_thinking', data: 'aGlk' },
      textOf('So.'),
    ]);
  });

  it('of another model is not sent', () => {
    const foreign: Part = {
      kind: 'reasoning',
      text: 'Hm.',
      providerData: { provider: 'gemini', kind: 'signature', data: 'c2ln' },
      at: 'messages[1].reasoning_content',
    };

    const { body, dropped } = written({
      turns: [user(text('Go.')), assistant(foreign, text('So.')), user(text('?'))],
    });

    expect(at(body, 'messages', 1, 'content')).toEqual([textOf('So.')]);
    expect(dropped).toEqual(['messages[1].reasoning_content']);
  });
});

describe('media', () => {
  const sources = {
    data: { type: 'base64', data: 'SGk=' },
    address: { type: 'url', url: 'https://example.test/a' },
    elsewhere: { type: 'file', id: 'file-1' },
  } as const;

  it.each<[string | undefined, keyof typeof sources, object]>([
    ['image/webp', 'data', { type: 'image', source: base64('image/webp') }],
    ['image/jpg', 'data', { type: 'image', source: base64('image/jpeg') }],
    ['image/png', 'address', { type: 'image', source: sources.address }],
    [undefined, 'address', { type: 'image', source: sources.address }],
    ['application/pdf', 'data', { type: 'document', source: base64('application/pdf') }],
    ['application/pdf', 'address', { type: 'document', source: sources.address }],
    ['text/csv', 'data', { type: 'document', source: plain('Hi') }],
    ['application/json', 'data', { type: 'document', source: plain('Hi') }],
  ])('%s by its %s is sent', (mimeType, source, block) => {
    const part: Part = { kind: 'media', mimeType, source: sources[source], at: 'x' };

    const { body } = written({ turns: [user(part)] });

    expect(at(body, 'messages', 0, 'content', 0)).toEqual(block);
  });

  it.each<[string | undefined, keyof typeof sources]>([
    ['image/bmp', 'data'],
    ['audio/wav', 'data'],
    ['video/mp4', 'address'],
    ['text/plain', 'address'],
    ['application/zip', 'data'],
    [undefined, 'data'],
    ['application/pdf', 'elsewhere'],
    ['image/png', 'elsewhere'],
  ])('%s by its %s is refused', (mimeType, source) => {
    const part: Part = { kind: 'media', mimeType, source: sources[source], at: 'messages[0]' };

    expect(() => written({ turns: [user(part)] })).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'messages[0]' }),
    );
  });

  it('that is text in another encoding than UTF-8 is refused', () => {
    const source = { type: 'base64', data: '/w==' } as const;
    const part: Part = { kind: 'media', mimeType: 'text/plain', source, at: 'messages[0]' };

    expect(() => written({ turns: [user(part)] })).toThrow(
      expect.objectContaining({ code: 'not_portable' }),
    );
  });
});

function textOf(text: string): object {
  return { type: 'text', text };
}

function rolesOf(body: Parameters<typeof at>[0]): readonly unknown[] {
  return [0, 1, 2, 3, 4, 5].map((index) => at(body, 'messages', index, 'role')).filter(Boolean);
}

function base64(mimeType: string): object {
  return { type: 'base64', media_type: mimeType, data: 'SGk=' };
}

function plain(text: string): object {
  return { type: 'text', media_type: 'text/plain', data: text };
}
