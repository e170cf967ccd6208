// suite: quick
/** Schemas, output formats and reasoning that other gateways were reported to break. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { pick } from '../matrix/json.ts';
import { sent, upstreamBody } from './translated-call.ts';

const user = (content: string): JsonObject => ({ role: 'user', content });
const turn = (role: string, ...parts: readonly JsonObject[]): JsonObject => ({ role, parts });
const chatTool = (name: string, more: JsonObject = {}): JsonObject => ({
  type: 'function',
  function: { name, ...more },
});
const call = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: 'function',
  function: { name: 'now', arguments: '{}' },
  ...more,
});
const result = (id: string): JsonObject => ({ role: 'tool', tool_call_id: id, content: 'noon' });
const envelope = (data: string): string => Buffer.from(`gw1:${data}`).toString('base64');

const named = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Place',
  type: 'object',
  properties: {
    title: { type: 'string', title: 'Title', default: { title: 'kept' } },
    pattern: { type: 'string' },
    format: { type: 'string' },
    $ref: { type: 'string' },
    properties: { type: 'string' },
  },
  required: ['title', 'pattern', 'format', '$ref', 'properties'],
};

describe('schemas', () => {
  it('of tools lose their titles, not properties of that name (browser-use#2856)', async () => {
    const tools = [chatTool('now', { parameters: named })];

    const body = await upstreamBody('chat over gemini', { tools });

    const declared = pick(body, 'tools', 0, 'functionDeclarations', 0, 'parametersJsonSchema');
    expect(pick(declared, '$schema')).toBe(named.$schema);
    expect(pick(declared, 'title')).toBe(undefined);
    expect(pick(declared, 'required')).toEqual(named.required);
    expect(pick(declared, 'properties', 'title')).toEqual({
      type: 'string',
      default: { title: 'kept' },
    });
  });

  it('in Google’s subset keep properties named like keywords (OmniRoute#4339)', async () => {
    const tools = [chatTool('now', { parameters: named })];

    const { upstream, answer: reply } = await sent(
      'chat over gemini',
      { tools },
      {
        channel: { upstreamModel: 'gemini-1.5-pro' },
      },
    );

    const declared = pick(upstream, 'tools', 0, 'functionDeclarations', 0, 'parameters');
    expect(reply.status).toBe(200);
    expect(Object.keys(Object(pick(declared, 'properties')))).toEqual(named.required);
    expect(pick(declared, 'required')).toEqual(named.required);
  });

  it.each([
    { propertyNames: { pattern: '^a' } },
    { patternProperties: { '^a': { type: 'string' } } },
    { properties: { a: { const: 1 }, b: { type: 'number', exclusiveMinimum: 1 } } },
    { properties: { a: { type: 'string', contentEncoding: 'base64' } } },
    { not: { required: ['a'] } },
  ])('no unknown keyword is a refusal: %j (weave-os/router#808, opencode#15408)', async (more) => {
    const tools = [chatTool('now', { parameters: { type: 'object', ...more } })];

    const { answer: reply, upstream } = await sent(
      'chat over gemini',
      { tools },
      {
        channel: { upstreamModel: 'gemma-3' },
      },
    );

    const [keyword = ''] = Object.keys(more).filter((name) => name !== 'properties');
    const declared = JSON.stringify(pick(upstream, 'tools', 0));
    expect(reply.status).toBe(200);
    if (keyword !== '') expect(declared).not.toContain(keyword);
    expect(declared).not.toMatch(/"const"|exclusiveMinimum|contentEncoding/);
  });

  it('in Google’s spelling become JSON Schema for others', async () => {
    const parameters = {
      type: 'OBJECT',
      properties: { list: { type: 'ARRAY', maxItems: '2', items: { type: 'STRING' } } },
      propertyOrdering: ['list'],
    };
    const tools = [{ functionDeclarations: [{ name: 'now', parameters }] }];

    const body = await upstreamBody('native over anthropic', { tools });

    expect(pick(body, 'tools', 0, 'input_schema')).toEqual({
      type: 'object',
      properties: { list: { type: 'array', maxItems: 2, items: { type: 'string' } } },
    });
  });

  it('are sent to OpenAI as strict only if they are', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } } };
    const generationConfig = { responseMimeType: 'application/json', responseJsonSchema: schema };

    const body = await upstreamBody('native over openai', { generationConfig });

    expect(pick(body, 'response_format', 'json_schema')).toMatchObject({
      name: 'response',
      schema,
    });
    expect(pick(body, 'response_format', 'json_schema', 'strict')).not.toBe(true);
  });
});

describe('the output format', () => {
  it('is JSON only with the word JSON in a message, which OpenAI requires', async () => {
    const generationConfig = { responseMimeType: 'application/json' };

    const body = await upstreamBody('native over openai', { generationConfig });

    expect(JSON.stringify(pick(body, 'messages')).toLowerCase()).toContain('json');
  });

  it('is an instruction with tools before Gemini 3, and reported', async () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const body = {
      tools: [chatTool('now')],
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    };

    const { upstream, dropped } = await sent('chat over gemini', body, {
      channel: { upstreamModel: 'gemini-2.5-flash' },
    });

    expect(pick(upstream, 'tools', 0, 'functionDeclarations', 0, 'name')).toBe('now');
    expect(JSON.stringify(pick(upstream, 'generationConfig') ?? null)).not.toContain('Schema');
    expect(JSON.stringify(pick(upstream, 'systemInstruction'))).toContain('city');
    expect(dropped).toEqual(['response_format']);
  });
});

describe('reasoning effort', () => {
  it.each([
    ['gemini-3.1-pro', 'minimal', { thinkingLevel: 'LOW' }],
    ['gemini-3-flash', 'minimal', { thinkingLevel: 'MINIMAL' }],
    ['gemini-3-pro', 'medium', { thinkingLevel: 'HIGH' }],
    ['gemini-3.1-pro', 'max', { thinkingLevel: 'HIGH' }],
    ['gemini-2.5-flash', 'none', { thinkingBudget: 0 }],
    ['gemini-2.5-pro', 'none', { thinkingBudget: 128 }],
    ['gemini-2.5-pro', 'minimal', { thinkingBudget: 128 }],
    ['gemini-2.5-flash', 'minimal', { thinkingBudget: 512 }],
    ['gemini-2.5-flash', 'high', { thinkingBudget: 24_576 }],
    ['gemini-2.5-pro', 'max', { thinkingBudget: 32_768 }],
  ])('%s thinks as hard as %s says, by level or budget', async (model, effort, wanted) => {
    const body = { reasoning_effort: effort };

    const upstream = await upstreamBody('chat over gemini', body, {
      channel: { upstreamModel: model },
    });

    const config = pick(upstream, 'generationConfig', 'thinkingConfig');
    expect(config).toEqual({ ...wanted, includeThoughts: effort !== 'none' });
  });

  it.each([
    [{ thinkingBudget: 0 }, 'none'],
    [{ thinkingBudget: -1 }, undefined],
    [{ thinkingBudget: 1_024 }, 'low'],
    [{ thinkingBudget: 8_192 }, 'medium'],
    [{ thinkingBudget: 8_193 }, 'high'],
    [{ thinkingLevel: 'MINIMAL' }, 'low'],
    [{}, undefined],
  ])('%j is %s for OpenAI', async (thinkingConfig, effort) => {
    const body = await upstreamBody('native over openai', { generationConfig: { thinkingConfig } });

    expect(pick(body, 'reasoning_effort')).toBe(effort);
  });

  it('as a budget stays below the token limit, which is not raised', async () => {
    const body = { reasoning_effort: 'high', max_tokens: 2_000 };

    const upstream = await upstreamBody('chat over anthropic', body, {
      channel: { upstreamModel: 'claude-sonnet-4-5' },
    });

    expect(pick(upstream, 'thinking')).toEqual({ type: 'enabled', budget_tokens: 1_999 });
    expect(pick(upstream, 'max_tokens')).toBe(2_000);
  });

  it('is dropped for a required tool call (LL#8901, #8883, #9594, #35637)', async () => {
    const body = { reasoning_effort: 'high', tools: [chatTool('now')], tool_choice: 'required' };

    const { upstream, dropped } = await sent('chat over anthropic', body, {
      channel: { upstreamModel: 'claude-sonnet-4-5' },
      model: { maxOutputTokens: 32_000 },
    });

    expect(pick(upstream, 'tool_choice', 'type')).toBe('any');
    expect(pick(upstream, 'thinking', 'type')).not.toBe('enabled');
    expect(dropped).toContain('reasoning_effort');
  });

  it('is never a budget for Opus 4.7 and later (maki#331, docker-agent#2563)', async () => {
    const body = await upstreamBody(
      'chat over anthropic',
      { reasoning_effort: 'high' },
      {
        channel: { upstreamModel: 'claude-opus-4-7' },
      },
    );

    expect(pick(body, 'thinking')).not.toHaveProperty('budget_tokens');
    expect(pick(body, 'output_config', 'effort')).toBe('high');
  });
});

describe('signatures', () => {
  const placeholder = Buffer.from('context_engineering_is_the_way_to_go').toString('base64');
  const twoSteps = [
    user('hi'),
    { role: 'assistant', tool_calls: [call('a'), call('b')] },
    result('a'),
    result('b'),
    { role: 'assistant', tool_calls: [call('c')] },
    result('c'),
  ];

  it('that are missing get a placeholder on the first call of each step', async () => {
    const body = await upstreamBody('chat over gemini', { messages: twoSteps });

    expect(pick(body, 'contents', 1, 'parts', 0, 'thoughtSignature')).toBe(placeholder);
    expect(pick(body, 'contents', 1, 'parts', 1, 'thoughtSignature')).toBe(undefined);
    expect(pick(body, 'contents', 3, 'parts', 0, 'thoughtSignature')).toBe(placeholder);
  });

  it('that are missing get none for models before Gemini 3', async () => {
    const body = await upstreamBody(
      'chat over gemini',
      { messages: twoSteps },
      {
        channel: { upstreamModel: 'gemini-2.5-pro' },
      },
    );

    expect(JSON.stringify(body)).not.toContain('thoughtSignature');
  });

  it.each<[string, JsonObject, JsonObject]>([
    ['Google’s', { extra_content: { google: { thought_signature: 'c2ln' } } }, {}],
    ['a message’s', {}, { extra_content: { google: { thought_signature: 'c2ln' } } }],
    ['Portkey’s', { function: { name: 'now', arguments: '{}', thought_signature: 'c2ln' } }, {}],
  ])('in %s place are found', async (_, onCall, onMessage) => {
    const messages = [
      user('hi'),
      { role: 'assistant', tool_calls: [call('a', onCall)], ...onMessage },
      result('a'),
    ];

    const body = await upstreamBody('chat over gemini', { messages });

    expect(pick(body, 'contents', 1, 'parts', 0, 'thoughtSignature')).toBe('c2ln');
  });

  it('of Anthropic in an envelope are sent to no other provider', async () => {
    const thoughtSignature = envelope('anthropic:signature:c2ln');
    const contents = [
      turn('user', { text: 'hi' }),
      turn('model', { text: 'Hm.', thought: true, thoughtSignature }, { text: 'Hello.' }),
      turn('user', { text: 'Go on.' }),
    ];

    const anthropic = await upstreamBody('native over anthropic', { contents });
    const openai = await upstreamBody('native over openai', { contents });

    expect(pick(anthropic, 'messages', 1, 'content', 0)).toEqual({
      type: 'thinking',
      thinking: 'Hm.',
      signature: 'c2ln',
    });
    expect(JSON.stringify(openai)).not.toContain('c2ln');
    expect(JSON.stringify(openai)).not.toContain(thoughtSignature);
  });

  it('of thinking echoed in stream fragments sign the whole text', async () => {
    const thoughtSignature = envelope('anthropic:signature:c2ln');
    const contents = [
      turn('user', { text: 'hi' }),
      turn('model', { text: 'H', thought: true }),
      turn('model', { text: 'm.', thought: true }),
      turn('model', { text: '', thought: true, thoughtSignature }),
      turn('model', { functionCall: { id: 'a', name: 'now', args: {} } }),
      turn('user', { functionResponse: { id: 'a', name: 'now', response: {} } }),
    ];

    const { upstream, dropped } = await sent('native over anthropic', { contents });

    expect(pick(upstream, 'messages', 1, 'content')).toMatchObject([
      { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
      { type: 'tool_use', id: 'a' },
    ]);
    expect(dropped).toEqual([]);
  });

  it('without text are kept (openai-agents#4155, WordPress#30, warpllm#101)', async () => {
    const thoughtSignature = envelope('anthropic:signature:c2ln');
    const contents = [
      turn('user', { text: 'hi' }),
      turn(
        'model',
        { text: '', thought: true, thoughtSignature },
        { functionCall: { name: 'now' } },
      ),
      turn('user', { functionResponse: { name: 'now', response: {} } }),
    ];

    const body = await upstreamBody('native over anthropic', { contents });

    expect(pick(body, 'messages', 1, 'content', 0)).toEqual({
      type: 'thinking',
      thinking: '',
      signature: 'c2ln',
    });
  });
});
