// suite: quick
/** How native conversations are read into the common form, in every spelling and part by part. */
import { describe, expect, it } from 'vitest';
import { seal } from '../../../src/canonical/envelope.ts';
import type { ContentRequest } from '../../../src/canonical/request.ts';
import { geminiServer } from '../../../src/dialects/gemini/server/codec.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../../src/json.ts';
import { fixture, fixtures } from '../../support/fixtures.ts';

const contents = [{ role: 'user', parts: [{ text: 'Hello!' }] }];

describe('a recorded request', () => {
  const recorded = fixtures('gemini').filter(({ request }) => request !== undefined);

  it.each(recorded.map(({ name }) => name))('%s is read', (name) => {
    const request = readRecorded(name);

    expect(request.turns.length).toBeGreaterThan(0);
    expect(request.turns.every(({ parts }) => parts.length > 0)).toBe(true);
  });

  it('keeps ids, signatures and the order of its parts', () => {
    const { turns } = readRecorded('json-schema-plus-tools.2');

    const [, call, result] = turns;
    expect(call?.parts).toMatchObject([
      {
        kind: 'tool_call',
        id: 'w71i0cbt',
        providerData: { provider: 'gemini', kind: 'signature' },
      },
    ]);
    expect(result).toMatchObject({
      role: 'user',
      parts: [{ kind: 'tool_result', callId: 'w71i0cbt', name: 'get_user_country' }],
    });
  });

  it('makes functions strict in mode VALIDATED', () => {
    const { tools, toolChoice } = readRecorded('mode-validated.1');

    expect(tools).toMatchObject([{ kind: 'function', name: 'register', strict: true }]);
    expect(toolChoice).toEqual({ mode: 'auto', names: [] });
  });

  it('has images inside a result, in snake_case', () => {
    const { turns } = readRecorded('tool-return-image-gemini3.4');

    const media = turns
      .flatMap(({ parts }) => parts)
      .flatMap((part) => (part.kind === 'tool_result' ? part.content : []))
      .filter(({ kind }) => kind === 'media');
    expect(media).toMatchObject([{ mimeType: 'image/jpeg', source: { type: 'base64' } }]);
  });

  it('reports members that only Vertex supports', () => {
    const { providerMembers: own } = readRecorded('model-armor-prompt-block.1');

    expect(own).toMatchObject([{ name: 'modelArmorConfig', vital: false }]);
  });
});

describe('spelling', () => {
  const camel = {
    contents: [
      { parts: [{ inlineData: { mimeType: 'Image/PNG', data: 'AAAA' } }] },
      { role: 'model', parts: [{ functionCall: { name: 'f' }, thoughtSignature: 'c2ln' }] },
      { parts: [{ functionResponse: { name: 'f', response: { output: 'ok' } } }] },
    ],
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }],
    generationConfig: {
      topP: 0,
      topK: 40,
      maxOutputTokens: 9,
      stopSequences: ['x'],
      thinkingConfig: { includeThoughts: true, thinkingBudget: -1, thinkingLevel: 'LOW' },
      responseLogprobs: true,
    },
    cachedContent: 'cachedContents/1',
  };

  it('in snake_case means the same', () => {
    const snake = snakeCased(camel);

    expect(read(snake)).toEqual({ ...read(camel), providerMembers: expect.anything() });
    expect(read(snake).providerMembers).toMatchObject([
      { name: 'cachedContent', at: 'cached_content' },
    ]);
  });

  it('may be mixed', () => {
    const request = read({
      contents,
      generation_config: { topK: 3, max_output_tokens: 5 },
      generationConfig: null,
    });

    expect(request).toMatchObject({ topK: 3, maxOutputTokens: 5 });
  });

  it('may have numbers as strings and enums in any case, with or without prefix', () => {
    const request = read({
      contents,
      generationConfig: {
        maxOutputTokens: '64',
        temperature: '0.5',
        seed: 0,
        thinkingConfig: { thinkingLevel: 'thinking_level_high' },
        responseModalities: ['text', 'MODALITY_IMAGE', 'MODALITY_UNSPECIFIED'],
      },
      toolConfig: { functionCallingConfig: { mode: 'mode_none' } },
    });

    expect(request).toMatchObject({
      maxOutputTokens: 64,
      temperature: 0.5,
      seed: 0,
      reasoning: { effort: 'high' },
      modalities: ['text', 'image'],
      toolChoice: { mode: 'none', names: [] },
    });
  });

  it('ignores empty lists and objects', () => {
    const request = read({
      contents,
      tools: [],
      safetySettings: [],
      labels: {},
      systemInstruction: '',
      toolConfig: { functionCallingConfig: { mode: 'MODE_UNSPECIFIED' } },
      generationConfig: { stopSequences: [], responseModalities: [], speechConfig: {} },
    });

    expect(request).toEqual(read({ contents }));
    expect(request).toMatchObject({
      providerMembers: [],
      dropped: [],
      candidates: 1,
      toolChoice: undefined,
    });
  });

  it('of countTokens may wrap the whole request', () => {
    const request = read({ generateContentRequest: { model: 'models/m', contents } });

    expect(request.turns).toEqual(read({ contents }).turns);
  });
});

describe('the conversation', () => {
  it('may be one content, with the role user by default', () => {
    const { turns } = read({ contents: { parts: [{ text: 'Hello!' }] } });

    expect(turns).toEqual([
      { role: 'user', parts: [{ kind: 'text', at: 'contents[0].parts[0]', text: 'Hello!' }] },
    ]);
  });

  it('keeps contents of one role separate, and drops those without parts', () => {
    const { turns } = read({
      contents: [...contents, { role: 'model' }, ...contents, { role: 'model', parts: [] }],
    });

    expect(turns.map(({ role }) => role)).toEqual(['user', 'user']);
  });

  it.each(['user', 'model', 'function'])('recognizes a result in the role %s', (role) => {
    const { turns } = read({
      contents: [
        { role: 'model', parts: [{ functionCall: { name: 'f', args: { a: null } } }] },
        { role, parts: [{ functionResponse: { name: 'f', response: { a: 1 } } }] },
      ],
    });

    expect(turns).toMatchObject([
      { role: 'assistant', parts: [{ id: 'call_t0p0', arguments: '{"a":null}' }] },
      { role: 'user', parts: [{ callId: 'call_t0p0', content: [{ text: '{"a":1}' }] }] },
    ]);
  });

  it('splits a content whose parts belong to both sides, in order', () => {
    const call = { functionCall: { name: 'f', args: null } };
    const result = { functionResponse: { name: 'f', response: { result: 'ok' } } };

    const { turns } = read({
      contents: [
        { role: 'model', parts: [{ text: 'a' }, call, result, { text: 'b' }] },
        { role: 'user', parts: [{ text: 'c' }, { text: 'hm', thought: true }, call] },
      ],
    });

    expect(turns.map(({ role, parts }) => [role, parts.map(({ kind }) => kind)])).toEqual([
      ['assistant', ['text', 'tool_call']],
      ['user', ['tool_result']],
      ['assistant', ['text']],
      ['user', ['text']],
      ['assistant', ['reasoning', 'tool_call']],
    ]);
  });

  it('distinguishes thoughts from text, and unseals another provider’s data', () => {
    const providerData = { provider: 'anthropic', kind: 'encrypted', data: 'xyz' } as const;

    const { turns } = read({
      contents: [
        {
          role: 'model',
          parts: [
            { text: 'hm', thought: true, thoughtSignature: 'Z29vZ2xl' },
            { text: '', thought: true, thoughtSignature: seal(providerData) },
            { thoughtSignature: 'bGFzdA' },
          ],
        },
      ],
    });

    expect(turns[0]?.parts).toMatchObject([
      { kind: 'reasoning', text: 'hm', providerData: { provider: 'gemini', data: 'Z29vZ2xl' } },
      { kind: 'reasoning', text: '', providerData },
      { kind: 'text', text: '', providerData: { provider: 'gemini', data: 'bGFzdA' } },
    ]);
  });

  it('has code and its result as fenced text', () => {
    const { turns } = read({
      contents: [
        {
          role: 'model',
          parts: [
            { executableCode: { language: 'PYTHON', code: 'print("```")' } },
            { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '```\n' } },
            { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'no' } },
          ],
        },
      ],
    });

    expect(turns[0]?.parts.map((part) => part.kind === 'text' && part.text)).toEqual([
      '\n````python\nprint("```")\n````\n',
      '\n````\n```\n````\n',
      '\n```failed\nno\n```\n',
    ]);
  });

  it('drops and reports parts that only Google understands', () => {
    const { turns, dropped } = read({
      contents: [
        {
          role: 'model',
          parts: [
            { toolCall: { id: '1' }, thoughtSignature: 'c2ln' },
            { toolResponse: { id: '1' } },
            { fromTheFuture: 1 },
            {},
            { text: 'a', videoMetadata: { fps: 1 } },
          ],
        },
      ],
      unknown_field: 1,
      generationConfig: { novelty: 2, logprobs: 3 },
    });

    expect(turns).toMatchObject([{ parts: [{ text: 'a' }] }]);
    expect(dropped).toEqual([
      'contents[0].parts[0].toolCall',
      'contents[0].parts[1].toolResponse',
      'contents[0].parts[2].fromTheFuture',
      'contents[0].parts[3]',
      'contents[0].parts[4].videoMetadata',
      'generationConfig.novelty',
      'generationConfig.logprobs',
      'unknown_field',
    ]);
  });
});

describe('media', () => {
  it.each([
    [{ mimeType: 'audio/wav', data: 'a-_b', displayName: 'a.wav' }, 'audio/wav', 'a+/b'],
    [{ data: 'iVBORw0KGgo' }, 'image/png', 'iVBORw0KGgo='],
  ])('sent inline becomes standard Base64: %o', (inlineData, mimeType, data) => {
    const { turns } = read({ contents: [{ parts: [{ inlineData }] }] });

    expect(turns[0]?.parts).toMatchObject([{ mimeType, source: { type: 'base64', data } }]);
  });

  it.each([
    ['https://example.com/a.png', 'url', 'image/png'],
    ['https://www.youtube.com/watch?v=1', 'url', undefined],
    ['gs://bucket/a.pdf', 'file', 'application/pdf'],
    ['files/abc', 'file', undefined],
    ['https://generativelanguage.googleapis.com/v1beta/files/abc', 'file', undefined],
  ])('at %s is a %s of type %s', (fileUri, type, mimeType) => {
    const { turns } = read({ contents: [{ parts: [{ fileData: { fileUri } }] }] });

    const [part] = turns[0]?.parts ?? [];
    expect(part).toMatchObject({ kind: 'media', source: { type } });
    expect(part?.kind === 'media' && part.mimeType).toBe(mimeType);
  });

  it('gets its detail from the resolution', () => {
    const fileData = { fileUri: 'https://example.com/a', mimeType: 'image/webp' };
    const parts = ['MEDIA_RESOLUTION_LOW', 'MEDIA_RESOLUTION_MEDIUM'].map((level) => ({
      fileData,
      mediaResolution: { level },
    }));

    const { turns, dropped } = read({ contents: [{ parts }] });

    expect(turns[0]?.parts).toMatchObject([{ detail: 'low' }, { mimeType: 'image/webp' }]);
    expect(dropped).toEqual(['contents[0].parts[1].mediaResolution']);
  });
});

describe('the result of a function', () => {
  it.each<[JsonValue, string, boolean]>([
    [{ output: 'a' }, 'a', false],
    [{ result: 'a' }, 'a', false],
    [{ content: 'a' }, 'a', false],
    [{ return_value: 'a' }, 'a', false],
    [{ output: 1 }, '{"output":1}', false],
    [{ output: 'a', more: 1 }, '{"output":"a","more":1}', false],
    [{ constructor: 'a' }, '{"constructor":"a"}', false],
    [{ error: 'no' }, 'no', true],
    [{ error: { code: 5 } }, '{"code":5}', true],
    [{ error: 'no', output: 'a' }, '{"error":"no","output":"a"}', false],
    [{}, '{}', false],
  ])('%j is %s, an error: %s', (response, text, isError) => {
    const { turns } = read({
      contents: [
        { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
        { parts: [{ functionResponse: { name: 'f', response } }] },
      ],
    });

    expect(turns[1]?.parts).toMatchObject([{ content: [{ kind: 'text', text }], isError }]);
  });
});

function read(body: JsonObject): ContentRequest {
  return geminiServer.begin(body, { streamed: false }).request;
}

function readRecorded(name: string): ContentRequest {
  const { request } = fixture(name.startsWith('gemini/') ? name : `gemini/${name}`);
  const body = parseJson(Buffer.from(request ?? []).toString('utf8'));
  if (!isJsonObject(body)) throw new Error(`The fixture "${name}" has no request.`);
  return read(body);
}

/** Converts every name to snake_case, and keeps every value. */
function snakeCased(body: JsonObject): JsonObject {
  const text = JSON.stringify(body).replace(/"(\w+)":/g, (name) =>
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  );
  const parsed = parseJson(text);
  return isJsonObject(parsed) ? parsed : {};
}
