// suite: quick
/** How the fields of native requests are read into the common form, and which are refused. */
import { describe, expect, it } from 'vitest';
import type { ContentRequest } from '../../../src/canonical/request.ts';
import { geminiServer } from '../../../src/dialects/gemini/server/codec.ts';
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import { serverCodecs } from '../../support/codecs.ts';

const contents = [{ role: 'user', parts: [{ text: 'Hello!' }] }];

describe('the system instruction', () => {
  it.each<[string, JsonValue, readonly string[]]>([
    ['a content', { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] }, ['a', 'b']],
    ['parts alone', [{ text: 'a' }, { text: 'b' }], ['a', 'b']],
    ['one part', { text: 'a' }, ['a']],
    ['text', 'a', ['a']],
  ])('may be %s', (_, systemInstruction, texts) => {
    const { system } = read({ contents, systemInstruction });

    expect(system.map(({ text }) => text)).toEqual(texts);
  });

  it('can only have text', () => {
    const parts = [{ text: 'a' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }];

    expect(() => read({ contents, systemInstruction: { parts } })).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'systemInstruction.parts[1]' }),
    );
  });
});

describe('tools', () => {
  it('are read from every entry, with schemas of both kinds', () => {
    const { tools, dropped } = read({
      contents,
      tools: [
        {
          functionDeclarations: [
            { name: 'a', description: 'A.', parameters: { type: 'OBJECT', properties: {} } },
          ],
          googleSearch: {},
          codeExecution: null,
        },
        {
          function_declarations: [
            {
              name: 'b',
              parameters_json_schema: { type: 'object', $defs: {} },
              response: { type: 'STRING' },
            },
            { name: 'c', parameters: {} },
          ],
        },
        { urlContext: {} },
      ],
    });

    expect(tools).toMatchObject([
      { kind: 'function', name: 'a', description: 'A.', parameters: { type: 'object' } },
      { kind: 'built_in', provider: 'gemini', name: 'googleSearch', at: 'tools[0].googleSearch' },
      { kind: 'function', name: 'b', parameters: { type: 'object', $defs: {} } },
      { kind: 'function', name: 'c', at: 'tools[1].functionDeclarations[1]' },
      { kind: 'built_in', name: 'urlContext', value: {} },
    ]);
    expect(tools[3]).not.toHaveProperty('parameters.type');
    expect(dropped).toEqual(['tools[1].functionDeclarations[0].response']);
  });

  it.each([
    ['AUTO', 'auto'],
    ['VALIDATED', 'auto'],
    ['ANY', 'required'],
  ])('may be restricted in mode %s', (mode, wanted) => {
    const { toolChoice } = read({
      contents,
      toolConfig: { functionCallingConfig: { mode, allowedFunctionNames: ['f', 'g'] } },
    });

    expect(toolChoice).toEqual({ mode: wanted, names: ['f', 'g'] });
  });
});

describe('the output format', () => {
  const schema = { type: 'OBJECT', properties: { a: { type: 'STRING', nullable: true } } };

  it.each<[string, JsonObject, JsonObject]>([
    ['JSON', { responseMimeType: 'application/json' }, { type: 'json' }],
    [
      'an OpenAPI schema',
      { responseMimeType: 'application/json', responseSchema: schema },
      { type: 'json_schema', schema: { type: 'object' } },
    ],
    [
      'a JSON Schema',
      { responseMimeType: 'application/json', responseJsonSchema: { type: 'array' } },
      { type: 'json_schema', schema: { type: 'array' } },
    ],
    [
      'one of some words',
      { responseMimeType: 'text/x.enum', responseSchema: { type: 'STRING', enum: ['a', 'b'] } },
      { type: 'enum', values: ['a', 'b'] },
    ],
    [
      'the newer list',
      { responseFormat: [{ text: { mimeType: 'APPLICATION_JSON', schema: { type: 'object' } } }] },
      { type: 'json_schema', schema: { type: 'object' } },
    ],
  ])('is %s', (_, generationConfig, format) => {
    expect(read({ contents, generationConfig }).format).toMatchObject(format);
  });

  it('is text by default', () => {
    const request = read({ contents, generationConfig: { responseMimeType: 'text/plain' } });

    expect(request).toMatchObject({ format: undefined, providerMembers: [] });
  });

  it('is vital if only Google supports it', () => {
    const { providerMembers: own } = read({
      contents,
      generationConfig: {
        responseMimeType: 'application/yaml',
        responseFormat: [{ image: { aspectRatio: '1:1' } }],
        responseModalities: ['VIDEO'],
      },
    });

    expect(own).toMatchObject([
      { at: 'generationConfig.responseFormat[0].image', vital: true },
      { at: 'generationConfig.responseMimeType', vital: true },
      { at: 'generationConfig.responseModalities', vital: true },
    ]);
  });

  it('is refused with the name that the caller used', () => {
    const { names } = read({ contents, generationConfig: { responseSchema: schema } });

    expect(names.format).toBe('generationConfig.responseSchema');
    expect(names.topK).toBe('generationConfig.topK');
  });
});

describe('members that only Google understands', () => {
  it('are vital if the request means something else without them', () => {
    const { providerMembers: own } = read({
      contents,
      cachedContent: 'cachedContents/1',
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      labels: { team: 'a' },
      generationConfig: { speechConfig: { languageCode: 'en' }, mediaResolution: 'LOW' },
    });

    expect(own.map(({ provider, at, vital }) => [provider, at, vital])).toEqual([
      ['gemini', 'cachedContent', true],
      ['gemini', 'safetySettings', false],
      ['gemini', 'labels', false],
      ['gemini', 'generationConfig.speechConfig', false],
      ['gemini', 'generationConfig.mediaResolution', false],
    ]);
  });

  it.each([
    ['SERVICE_TIER_FLEX', 'flex', []],
    ['standard', 'default', []],
    ['warp', undefined, ['serviceTier']],
  ])('but the tier %s is %s', (serviceTier, tier, dropped) => {
    expect(read({ contents, serviceTier })).toMatchObject({ serviceTier: tier, dropped });
  });
});

describe('an invalid request', () => {
  const part = (one: JsonValue): JsonObject => ({ contents: [{ parts: [one] }] });
  const config = (generationConfig: JsonObject): JsonObject => ({ contents, generationConfig });

  it.each<[string, JsonObject]>([
    ['contents', {}],
    ['contents', { contents: [] }],
    ['contents', { contents: [{ role: 'user' }] }],
    ['contents', { contents: 'Hello!' }],
    ['contents[0]', { contents: ['Hello!'] }],
    ['contents[0].parts', { contents: [{ parts: 'Hello!' }] }],
    ['contents[0].role', { contents: [{ role: 'assistant', parts: [{ text: 'a' }] }] }],
    ['contents[0].parts[0]', part('Hello!')],
    ['contents[0].parts[0]', part({ text: 'a', functionCall: { name: 'f' } })],
    ['contents[0].parts[0].text', part({ text: 1 })],
    ['contents[0].parts[0].inlineData.data', part({ inlineData: { mimeType: 'image/png' } })],
    ['contents[0].parts[0].fileData.fileUri', part({ fileData: {} })],
    ['contents[0].parts[0].functionCall.name', part({ functionCall: { args: {} } })],
    ['contents[0].parts[0].functionCall.args', part({ functionCall: { name: 'f', args: [] } })],
    ['contents[0].parts[0].functionResponse', part({ functionResponse: 'ok' })],
    ['systemInstruction', { contents, systemInstruction: 1 }],
    ['tools[0]', { contents, tools: ['f'] }],
    ['tools[0].functionDeclarations[0].name', { contents, tools: { functionDeclarations: [{}] } }],
    [
      'toolConfig.functionCallingConfig.mode',
      { contents, toolConfig: { functionCallingConfig: { mode: 'PERHAPS' } } },
    ],
    ['generationConfig', { contents, generationConfig: [] }],
    ['generationConfig.temperature', config({ temperature: 'warm' })],
    ['generationConfig.maxOutputTokens', config({ maxOutputTokens: 1.5 })],
    ['generationConfig.candidateCount', config({ candidateCount: 0 })],
    ['generationConfig.stopSequences[0]', config({ stopSequences: [1] })],
    [
      'generationConfig.thinkingConfig.thinkingLevel',
      config({ thinkingConfig: { thinkingLevel: 'x' } }),
    ],
    ['generationConfig.responseMimeType', config({ responseMimeType: 'text/x.enum' })],
    [
      'generationConfig.responseSchema',
      config({ responseMimeType: 'text/plain', responseSchema: { type: 'STRING' } }),
    ],
  ])('is refused with the name `%s`', (param, body) => {
    expect(() => read(body)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param, name: 'GatewayError' }),
    );
  });
});

it('a count of tokens is Google’s', () => {
  expect(JSON.parse(serverCodecs.native.countTokens?.write(7) ?? '')).toEqual({ totalTokens: 7 });
});

function read(body: JsonObject): ContentRequest {
  return geminiServer.begin(body, { streamed: false }).request;
}
