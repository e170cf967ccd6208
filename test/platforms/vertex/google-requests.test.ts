// suite: slow
/** What Vertex AI refuses of Google's other API is changed or taken out, and nothing else is. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeholderSignature } from '../../../src/dialects/gemini/placeholder-signature.ts';
import type { JsonValue } from '../../../src/json.ts';
import { images, native } from '../../support/any-model-gateway.ts';
import { ask, type Members, text } from './ask.ts';

describe('ids of function calls', () => {
  const id = fc.constantFrom({}, { id: 'call_1' }, { id: '' });
  const value = fc.constantFrom<JsonValue>({}, { id: 'kept' }, { a: [{ id: 1 }] });
  const named = fc.constantFrom({ name: 'f' }, { name: 'id' });
  const part = fc.oneof(
    fc.tuple(id, named, value).map(([one, name, args]) => ({
      functionCall: { ...one, ...name, args },
    })),
    fc.tuple(named, value, id).map(([name, response, one]) => ({
      functionResponse: { ...name, response, ...one },
    })),
    fc.tuple(named, id).map(([name, one]) => ({ function_call: { ...name, ...one } })),
    fc.constant({ text: '"id"' }),
  );
  const contents = fc.array(
    fc.record({ role: fc.constantFrom('user', 'model'), parts: fc.array(part, { maxLength: 4 }) }),
    { minLength: 1, maxLength: 4 },
  );
  const indents = fc.constantFrom(0, 2);

  function withoutIds(all: JsonValue): JsonValue {
    return JSON.parse(text(all), (name, inner) => {
      const isCall = /^function_?(?:call|response)$/i.test(name);
      if (!isCall) return inner;
      const { id: _, ...rest } = inner;
      return rest;
    });
  }

  it('are taken out, and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(contents, indents, async (all, indent) => {
        const body = JSON.stringify({ contents: all, generationConfig: { seed: 1 } }, null, indent);
        const { sent } = await ask(native('json', body));
        const expected = { contents: withoutIds(all), generationConfig: { seed: 1 } };
        expect(sent[0]?.body).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('and signatures of other providers too', async () => {
    // The envelope in which the gateway hands out the signatures of other providers.
    const signature = Buffer.from('gw2:{"provider":"openai"}').toString('base64');
    const parts = [{ functionCall: { id: 'call_1', name: 'f' }, thoughtSignature: signature }];
    const { sent } = await ask(native('json', text({ contents: [{ role: 'model', parts }] })));

    expect(sent[0]?.body).toEqual({
      contents: [
        {
          role: 'model',
          parts: [{ functionCall: { name: 'f' }, thoughtSignature: placeholderSignature }],
        },
      ],
    });
  });

  it('are not written in translations', async () => {
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'f', arguments: '{}' },
    };
    const body = {
      model: 'm',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'ok' },
      ],
    };
    const { sent } = await ask({ path: '/v1/chat/completions', body: text(body) });

    expect(text(sent[0]?.body)).not.toContain('call_1');
    expect(text(sent[0]?.body)).toContain('functionResponse');
  });
});

describe('members of Google’s other API', () => {
  const places: readonly (readonly [path: string, body: Members])[] = [
    ['store', { store: false }],
    ['generationConfig.enableEnhancedCivicAnswers', civic('enableEnhancedCivicAnswers')],
    ['generation_config.enable_enhanced_civic_answers', civicInSnakeCase()],
    [
      'toolConfig.includeServerSideToolInvocations',
      { toolConfig: { includeServerSideToolInvocations: true } },
    ],
    ['contents[].parts[].partMetadata', { contents: [part({ partMetadata: {} })] }],
    [
      'contents[].parts[].functionResponse.willContinue',
      { contents: [part({ functionResponse: { name: 'f', response: {}, willContinue: true } })] },
    ],
    [
      'contents[].parts[].functionResponse.parts[].mediaProcessing',
      { contents: [part({ functionResponse: { name: 'f', parts: [{ mediaProcessing: {} }] } })] },
    ],
  ];

  function civic(name: string): Members {
    return { generationConfig: { [name]: true, seed: 1 } };
  }

  function civicInSnakeCase(): Members {
    return { generation_config: { enable_enhanced_civic_answers: true } };
  }

  function part(members: JsonValue): JsonValue {
    return { role: 'user', parts: [members] };
  }

  it.each(places)('%s is left out, and listed', async (path, body) => {
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
    const call = native('json', text({ contents, ...body }));
    const { reply, sent } = await ask(call);

    expect(reply.status).toBe(200);
    expect(reply.headers['x-tollgate-dropped']).toBe(path);
    expect(text(sent[0]?.body)).not.toContain(path.split('.').at(-1));
  });

  it.each(places)('%s is refused by a strict model', async (path, body) => {
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }];
    const call = native('json', text({ contents, ...body }));
    const { reply, sent } = await ask(call, { model: { strict: true } });

    expect(reply.status).toBe(400);
    expect(reply.text).toContain(path);
    expect(sent).toEqual([]);
  });
});

describe('a token count', () => {
  const contents = [
    { role: 'user', parts: [{ text: 'Hi' }] },
    { role: 'model', parts: [{ functionCall: { id: 'call_1', name: 'f', args: {} } }] },
  ];
  const counted = {
    contents: [contents[0], { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] }],
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    tools: [{ functionDeclarations: [{ name: 'f' }] }],
    generationConfig: { responseMimeType: 'application/json' },
  };
  const request = { ...counted, contents };
  const others = { toolConfig: {}, safetySettings: [], cachedContent: 'cachedContents/1' };
  const count = { path: '/v1beta/models/m:countTokens' };
  const reply = '{"totalTokens":9}';

  it.each<readonly [string, JsonValue]>([
    ['plain', request],
    ['with its model', { ...request, model: 'models/m' }],
    ['with members that do not count', { ...others, ...request }],
    ['wrapped', { generateContentRequest: { model: 'models/m', ...others, ...request } }],
    ['wrapped beside contents', { generateContentRequest: request, contents: [] }],
  ])('%s has the members that Vertex counts', async (_, body) => {
    for (const upstreamModel of ['m', 'gemini-3-flash']) {
      const { reply: answer, sent } = await ask(
        { ...count, body: text(body) },
        { upstreamModel, reply },
      );

      expect(answer.status, answer.text).toBe(200);
      expect(sent[0]?.url).toMatch(new RegExp(`/publishers/google/models/${upstreamModel}:count`));
      expect(sent[0]?.body).toEqual(counted);
    }
  });

  it('of another API is counted by Vertex', async () => {
    const body = { model: 'm', system: 'Be brief.', messages: [{ role: 'user', content: 'Hi' }] };
    const call = { path: '/v1/messages/count_tokens', body: text(body) };
    const { reply: answer, sent } = await ask(call, { reply });

    expect(answer.text).toBe('{"input_tokens":9}');
    expect(sent[0]?.body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
    });
  });
});

describe('the path', () => {
  it.each([
    ['gemini-3-flash', 'publishers/google/models/gemini-3-flash'],
    ['meta/llama-4@x', 'publishers/meta/models/llama-4@x'],
    ['publishers/google/models/gemini-3-flash', 'publishers/google/models/gemini-3-flash'],
    ['endpoints/1234', 'endpoints/1234'],
    ['a b?c#d', 'publishers/google/models/a%20b%3Fc%23d'],
  ])('of %s is %s', async (upstreamModel, path) => {
    const { sent } = await ask(native('json'), { upstreamModel });
    const place =
      'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1';
    expect(sent[0]?.url).toBe(`${place}/${path}:generateContent`);
  });

  it('of Imagen is not offered, which the error says', async () => {
    const setup = { upstreamModel: 'imagen-4.0-generate-001', model: imageModel };
    const { reply, sent } = await ask(images(), setup);

    expect(reply.status).toBe(501);
    expect(reply.text).toContain('Imagen');
    expect(sent).toEqual([]);
  });

  const imageModel = {
    price: { per: 'image', rows: [{ size: '1024x1024', nanos: 5n }] },
    protocols: ['images'],
  } as const;
});
