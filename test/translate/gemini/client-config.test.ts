// suite: quick
/** The tools and settings of a request translated for a Gemini upstream. */
import { describe, expect, it } from 'vitest';
import type { ContentRequest, OutputFormat, Reasoning } from '../../../src/canonical/request.ts';
import { type JsonValue, member } from '../../../src/json.ts';
import type { Capabilities } from '../../../src/ports/catalog.ts';
import { begin, bodyOf, look, ownOf, target, text } from './client.ts';

const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Place',
  type: 'object',
  properties: { title: { type: 'string' } },
  additionalProperties: false,
};

function config(
  request: Partial<ContentRequest>,
  model?: string,
  own?: Capabilities,
): JsonValue | undefined {
  return member(bodyOf(request, target(model, own)), 'generationConfig');
}

function dropped(
  request: Partial<ContentRequest>,
  model?: string,
  own?: Capabilities,
): readonly string[] {
  return begin(request, target(model, own)).dropped;
}

describe('tools', () => {
  it('are in one entry, with schemas that lose only their titles', () => {
    const tools = [look({ parameters: schema, description: 'Looks.' }), look({ name: 'go' })];

    const body = bodyOf({ tools });

    expect(member(body, 'tools')).toEqual([
      {
        functionDeclarations: [
          {
            name: 'look',
            description: 'Looks.',
            parametersJsonSchema: {
              $schema: 'https://json-schema.org/draft/2020-12/schema',
              type: 'object',
              properties: { title: { type: 'string' } },
              additionalProperties: false,
            },
          },
          { name: 'go' },
        ],
      },
    ]);
    expect(member(body, 'toolConfig')).toBeUndefined();
  });

  it('have Google’s OpenAPI schemas for older models, and report losses', () => {
    const exchange = begin({ tools: [look({ parameters: schema })] }, target('gemini-1.5-pro'));

    expect(exchange.body).toContain('"parameters":{');
    expect(exchange.body).not.toContain('additionalProperties');
    expect(exchange.dropped).toEqual(['tools.schema']);
  });

  it.each([
    ['auto', { mode: 'auto', names: [] }, { mode: 'AUTO' }],
    ['none', { mode: 'none', names: [] }, { mode: 'NONE' }],
    ['required', { mode: 'required', names: [] }, { mode: 'ANY' }],
    [
      'a named one',
      { mode: 'required', names: ['go'] },
      { mode: 'ANY', allowedFunctionNames: ['go'] },
    ],
    [
      'some of them',
      { mode: 'auto', names: ['go'] },
      { mode: 'VALIDATED', allowedFunctionNames: ['go'] },
    ],
  ] as const)('are selected: %s', (_, toolChoice, functionCallingConfig) => {
    const body = bodyOf({ tools: [look(), look({ name: 'go' })], toolChoice });

    expect(member(body, 'toolConfig')).toEqual({ functionCallingConfig });
  });

  it('are filtered if the model does not support VALIDATED', () => {
    const body = bodyOf(
      { tools: [look(), look({ name: 'go' })], toolChoice: { mode: 'auto', names: ['go'] } },
      target('gemini-2.0-flash'),
    );

    expect(member(body, 'tools')).toEqual([{ functionDeclarations: [{ name: 'go' }] }]);
    expect(member(body, 'toolConfig')).toEqual({ functionCallingConfig: { mode: 'AUTO' } });
  });

  it('are validated if one is strict, or strict is reported as dropped', () => {
    const tools = [look({ strict: true })];

    const newer = bodyOf({ tools });
    const older = begin({ tools }, target('gemini-2.0-flash'));

    expect(member(newer, 'toolConfig')).toEqual({ functionCallingConfig: { mode: 'VALIDATED' } });
    expect(older.body).not.toContain('toolConfig');
    expect(older.dropped).toEqual(['tools[0].strict']);
  });

  it('of Google are sent with functions if the model supports both', () => {
    const search = {
      kind: 'built_in',
      provider: 'gemini',
      name: 'googleSearch',
      value: {},
      at: 'web_search_options',
    } as const;

    const body = bodyOf({ tools: [look(), search] });

    expect(member(body, 'tools')).toEqual([
      { functionDeclarations: [{ name: 'look' }] },
      { googleSearch: {} },
    ]);
    expect(() => bodyOf({ tools: [look(), search] }, target('gemini-2.5-flash'))).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'web_search_options' }),
    );
  });

  it('of another provider are refused, or dropped if the channel is configured so', () => {
    const custom = {
      kind: 'built_in',
      provider: 'openai',
      name: 'custom',
      value: {},
      at: 'tools[1]',
    } as const;

    expect(() => bodyOf({ tools: [look(), custom] })).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'tools[1]' }),
    );
    expect(dropped({ tools: [look(), custom] }, undefined, { dropBuiltInTools: true })).toEqual([
      'tools[1]',
    ]);
  });

  it('can not be limited to one call at a time', () => {
    expect(dropped({ tools: [look()], parallelToolCalls: false })).toEqual(['parallel_tool_calls']);
  });
});

describe('settings', () => {
  it('keep zeros, and every number as it is', () => {
    const request = {
      temperature: 0,
      topP: 0,
      topK: 1,
      seed: 0,
      maxOutputTokens: 5,
      stop: ['END'],
      presencePenalty: 0,
      frequencyPenalty: 0,
    };

    expect(config(request)).toEqual({
      temperature: 0,
      topP: 0,
      topK: 1,
      maxOutputTokens: 5,
      stopSequences: ['END'],
      seed: 0,
    });
    expect(dropped(request)).toEqual([]);
  });

  it.each([
    ['a temperature beyond 2', { temperature: 3 }, { temperature: 2 }, ['temperature']],
    ['an empty stop', { stop: ['END', ''] }, { stopSequences: ['END'] }, ['stop']],
    ['a sixth stop', { stop: [...'abcdef'] }, { stopSequences: [...'abcde'] }, ['stop']],
    ['a seed of 33 bits', { seed: 2 ** 32 + 7 }, { seed: 7 }, ['seed']],
    ['a penalty', { presencePenalty: 1 }, undefined, ['presence_penalty']],
    [
      'a user and a tier',
      { endUserId: 'u', serviceTier: 'flex' },
      undefined,
      ['user', 'service_tier'],
    ],
    [
      'more alternatives than there are',
      { logprobs: { top: 30 } },
      { responseLogprobs: true, logprobs: 20 },
      ['logprobs'],
    ],
  ])('are limited to what Gemini accepts, and reported: %s', (_, request, written, lost) => {
    expect(config(request)).toEqual(written);
    expect(dropped(request)).toEqual(lost);
  });

  it('report members that the reader dropped, and cache marks', () => {
    const cacheControl = { type: 'ephemeral' };

    const lost = dropped({
      dropped: ['store', 'user'],
      endUserId: 'u',
      system: [{ ...text('Be brief.'), cacheControl }],
      tools: [look({ cacheControl })],
    });

    expect(lost).toEqual(['store', 'user', 'at.Be brief..cache_control', 'tools[0].cache_control']);
  });

  it('pass penalties to a model that takes them', () => {
    const request = { presencePenalty: 1, frequencyPenalty: -1 };

    expect(config(request, 'gemini-2.0-flash')).toEqual(request);
  });

  it('can ask for logprobs without alternatives', () => {
    expect(config({ logprobs: { top: undefined } })).toEqual({ responseLogprobs: true });
  });

  it('can ask for several candidates only if the model supports them', () => {
    const refused = expect.objectContaining({ code: 'not_portable', param: 'n' });

    expect(config({ candidates: 2 }, 'gemini-2.5-flash')).toEqual({ candidateCount: 2 });
    expect(() => config({ candidates: 2 })).toThrow(refused);
    expect(() => config({ candidates: 9 }, 'gemini-2.5-flash')).toThrow(refused);
    expect(() => config({ candidates: 2, streamed: true }, 'gemini-2.5-flash')).toThrow(refused);
  });

  it('can ask for images and audio if the model generates them', () => {
    const makes = { mediaOutput: true };

    expect(config({ modalities: ['text', 'image'] }, undefined, makes)).toEqual({
      responseModalities: ['TEXT', 'IMAGE'],
    });
    expect(config({ modalities: ['text', 'audio'] }, undefined, makes)).toEqual({
      responseModalities: ['AUDIO'],
    });
    expect(config({ modalities: ['text'] })).toBeUndefined();
    expect(() => config({ modalities: ['image'] })).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'modalities' }),
    );
  });

  it('have the caller’s members for Google at their paths', () => {
    const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }];
    const own = [
      ownOf('gemini', 'safetySettings', safetySettings),
      ownOf('gemini', 'cachedContent', 'cachedContents/a'),
      ownOf('gemini', 'thinkingConfig', { thinkingBudget: 7 }),
      ownOf('anthropic', 'container', {}),
    ];

    const exchange = begin({ providerMembers: own, reasoning: requestWith({ effort: 'low' }) });

    expect(JSON.parse(exchange.body)).toMatchObject({
      safetySettings,
      cachedContent: 'cachedContents/a',
      generationConfig: { thinkingConfig: { thinkingBudget: 7, includeThoughts: true } },
    });
    expect(exchange.body).not.toContain('thinkingLevel');
    expect(exchange.dropped).toEqual(['extra.container']);
    expect(() => begin({ providerMembers: [{ ...ownOf('openai', 'x', 1), vital: true }] })).toThrow(
      expect.objectContaining({ code: 'not_portable', param: 'extra.x' }),
    );
  });
});

describe('the output format', () => {
  const place: OutputFormat = {
    type: 'json_schema',
    name: 'place',
    description: 'A place.',
    schema: { type: 'object', properties: { a: { const: 1 } } },
    strict: true,
  };

  it('is JSON with a schema, in the member that the model supports', () => {
    expect(config({ format: place })).toEqual({
      responseMimeType: 'application/json',
      responseJsonSchema: {
        description: 'A place.',
        type: 'object',
        properties: { a: { const: 1 } },
      },
    });
    expect(config({ format: place }, 'gemini-1.5-pro')).toMatchObject({
      responseMimeType: 'application/json',
      responseSchema: expect.objectContaining({ properties: expect.anything() }),
    });
  });

  it('is any JSON, or an enum', () => {
    expect(config({ format: { type: 'json' } })).toEqual({ responseMimeType: 'application/json' });
    expect(config({ format: { type: 'enum', values: ['a', 'b'] } })).toEqual({
      responseMimeType: 'text/x.enum',
      responseSchema: { type: 'STRING', enum: ['a', 'b'] },
    });
  });

  it('is an instruction with tools if the model refuses both', () => {
    const exchange = begin({ format: place, tools: [look()] }, target('gemini-2.5-flash'));

    expect(exchange.body).not.toContain('responseMimeType');
    expect(exchange.dropped).toEqual(['response_format']);
    expect(member(JSON.parse(exchange.body), 'systemInstruction')).toEqual({
      parts: [{ text: expect.stringContaining('"const":1') }],
    });
  });

  it('is an instruction if the model does not support schemas', () => {
    const own: Capabilities = { structuredOutput: 'json' };

    const exchange = begin({ format: place }, target('gemini-3-flash', own));

    expect(exchange.body).toContain('"responseMimeType":"application/json"');
    expect(exchange.body).toContain('systemInstruction');
    expect(exchange.dropped).toEqual(['response_format']);
  });
});

function requestWith(given: Partial<Reasoning>): Reasoning {
  return { effort: undefined, budgetTokens: undefined, includeThoughts: undefined, ...given };
}

describe('thinking', () => {
  const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
  const thinking = (model: string, reasoning: Reasoning): JsonValue | undefined =>
    member(config({ reasoning }, model), 'thinkingConfig');

  it.each([
    ['gemini-3-flash', ['MINIMAL', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'HIGH', 'HIGH']],
    ['gemini-3.1-pro', ['LOW', 'LOW', 'LOW', 'MEDIUM', 'HIGH', 'HIGH', 'HIGH']],
    ['gemini-3-pro-preview', ['LOW', 'LOW', 'LOW', 'HIGH', 'HIGH', 'HIGH', 'HIGH']],
  ])('has the level %s', (model, levels) => {
    const written = efforts.map((effort) => thinking(model, requestWith({ effort })));

    expect(written).toEqual(
      levels.map((thinkingLevel, index) => ({ thinkingLevel, includeThoughts: index > 0 })),
    );
  });

  it.each([
    ['gemini-2.5-flash', [0, 512, 1_024, 8_192, 24_576, 24_576, 24_576]],
    ['gemini-2.5-flash-lite', [0, 512, 1_024, 8_192, 24_576, 24_576, 24_576]],
    ['gemini-2.5-pro', [128, 128, 1_024, 8_192, 24_576, 32_768, 32_768]],
  ])('has a budget of %s', (model, budgets) => {
    const written = efforts.map((effort) => thinking(model, requestWith({ effort })));

    expect(written).toEqual(
      budgets.map((thinkingBudget, index) => ({ thinkingBudget, includeThoughts: index > 0 })),
    );
  });

  it('is reported if the model gets another value', () => {
    const lost = efforts.filter(
      (effort) =>
        dropped({ reasoning: requestWith({ effort }) }, 'gemini-3-pro-preview').length > 0,
    );

    expect(lost).toEqual(['none', 'minimal', 'medium', 'xhigh', 'max']);
    expect(dropped({ reasoning: requestWith({ effort: 'none' }) }, 'gemini-2.5-pro')).toEqual([
      'reasoning_effort',
    ]);
  });

  it('has a budget within the model’s range, including dynamic and off', () => {
    const budgets = [-1, 0, 1, 50_000].map((budgetTokens) =>
      member(thinking('gemini-2.5-pro', requestWith({ budgetTokens })), 'thinkingBudget'),
    );

    expect(budgets).toEqual([-1, 128, 128, 32_768]);
  });

  it('is not set if the caller does not ask for it or the model does not support it', () => {
    expect(config({})).toBeUndefined();
    expect(
      config({ reasoning: requestWith({ effort: 'high' }) }, 'gemini-2.0-flash'),
    ).toBeUndefined();
    expect(dropped({ reasoning: requestWith({ effort: 'high' }) }, 'gemini-2.0-flash')).toEqual([
      'reasoning_effort',
    ]);
    expect(dropped({ reasoning: requestWith({ effort: 'none' }) }, 'gemini-2.0-flash')).toEqual([]);
  });

  it('is hidden from a caller who does not ask for it', () => {
    const reasoning = requestWith({ effort: 'high', includeThoughts: false });

    expect(thinking('gemini-3-flash', reasoning)).toEqual({
      thinkingLevel: 'HIGH',
      includeThoughts: false,
    });
  });
});
