// suite: quick
/** The conversation of a request translated for a Gemini upstream. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MediaPart } from '../../../src/canonical/request.ts';
import { items, type JsonValue, member } from '../../../src/json.ts';
import { assistant, user } from '../../support/plain-request.ts';
import { begin, bodyOf, call, look, result, target, text } from './client.ts';

const placeholder = Buffer.from('context_engineering_is_the_way_to_go').toString('base64');
const gemma = 'gemma-3-27b-it';

function contents(body: JsonValue): readonly JsonValue[] {
  return items(member(body, 'contents'));
}

function media(given: Partial<MediaPart> = {}): MediaPart {
  return {
    kind: 'media',
    at: 'messages[0].content[1]',
    mimeType: 'image/png',
    source: { type: 'base64', data: 'iVBORw==' },
    ...given,
  };
}

function fromUrl(url: string, mimeType?: string): MediaPart {
  return media({ mimeType, source: { type: 'url', url } });
}

describe('the system instruction', () => {
  it('has one part for each of the caller’s, in order', () => {
    const body = bodyOf({ system: [text('Be brief.'), text('Be kind.')] });

    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Hello.' }] }],
    });
  });

  it('includes later ones, unless the channel supports them in place', () => {
    const turns = [user(text('Hi.')), { role: 'system', parts: [text('Rhyme.')] } as const];

    const lifted = bodyOf({ turns });
    const inline = bodyOf({ turns }, target('gemini-3-flash', { midSystem: 'inline' }));

    expect(member(lifted, 'systemInstruction')).toEqual({ parts: [{ text: 'Rhyme.' }] });
    expect(contents(lifted)).toHaveLength(1);
    expect(contents(inline)).toEqual([
      { role: 'user', parts: [{ text: 'Hi.' }] },
      { role: 'user', parts: [{ text: 'Rhyme.' }] },
    ]);
  });

  it('becomes the user turn if there is no other', () => {
    const body = bodyOf({ system: [text('Be brief.'), text('Tell a joke.')], turns: [] });

    expect(body).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [{ role: 'user', parts: [{ text: 'Tell a joke.' }] }],
    });
  });

  it('is put before the first user text for Gemma, which does not support it', () => {
    const body = bodyOf({ system: [text('Be brief.')] }, target(gemma));

    expect(body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Be brief.' }, { text: 'Hello.' }] }],
    });
  });
});

describe('the turns', () => {
  it('keep every part unchanged, and drop an empty one only next to another', () => {
    const body = bodyOf({
      turns: [user(text('a\n'), text(''), text(' b')), assistant(text('')), user(text(''))],
    });

    expect(contents(body)).toEqual([
      { role: 'user', parts: [{ text: 'a\n' }, { text: ' b' }] },
      { role: 'model', parts: [{ text: '' }] },
      { role: 'user', parts: [{ text: '' }] },
    ]);
  });

  it('have thoughts only with a signature of Gemini', () => {
    const signed = { provider: 'gemini', kind: 'signature', data: 'c2ln' } as const;
    const foreign = { provider: 'anthropic', kind: 'signature', data: 'Zm9v' } as const;
    const thought = { kind: 'reasoning', at: 'at', text: 'Hm.' } as const;

    const body = bodyOf({
      turns: [
        user(text('Hi.')),
        assistant({ ...thought, providerData: signed }, { ...text('A.'), providerData: signed }),
        assistant({ ...thought, providerData: foreign }, { ...text('B.'), providerData: foreign }),
        assistant(thought),
      ],
    });

    expect(contents(body).slice(1)).toEqual([
      {
        role: 'model',
        parts: [
          { text: 'Hm.', thought: true, thoughtSignature: 'c2ln' },
          { text: 'A.', thoughtSignature: 'c2ln' },
          { text: 'B.' },
        ],
      },
    ]);
  });

  it('may end with the model’s turn, unless the channel does not support prefill', () => {
    const turns = [user(text('Hi.')), assistant(text('Well,'))];

    const body = bodyOf({ turns });

    expect(contents(body).at(-1)).toEqual({ role: 'model', parts: [{ text: 'Well,' }] });
    expect(() => bodyOf({ turns }, target('gemini-3-flash', { prefill: false }))).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'at.Well,' }),
    );
  });
});

describe('calls and their results', () => {
  const calls = [
    call({ id: 'call_a', name: 'look', arguments: '{"at":12345678901234567890}' }),
    call({ id: 'call_b', name: 'go', arguments: '' }),
  ];

  it('are next to each other, in call order', () => {
    const body = begin({
      turns: [
        user(text('Hi.')),
        assistant(text('Let me see.'), ...calls),
        user(
          result('{"n":1.0}', { callId: 'call_b', name: 'go' }),
          result('seen', { callId: 'call_a' }),
          text('And?'),
        ),
      ],
    }).body;

    expect(body).toBe(
      `{"contents":[{"role":"user","parts":[{"text":"Hi."}]},` +
        `{"role":"model","parts":[{"text":"Let me see."},` +
        `{"functionCall":{"id":"call_a","name":"look","args":{"at":12345678901234567890}},` +
        `"thoughtSignature":"${placeholder}"},` +
        `{"functionCall":{"id":"call_b","name":"go","args":{}}}]},` +
        `{"role":"user","parts":[` +
        `{"functionResponse":{"id":"call_a","name":"look","response":{"output":"seen"}}},` +
        `{"functionResponse":{"id":"call_b","name":"go","response":{"n":1.0}}}]},` +
        `{"role":"user","parts":[{"text":"And?"}]}]}`,
    );
  });

  it.each([
    ['plain text', 'sunny', { output: 'sunny' }],
    ['an empty text', '', { output: '' }],
    ['an array', '[1, 2]', { output: [1, 2] }],
    ['a number', '17', { output: 17 }],
    ['quoted text, quotes and all', '"a"', { output: '"a"' }],
    ['an object', ' {"a":1}', { a: 1 }],
  ])('wrap results that are not objects: %s', (_, output, response) => {
    const turns = [user(text('Hi.')), assistant(call()), user(result(output))];

    const [written] = items(member(contents(bodyOf({ turns }))[2], 'parts'));

    expect(member(member(written, 'functionResponse'), 'response')).toEqual(response);
  });

  it('report that a tool failed', () => {
    const failed = result('No such file.', { isError: true });

    const body = bodyOf({ turns: [user(text('Hi.')), assistant(call()), user(failed)] });

    expect(contents(body)[2]).toEqual({
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'call_1',
            name: 'look',
            response: { error: 'No such file.' },
          },
        },
      ],
    });
  });

  it('have a signature on the first call of each step: Gemini’s own, else the placeholder', () => {
    const providerData = { provider: 'gemini', kind: 'signature', data: 'c2ln' } as const;
    const turns = [
      assistant(call({ id: 'a', providerData }), call({ id: 'b' })),
      user(result('1', { callId: 'a' }), result('2', { callId: 'b' })),
      assistant(call({ id: 'c' }), call({ id: 'd' })),
      user(result('3', { callId: 'c' }), result('4', { callId: 'd' })),
    ];
    const signatures = (body: JsonValue): readonly unknown[] =>
      contents(body)
        .filter((content) => member(content, 'role') === 'model')
        .flatMap((content) => items(member(content, 'parts')))
        .map((part) => member(part, 'thoughtSignature'));

    expect(signatures(bodyOf({ turns }))).toEqual(['c2ln', undefined, placeholder, undefined]);
    expect(signatures(bodyOf({ turns }, target('gemini-2.5-flash')))).toEqual([
      'c2ln',
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('have no ids if the channel does not support them, as on Vertex', () => {
    const turns = [user(text('Hi.')), assistant(call()), user(result('ok'))];

    const body = begin({ turns }, target('gemini-3-flash', { callIds: false })).body;

    expect(body).not.toContain('"id"');
  });

  it('keep arguments that are not an object, and report it', () => {
    const turns = [user(text('Hi.')), assistant(call({ arguments: '[1' })), user(result('ok'))];

    const exchange = begin({ turns });

    expect(exchange.body).toContain('"args":{"_raw":"[1"}');
    expect(exchange.dropped).toEqual(['at.call']);
  });

  it('have images inside the result for Gemini 3, and after it for older models', () => {
    const seen = result('', { content: [media()] });
    const turns = [user(text('Hi.')), assistant(call()), user(seen)];
    const inlineData = { mimeType: 'image/png', data: 'iVBORw==' };
    const output = '[see attached media]';

    const newer = contents(bodyOf({ turns }))[2];
    const older = contents(bodyOf({ turns }, target('gemini-2.5-flash')))[2];

    const response = { id: 'call_1', name: 'look', response: { output } };
    expect(newer).toEqual({
      role: 'user',
      parts: [{ functionResponse: { ...response, parts: [{ inlineData }] } }],
    });
    expect(older).toEqual({
      role: 'user',
      parts: [{ functionResponse: response }, { inlineData }],
    });
  });

  it('have names that Gemini accepts, and the caller’s names in the reply', () => {
    const name = '1 look/around';
    const exchange = begin({
      tools: [look({ name })],
      toolChoice: { mode: 'required', names: [name] },
      turns: [user(text('Hi.')), assistant(call({ name })), user(result('ok', { name }))],
    });

    const [upstream = ''] = /[a-zA-Z_][\w.:-]*_[0-9a-f]{6}/.exec(exchange.body) ?? [];
    const events = exchange.readReply({
      candidates: [{ content: { parts: [{ functionCall: { name: upstream } }] } }],
    });

    expect(exchange.body).not.toContain(name);
    expect(exchange.body.split(`"${upstream}"`)).toHaveLength(5);
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool_begin', name }));
  });

  it('make the round trip with ids, names, arguments and signatures', () => {
    const signature = fc.option(fc.base64String({ minLength: 4 }), { nil: undefined });
    const made = fc.record({
      id: fc.stringMatching(/^call_[a-zA-Z0-9]{1,20}$/),
      name: fc.stringMatching(/^[ -~]{1,80}$/),
      args: fc.dictionary(fc.string(), fc.jsonValue()),
      signature,
    });

    fc.assert(
      fc.property(fc.uniqueArray(made, { selector: ({ id }) => id, minLength: 1 }), (all) => {
        const parts = all.map(({ id, name, args, signature: data }) =>
          call({
            id,
            name,
            arguments: JSON.stringify(args),
            providerData:
              data === undefined ? undefined : { provider: 'gemini', kind: 'signature', data },
          }),
        );
        const exchange = begin(
          { turns: [user(text('Hi.')), assistant(...parts)] },
          target('gemini-2.5-flash'),
        );

        const echoed = contents(JSON.parse(exchange.body))[1] ?? null;
        const events = exchange.readReply({ candidates: [{ content: echoed }] });

        const calls = events.filter((event) => event.type === 'tool_begin');
        expect(calls.map(({ id, name, providerData }) => ({ id, name, providerData }))).toEqual(
          parts.map(({ id, name, providerData }) => ({ id, name, providerData })),
        );
        expect(calls.map((one) => JSON.parse(one.arguments))).toEqual(
          parts.map((one) => JSON.parse(one.arguments)),
        );
      }),
      { numRuns: 100 },
    );
  });
});

describe('media', () => {
  const written = (part: MediaPart, model?: string): JsonValue | undefined =>
    items(member(contents(bodyOf({ turns: [user(part)] }, target(model)))[0], 'parts'))[0];

  it.each([
    ['a picture', media(), { inlineData: { mimeType: 'image/png', data: 'iVBORw==' } }],
    [
      'an address whose ending tells the type',
      fromUrl('https://example.com/a.jpg?size=1'),
      { fileData: { mimeType: 'image/jpeg', fileUri: 'https://example.com/a.jpg?size=1' } },
    ],
    [
      'an address whose type the caller tells',
      fromUrl('https://example.com/a', 'application/pdf'),
      { fileData: { mimeType: 'application/pdf', fileUri: 'https://example.com/a' } },
    ],
    [
      'a video on YouTube',
      fromUrl('https://youtu.be/lCdaVNyHtjU'),
      { fileData: { mimeType: 'video/mp4', fileUri: 'https://youtu.be/lCdaVNyHtjU' } },
    ],
    [
      'a file in a bucket of Google’s',
      media({ mimeType: undefined, source: { type: 'file', id: 'gs://bucket/a' } }),
      { fileData: { fileUri: 'gs://bucket/a' } },
    ],
    [
      'a file that was uploaded to Google',
      fromUrl('https://generativelanguage.googleapis.com/v1beta/files/abc', 'image/png'),
      {
        fileData: {
          mimeType: 'image/png',
          fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc',
        },
      },
    ],
    [
      'a sound, by the name Google has for it',
      media({ mimeType: 'audio/mpeg' }),
      { inlineData: { mimeType: 'audio/mp3', data: 'iVBORw==' } },
    ],
  ])('is sent as %s', (_, part, node) => {
    expect(written(part)).toEqual(node);
  });

  it.each([
    [
      'a GIF by address, which Google does not fetch',
      fromUrl('https://example.com/a.gif'),
      undefined,
    ],
    ['an address of unknown type', fromUrl('https://example.com/a'), undefined],
    [
      'an address, by a model that fetches none',
      fromUrl('https://example.com/a.png'),
      'gemini-2.0-flash',
    ],
    ['bytes of unknown type', media({ mimeType: undefined }), undefined],
    ['a file at another provider', media({ source: { type: 'file', id: 'file-abc' } }), undefined],
  ])('is refused with the path of its part: %s', (_, part, model) => {
    expect(() => written(part, model)).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'messages[0].content[1]' }),
    );
  });

  it('is refused if the model does not support its kind', () => {
    const upstream = target('gemini-3-flash', { mediaInput: ['image'] });

    expect(() => bodyOf({ turns: [user(media({ mimeType: 'audio/wav' }))] }, upstream)).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'messages[0].content[1]' }),
    );
  });

  it('reports a dropped detail', () => {
    const exchange = begin({ turns: [user(media({ detail: 'high' }), media({ detail: 'auto' }))] });

    expect(exchange.dropped).toEqual(['messages[0].content[1].detail']);
  });
});
