// suite: quick
/** Conversations as they are sent to an OpenAI-compatible upstream. */
import { describe, expect, it } from 'vitest';
import { seal, unseal } from '../../../src/canonical/envelope.ts';
import type {
  MediaPart,
  Part,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
} from '../../../src/canonical/request.ts';
import { parsed } from '../../support/codec.ts';
import { fixture } from '../../support/fixtures.ts';
import { assistant, user } from '../../support/plain-request.ts';
import { bodyOf, contentRequest, droppedOf, exchange, messagesOf, text } from './client.ts';

function call(id: string, name: string, json = '{}', at = 'contents[1].parts[0]'): ToolCallPart {
  return { kind: 'tool_call', id, name, arguments: json, at };
}

function result(callId: string, ...content: ToolResultPart['content']): ToolResultPart {
  return { kind: 'tool_result', callId, name: 'f', content, isError: false, at: 'contents[2]' };
}

function reasoning(content: string, providerData?: ReasoningPart['providerData']): ReasoningPart {
  return { kind: 'reasoning', text: content, at: 'contents[1].parts[0]', providerData };
}

function media(mimeType: string | undefined, source?: MediaPart['source']): MediaPart {
  const bytes = { type: 'base64', data: 'AAAA' } as const;
  return { kind: 'media', mimeType, source: source ?? bytes, at: 'contents[0].parts[1]' };
}

function refusalOf(...parts: readonly Part[]): unknown {
  try {
    return bodyOf(contentRequest({ turns: [user(...parts)] }));
  } catch (error) {
    return error;
  }
}

describe('system messages and roles', () => {
  it('one system part is a string, several are parts of one message', () => {
    const one = messagesOf(contentRequest({ system: [text('Be brief.')] }));
    const two = messagesOf(contentRequest({ system: [text('Be brief.'), text('Be kind.')] }));

    expect(one[0]).toEqual({ role: 'system', content: 'Be brief.' });
    expect(two[0]).toEqual({
      role: 'system',
      content: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.' },
      ],
    });
  });

  it('an instruction in mid-conversation stays in place, or moves to the head if needed', () => {
    const turns = [
      user(text('a')),
      { role: 'system', parts: [text('b')] } as const,
      user(text('c')),
    ];

    const inPlace = messagesOf(contentRequest({ turns }));
    const lifted = messagesOf(contentRequest({ turns }), { midSystem: 'lift' });

    expect(inPlace).toMatchObject([
      { content: 'a' },
      { role: 'system', content: 'b' },
      { content: 'c' },
    ]);
    expect(lifted).toMatchObject([
      { role: 'system', content: 'b' },
      { content: 'a' },
      { content: 'c' },
    ]);
  });

  it('a model without system messages gets the instructions in the user message', () => {
    const request = contentRequest({ system: [text('Be brief.')], turns: [user(text('Hello'))] });

    expect(messagesOf(request, { systemInstruction: false })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Be brief.' },
          { type: 'text', text: 'Hello' },
        ],
      },
    ]);
  });

  it('texts of a user stay separate, texts of the model are joined without a separator', () => {
    const turns = [user(text('a\n'), text(' b')), assistant(text('c '), text('\nd'))];

    expect(messagesOf(contentRequest({ turns }))).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a\n' },
          { type: 'text', text: ' b' },
        ],
      },
      { role: 'assistant', content: 'c \nd' },
    ]);
    expect(messagesOf(contentRequest({ turns }), { assistantParts: true })[1]).toMatchObject({
      content: [{ text: 'c ' }, { text: '\nd' }],
    });
  });

  it('an empty assistant turn is left out, an empty user turn is not', () => {
    const turns = [user(), assistant(), user(text('Go on'))];

    expect(messagesOf(contentRequest({ turns }))).toEqual([
      { role: 'user', content: '' },
      { role: 'user', content: 'Go on' },
    ]);
  });

  it('a trailing assistant turn is refused for a model without prefill', () => {
    const turns = [user(text('a')), assistant(text('b', 'contents[1]'))];
    const request = contentRequest({ turns });

    expect(() => bodyOf(request, { prefill: false })).toThrowError(
      expect.objectContaining({ code: 'not_portable', param: 'contents[1]' }),
    );
    expect(messagesOf(request)).toHaveLength(2);
  });
});

describe('media', () => {
  it('images, audio and documents each have a form', () => {
    const remote = media('image/png', { type: 'url', url: 'https://example.com/a' });
    const parts = [
      { ...media('image/jpeg'), detail: 'low' },
      remote,
      media('audio/x-wav'),
      media('audio/mpeg'),
      media('application/pdf'),
      { ...media('text/plain'), fileName: 'notes.txt' },
    ];

    expect(messagesOf(contentRequest({ turns: [user(...parts)] }))).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,AAAA', detail: 'low' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
          { type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } },
          {
            type: 'file',
            file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,AAAA' },
          },
          {
            type: 'file',
            file: { filename: 'notes.txt', file_data: 'data:text/plain;base64,AAAA' },
          },
        ],
      },
    ]);
  });

  it.each([
    ['audio in another format', media('audio/flac')],
    ['a video', media('video/mp4')],
    ['a file at another provider', media('image/png', { type: 'file', id: 'files/abc' })],
    ['a gs:// URL', media('image/png', { type: 'url', url: 'gs://bucket/a.png' })],
    [
      'a YouTube video',
      media(undefined, { type: 'url', url: 'https://www.youtube.com/watch?v=1' }),
    ],
    ['a short YouTube URL', media('image/png', { type: 'url', url: 'https://youtu.be/1' })],
    ['a remote document', media(undefined, { type: 'url', url: 'https://example.com/a.pdf' })],
  ])('%s is refused with its path', (_what, part) => {
    expect(refusalOf(text('Look'), part)).toMatchObject({
      code: 'not_portable',
      param: 'contents[0].parts[1]',
    });
  });

  it('images and image URLs are refused for a model that does not accept them', () => {
    const inline = contentRequest({ turns: [user(media('image/png'))] });
    const url = { type: 'url', url: 'https://example.com/a.png' } as const;
    const remote = contentRequest({ turns: [user(media('image/png', url))] });
    const refused = expect.objectContaining({ code: 'not_portable' });

    expect(() => bodyOf(inline, { mediaInput: ['audio'] })).toThrowError(refused);
    expect(() => bodyOf(remote, { mediaUrls: false })).toThrowError(refused);
    expect(() => bodyOf(remote, { mediaInput: [] })).toThrowError(refused);
  });

  it('an image of the model is sent back if the upstream accepts it, else refused', () => {
    const request = contentRequest({
      turns: [assistant(media('image/png')), user(text('Redder'))],
    });

    expect(messagesOf(request, { mediaOutput: true })[0]).toMatchObject({
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
    });
    expect(() => bodyOf(request)).toThrowError(expect.objectContaining({ code: 'not_portable' }));
  });
});

describe('calls and results', () => {
  it('a turn with calls only has null content, and arguments keep every digit', () => {
    const json = '{"n": 12345678901234567890, "s":"\\u00e9"}';
    const turns = [
      user(text('a')),
      assistant(call('c1', 'f', json)),
      user(result('c1', text('ok'))),
    ];

    expect(messagesOf(contentRequest({ turns })).slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: json } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'ok' },
    ]);
  });

  it('results follow the call directly, whatever the user wrote before and between them', () => {
    const turns = [
      assistant(text('Let me see'), call('c1', 'f'), call('c2', 'g')),
      user(text('Hurry'), result('c1', text('1'))),
      user(result('c2', text('2'), text('3')), text('Well?')),
    ];

    expect(messagesOf(contentRequest({ turns })).slice(1)).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: '1' },
      { role: 'tool', tool_call_id: 'c2', content: '23' },
      { role: 'user', content: 'Hurry' },
      { role: 'user', content: 'Well?' },
    ]);
  });

  it('images in results follow in a separate message after all results', () => {
    const turns = [
      assistant(call('c1', 'f'), call('c2', 'g')),
      user(result('c1', text('Here: '), media('image/png')), result('c2', text('2')), text('So?')),
    ];

    const [, ...rest] = messagesOf(contentRequest({ turns }));

    expect(rest).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'Here: [see attached image]' },
      { role: 'tool', tool_call_id: 'c2', content: '2' },
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
      },
      { role: 'user', content: 'So?' },
    ]);
    expect(messagesOf(contentRequest({ turns }), { resultMedia: true })[1]).toMatchObject({
      content: [{ type: 'text', text: 'Here: ' }, { type: 'image_url' }],
    });
  });

  it('an id that OpenAI rejects is replaced by the same id on call and result', () => {
    const id = `call_${'x'.repeat(60)}`;
    const turns = [assistant(call(id, 'f'), call('a.b', 'f')), user(result(id), result('a.b'))];

    const [assistantMessage, first, second] = messagesOf(contentRequest({ turns }));

    const sent = [expect.stringMatching(/^[\w-]{1,40}$/), expect.stringMatching(/^[\w-]{1,40}$/)];
    expect(assistantMessage).toMatchObject({ tool_calls: [{ id: sent[0] }, { id: sent[1] }] });
    expect([first, second]).toMatchObject([{ tool_call_id: sent[0] }, { tool_call_id: sent[1] }]);
    const ids = JSON.stringify(assistantMessage)
      .match(/"id":"[^"]+"/g)
      ?.map((member) => member.slice(6, -1));
    expect([first, second]).toMatchObject(ids?.map((tool_call_id) => ({ tool_call_id })) ?? []);
    expect(new Set(ids).size).toBe(2);
  });

  it('a function with a name that OpenAI rejects is renamed in the history', () => {
    const turns = [assistant(call('c1', 'ns.get:weather')), user(result('c1'))];

    const [assistantMessage] = messagesOf(contentRequest({ turns }));

    expect(assistantMessage).toMatchObject({
      tool_calls: [{ function: { name: expect.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/) } }],
    });
  });

  it('a call in a user turn, or a result in an assistant turn, is refused', () => {
    const refused = expect.objectContaining({ code: 'not_portable' });

    expect(() => bodyOf(contentRequest({ turns: [user(call('c1', 'f'))] }))).toThrowError(refused);
    expect(() => bodyOf(contentRequest({ turns: [assistant(result('c1'))] }))).toThrowError(
      refused,
    );
  });
});

describe('reasoning in the history', () => {
  const turns = [user(text('a')), assistant(reasoning('Hm'), text('b')), user(text('c'))];

  it('is left out and listed, unless the upstream needs it', () => {
    const request = contentRequest({ turns });

    expect(messagesOf(request)[1]).toEqual({ role: 'assistant', content: 'b' });
    expect(droppedOf(request)).toEqual(['contents[1].parts[0]']);
    expect(messagesOf(request, { reasoningHistory: true })[1]).toEqual({
      role: 'assistant',
      content: 'b',
      reasoning_content: 'Hm',
    });
    expect(droppedOf(request, { reasoningHistory: true })).toEqual([]);
  });

  it("encrypted details return to their upstream through a caller's envelope", () => {
    const recorded = fixture('openai-compat/openrouter-reasoning-details.2');
    const reply = parsed(Buffer.from(recorded.response).toString());
    const parts = exchange()
      .readReply(reply)
      .flatMap((event) => (event.type === 'reasoning' ? [event] : []))
      .map(({ text: content, providerData }) =>
        reasoning(content, providerData && unseal(seal(providerData))),
      );

    const request = contentRequest({ turns: [user(text('a')), assistant(...parts)] });
    const [, sent] = messagesOf(request, { signatures: true });
    const [, withoutFlag] = messagesOf(request);

    expect(JSON.stringify(withoutFlag ?? null)).not.toContain('reasoning_details');
    expect(sent).toMatchObject({
      reasoning_details: [
        {
          type: 'reasoning.encrypted',
          format: 'openai-responses-v1',
          id: 'rs_0e67143e70e2c03a01690231c4b7c08195b5bfcc5c216e88b2',
        },
      ],
    });
    expect(JSON.stringify(reply)).toContain(
      JSON.stringify(sent).match(/"data":"[^"]+"/)?.[0] ?? '-',
    );
  });

  it("another provider's signature is written only if the upstream accepts it", () => {
    const providerData = { provider: 'anthropic', kind: 'signature', data: 'sig' } as const;
    const request = contentRequest({
      turns: [
        assistant(reasoning('So '), reasoning('it is', providerData), text('b')),
        user(text('c')),
      ],
    });

    expect(JSON.stringify(bodyOf(request))).not.toContain('sig');
    expect(messagesOf(request, { signatures: true })[0]).toMatchObject({
      reasoning_details: [
        {
          type: 'reasoning.text',
          text: 'So it is',
          signature: 'sig',
          format: 'anthropic-claude-v1',
        },
      ],
    });
  });

  it("Gemini's signature is sent back on its call only to Google's compatible endpoint", () => {
    const providerData = { provider: 'gemini', kind: 'signature', data: 'sig' } as const;
    const request = contentRequest({
      turns: [assistant({ ...call('c1', 'f'), providerData }), user(result('c1'))],
    });

    expect(JSON.stringify(bodyOf(request))).not.toContain('sig');
    expect(messagesOf(request, { signatures: true })[0]).toMatchObject({
      tool_calls: [{ extra_content: { google: { thought_signature: 'sig' } } }],
    });
  });

  it('data that a caller made up is ignored', () => {
    const providerData = {
      provider: 'openai',
      kind: 'encrypted',
      data: '"}],"model":"x"',
    } as const;
    const request = contentRequest({ turns: [assistant(reasoning('', providerData), text('b'))] });

    expect(messagesOf(request)).toEqual([{ role: 'assistant', content: 'b' }]);
  });
});

it("Anthropic's cache_control is left out and listed", () => {
  const marked = { ...text('a', 'messages[0].content[0]'), cacheControl: { type: 'ephemeral' } };
  const request = contentRequest({ turns: [user(marked)] });

  expect(messagesOf(request)).toEqual([{ role: 'user', content: 'a' }]);
  expect(droppedOf(request)).toEqual(['messages[0].content[0].cache_control']);
});
