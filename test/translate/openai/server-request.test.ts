// suite: quick
/** Reading of the other members of a chat request. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { read, requestWith, user } from './server-read.ts';

describe('tools and the tool choice', () => {
  it('functions keep their schema, other tools are assigned to their provider', () => {
    const schema = { type: 'object', properties: {} };

    const { tools } = requestWith({
      tools: [
        {
          type: 'function',
          function: { name: 'f', parameters: schema, strict: true },
          cache_control: { type: 'ephemeral' },
        },
        { type: 'custom', custom: { name: 'c' } },
      ],
      functions: [{ name: 'g', description: 'G' }],
    });

    expect(tools).toMatchObject([
      {
        kind: 'function',
        name: 'f',
        parameters: schema,
        strict: true,
        at: 'tools[0]',
        cacheControl: { type: 'ephemeral' },
      },
      {
        kind: 'built_in',
        provider: 'openai',
        name: 'custom',
        value: { name: 'c' },
        at: 'tools[1]',
      },
      { kind: 'function', name: 'g', description: 'G', at: 'functions[0]' },
    ]);
  });

  it.each<[JsonObject, object | undefined]>([
    [{}, undefined],
    [{ tool_choice: null }, undefined],
    [{ tool_choice: 'required' }, { mode: 'required', names: [] }],
    [
      { tool_choice: { type: 'function', function: { name: 'f' } } },
      { mode: 'required', names: ['f'] },
    ],
    [
      { tool_choice: { type: 'custom', custom: { name: 'c' } } },
      { mode: 'required', names: ['c'] },
    ],
    [
      {
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: {
            mode: 'auto',
            tools: [
              { type: 'function', function: { name: 'f' } },
              { type: 'custom', custom: { name: 'c' } },
            ],
          },
        },
      },
      { mode: 'auto', names: ['f', 'c'] },
    ],
    [{ function_call: 'none' }, { mode: 'none', names: [] }],
    [{ function_call: { name: 'f' } }, { mode: 'required', names: ['f'] }],
  ])('%j is read as a tool choice', (members, choice) => {
    expect(requestWith(members).toolChoice).toEqual(choice);
  });
});

describe('fields', () => {
  it('zero and false are values, null counts as absent', () => {
    const request = requestWith({
      temperature: 0,
      top_p: 0,
      seed: 0,
      parallel_tool_calls: false,
      presence_penalty: null,
      n: null,
    });

    expect(request).toMatchObject({
      temperature: 0,
      topP: 0,
      seed: 0,
      parallelToolCalls: false,
      presencePenalty: undefined,
      candidates: 1,
      dropped: [],
    });
  });

  it('the older of two names is read, and used in errors, if only it was sent', () => {
    const { maxOutputTokens, endUserId, names } = requestWith({
      max_tokens: 9,
      safety_identifier: 'u',
    });

    expect({ maxOutputTokens, endUserId }).toEqual({ maxOutputTokens: 9, endUserId: 'u' });
    expect(names).toMatchObject({ maxOutputTokens: 'max_tokens', endUserId: 'safety_identifier' });
  });

  it('stop is an array, also if a string was sent', () => {
    expect(requestWith({ stop: 'a' }).stop).toEqual(['a']);
    expect(requestWith({ stop: ['', 'a', 'b'] }).stop).toEqual(['', 'a', 'b']);
    expect(requestWith({ stop: null }).stop).toEqual([]);
  });

  it('an effort other than none requests the reasoning as well', () => {
    expect(requestWith({ reasoning_effort: 'low' }).reasoning).toMatchObject({
      effort: 'low',
      includeThoughts: true,
    });
    expect(requestWith({ reasoning_effort: 'none' }).reasoning).toMatchObject({
      includeThoughts: false,
    });
  });

  it('the schema of the output format is kept with its name', () => {
    const schema = { type: 'object', properties: {} };
    const json_schema = { name: 'n', schema, strict: true };

    const { format } = requestWith({ response_format: { type: 'json_schema', json_schema } });

    expect(format).toEqual({
      type: 'json_schema',
      name: 'n',
      description: undefined,
      schema,
      strict: true,
    });
  });

  it('Google’s members are read under Google’s names', () => {
    const { providerMembers, dropped } = requestWith({
      safety_settings: [{ category: 'A', threshold: 'B' }],
      extra_body: {
        google: { cached_content: 'cachedContents/1', thinking_config: { thinking_budget: 5 } },
      },
    });

    expect(providerMembers).toEqual([
      {
        provider: 'gemini',
        name: 'safetySettings',
        value: [{ category: 'A', threshold: 'B' }],
        at: 'safety_settings',
        vital: false,
      },
      {
        provider: 'gemini',
        name: 'cachedContent',
        value: 'cachedContents/1',
        at: 'extra_body.google.cached_content',
        vital: true,
      },
      {
        provider: 'gemini',
        name: 'thinkingConfig',
        value: { thinkingBudget: 5 },
        at: 'extra_body.google.thinking_config',
        vital: false,
      },
    ]);
    expect(dropped).toEqual([]);
  });

  it('unsupported members are listed once, by the caller’s name', () => {
    const { dropped } = read({
      model: 'm',
      messages: [
        { role: 'user', name: 'Ann', content: 'Hi' },
        { role: 'user', name: 'Bob', content: [{ type: 'text', text: 'Hi', mood: 1 }] },
      ],
      metadata: { a: 'b' },
      logit_bias: {},
      store: null,
      'bad\r\nname': 1,
      stream_options: { include_usage: true, include_obfuscation: false },
    });

    expect(dropped).toEqual([
      'messages.name',
      'messages.content.mood',
      'metadata',
      'bad__name',
      'stream_options.include_obfuscation',
    ]);
  });
});

describe('an invalid member is refused with its path', () => {
  it.each<[JsonObject, string]>([
    [{ messages: [] }, 'messages'],
    [{ messages: [{ role: 'robot', content: 'Hi' }] }, 'messages[0].role'],
    [{ messages: [{ role: 'user', content: null }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: 7 }] }, 'messages[0].content'],
    [{ messages: [{ role: 'user', content: ['Hi'] }] }, 'messages[0].content[0]'],
    [{ messages: [{ role: 'user', content: [{ type: 'smell' }] }] }, 'messages[0].content[0]'],
    [
      {
        messages: [
          { role: 'system', content: [{ type: 'input_audio', input_audio: { data: 'AA' } }] },
        ],
      },
      'messages[0].content[0]',
    ],
    [{ messages: [user, { role: 'tool', content: '1' }] }, 'messages[1].tool_call_id'],
    [
      { messages: [user, { role: 'assistant', tool_calls: [{ id: 'a', function: {} }] }] },
      'messages[1].tool_calls[0].function.name',
    ],
    [{ tools: [{}] }, 'tools[0]'],
    [{ tools: [{ type: 'function', function: { name: '' } }] }, 'tools[0].function.name'],
    [{ tool_choice: 'maybe' }, 'tool_choice'],
    [{ temperature: 'hot' }, 'temperature'],
    [{ seed: 0.5 }, 'seed'],
    [{ stop: [1] }, 'stop'],
    [{ top_logprobs: 2 }, 'top_logprobs'],
    [{ reasoning_effort: 'some' }, 'reasoning_effort'],
    [{ modalities: ['smell'] }, 'modalities'],
    [{ response_format: { type: 'xml' } }, 'response_format.type'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
  ])('%j', (members, param) => {
    expect(() => requestWith(members)).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    );
  });
});
