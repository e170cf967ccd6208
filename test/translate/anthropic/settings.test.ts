// suite: quick
/**
 * Tools, output formats, sampling and thinking for Anthropic, as far as each model supports them.
 */
import { describe, expect, it } from 'vitest';
import type { ContentRequest, Part, Tool } from '../../../src/canonical/request.ts';
import { anthropicClient } from '../../../src/dialects/anthropic/client/codec.ts';
import type { Capabilities } from '../../../src/ports/catalog.ts';
import { assistant, user } from '../../support/plain-request.ts';
import {
  at,
  call,
  contentRequest,
  look,
  result,
  signedThought,
  target,
  text,
  written,
} from './client.ts';

describe('tools', () => {
  it('are declared with an object as input, whatever the caller’s schema', () => {
    const { body } = written({ tools: [look, { ...look, name: 'rest', parameters: undefined }] });

    expect(at(body, 'tools', 0)).toEqual({
      name: 'look',
      description: 'Looks.',
      input_schema: { type: 'object', properties: { city: { type: 'string' } } },
    });
    expect(at(body, 'tools', 1, 'input_schema', 'type')).toBe('object');
  });

  it('are strict if the caller asks for it and the model supports it', () => {
    const tools = [{ ...look, strict: true }];

    const strict = written({ tools });
    const loose = written({ tools }, target('claude-3-7-sonnet'));

    expect(at(strict.body, 'tools', 0, 'strict')).toBe(true);
    expect(at(strict.body, 'tools', 0, 'input_schema', 'additionalProperties')).toBe(false);
    expect(at(loose.body, 'tools', 0, 'strict')).toBe(undefined);
    expect(loose.dropped).toEqual(['tools[0].strict']);
  });

  it('have names that Anthropic accepts, and the caller’s names in the reply', () => {
    const dotted = { ...look, name: 'maps.look:up' };
    const exchange = anthropicClient.begin(
      contentRequest({
        tools: [dotted],
        toolChoice: { mode: 'required', names: ['maps.look:up'] },
        turns: [user(text('Go.')), assistant(call('a', 'maps.look:up')), user(result('a', 'A'))],
      }),
      target(),
    );

    const body = JSON.parse(exchange.body);
    const name = at(body, 'tools', 0, 'name');
    expect(name).toMatch(/^[a-zA-Z0-9_-]{1,128}$/);
    expect(at(body, 'tool_choice', 'name')).toBe(name);
    expect(at(body, 'messages', 1, 'content', 0, 'name')).toBe(name);
    const [, begin] = exchange.readReply({
      content: [{ type: 'tool_use', id: 'b', name: String(name) }],
    });
    expect(begin).toMatchObject({ name: 'maps.look:up', arguments: '{}' });
  });

  const other: Tool = { ...look, name: 'rest', at: 'tools[1]' };

  it.each<[string, Partial<ContentRequest>, unknown, readonly string[]]>([
    ['nothing', {}, undefined, ['look', 'rest']],
    ['auto', choice('auto'), { type: 'auto' }, ['look', 'rest']],
    ['none', choice('none'), { type: 'none' }, ['look', 'rest']],
    ['required', choice('required'), { type: 'any' }, ['look', 'rest']],
    ['one', choice('required', 'rest'), { type: 'tool', name: 'rest' }, ['look', 'rest']],
    ['one if any', choice('auto', 'rest'), { type: 'auto' }, ['rest']],
    [
      'one at a time',
      { parallelToolCalls: false },
      { type: 'auto', disable_parallel_tool_use: true },
      ['look', 'rest'],
    ],
    [
      'one at a time, required',
      { ...choice('required'), parallelToolCalls: false },
      { type: 'any', disable_parallel_tool_use: true },
      ['look', 'rest'],
    ],
  ])('are selected by %s', (_, members, expected, names) => {
    const { body } = written({ ...members, tools: [look, other] });

    expect(at(body, 'tool_choice')).toEqual(expected);
    expect([0, 1].map((index) => at(body, 'tools', index, 'name')).filter(Boolean)).toEqual(names);
  });

  it('that the tool choice names but the request does not declare are refused', () => {
    expect(() => written({ ...choice('required', 'gone'), tools: [look] })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'tool_choice' }),
    );
  });

  it('are declared for calls in the history if the caller declares none', () => {
    const turns = [user(text('Go.')), assistant(call('a')), user(result('a', 'A'))];

    const { body } = written({ turns });

    expect(at(body, 'tools', 0, 'name')).toBe('look');
    expect(at(body, 'tool_choice')).toEqual({ type: 'none' });
  });

  it('of another provider are refused, or dropped if the channel is configured so', () => {
    const search: Tool = {
      kind: 'built_in',
      provider: 'gemini',
      name: 'googleSearch',
      value: {},
      at: 'tools[0].googleSearch',
    };

    const choices = [{}, choice('auto', 'look', 'rest'), choice('required', 'look', 'rest')];
    for (const chosen of choices) {
      expect(() => written({ ...chosen, tools: [look, other, search] })).toThrow(
        expect.objectContaining({ code: 'not_portable', param: 'tools[0].googleSearch' }),
      );
    }
    const { body, dropped } = written({ tools: [search] }, own({ dropBuiltInTools: true }));
    expect(at(body, 'tools')).toBe(undefined);
    expect(dropped).toEqual(['tools[0].googleSearch']);
  });
});

describe('the output format', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
  const format = {
    type: 'json_schema',
    name: 'x',
    description: undefined,
    schema,
    strict: true,
  } as const;

  it('is a schema if the model supports it', () => {
    const { body } = written({ format, tools: [look] });

    expect(at(body, 'output_config', 'format')).toMatchObject({
      type: 'json_schema',
      schema: { ...schema, additionalProperties: false },
    });
    expect(at(body, 'tool_choice')).toBe(undefined);
  });

  it('is the input of a required tool if the model does not support schemas', () => {
    const { body, dropped } = written({ format }, own({ structuredOutput: 'none' }));

    const name = at(body, 'tools', 0, 'name');
    expect(at(body, 'tools', 0, 'input_schema')).toMatchObject(schema);
    expect(at(body, 'tool_choice')).toMatchObject({ type: 'tool', name });
    // The input of such a tool isn't validated against its schema.
    expect(dropped).toEqual(['response_format']);
  });

  it.each<[string, Partial<ContentRequest>]>([
    ['there are tools', { format, tools: [look] }],
    ['it is no object', { format: { ...format, schema: { type: 'array' } } }],
    ['any JSON will do', { format: { type: 'json' } }],
    ['it is one of some words', { format: { type: 'enum', values: ['yes', 'no'] } }],
  ])('is an instruction, and reported as dropped, if %s', (_, members) => {
    const { body, dropped } = written(
      { ...members, system: [text('Be kind.')] },
      own({ structuredOutput: 'none' }),
    );

    expect(at(body, 'system', 0)).toEqual(textOf('Be kind.'));
    expect(at(body, 'system', 1, 'text')).toEqual(expect.any(String));
    expect(at(body, 'tool_choice')).toBe(undefined);
    expect(dropped).toEqual(['response_format']);
  });
});

describe('sampling', () => {
  const all = { temperature: 1.5, topP: 0.5, topK: 5 };

  it.each<[string, object, readonly string[]]>([
    ['claude-opus-5', {}, ['temperature', 'top_p', 'top_k']],
    ['claude-sonnet-4-5', { temperature: 1, top_k: 5 }, ['temperature', 'top_p']],
    ['claude-3-haiku', { temperature: 1, top_p: 0.5, top_k: 5 }, ['temperature']],
  ])('goes to %s as far as it takes it', (model, expected, remaining) => {
    const { body, dropped } = written(all, target(model));

    expect(body).toMatchObject(expected);
    expect(dropped).toEqual(remaining);
    expect(Object.keys(Object(body)).filter((name) => /^te|^top/.test(name)).length).toBe(
      Object.keys(expected).length,
    );
  });

  it('keeps a zero', () => {
    expect(at(written({ temperature: 0 }, target('claude-3-haiku')).body, 'temperature')).toBe(0);
  });

  it('is dropped with thinking', () => {
    const message = { ...all, reasoning: effort('low') };

    const { body, dropped } = written(message, target('claude-sonnet-4-5'));

    expect(at(body, 'thinking', 'type')).toBe('enabled');
    expect(at(body, 'temperature')).toBe(1);
    expect(at(body, 'top_k')).toBe(undefined);
    expect(dropped).toEqual(['temperature', 'top_p', 'top_k']);
  });

  it('drops stop sequences that are blank or too many', () => {
    const stop = [' ', 'a', 'b'];

    const { body, dropped } = written({ stop }, own({ stopLimit: 1 }));

    expect(at(body, 'stop_sequences')).toEqual(['a']);
    expect(dropped).toEqual(['stop']);
  });

  it('drops and reports seed, logprobs and penalties', () => {
    const { dropped } = written({
      seed: 0,
      logprobs: { top: undefined },
      presencePenalty: 1,
      frequencyPenalty: 0,
    });

    expect(dropped).toEqual(['seed', 'logprobs', 'presence_penalty']);
  });
});

describe('thinking', () => {
  it.each<[string, Partial<ContentRequest>, unknown, unknown, readonly string[]]>([
    ['claude-opus-5', thinks('none'), { type: 'disabled' }, undefined, []],
    ['claude-opus-5', thinks('minimal'), summary(), 'low', ['reasoning_effort']],
    ['claude-opus-5', thinks('xhigh'), summary(), 'xhigh', []],
    ['claude-opus-4-6', thinks('xhigh'), summary(), 'high', ['reasoning_effort']],
    ['claude-opus-5', budget(1_999), { type: 'adaptive' }, 'low', []],
    ['claude-opus-5', budget(7_999), { type: 'adaptive' }, 'medium', []],
    ['claude-opus-5', budget(23_999), { type: 'adaptive' }, 'high', []],
    ['claude-opus-5', budget(24_000), { type: 'adaptive' }, 'xhigh', []],
    ['claude-opus-5', budget(-1), { type: 'adaptive' }, undefined, []],
    ['claude-opus-5', budget(0), { type: 'disabled' }, undefined, []],
    ['claude-sonnet-4-5', thinks('none'), { type: 'disabled' }, undefined, []],
    ['claude-sonnet-4-5', thinks('minimal'), tokens(1_024), undefined, []],
    ['claude-sonnet-4-5', thinks('low'), tokens(2_048), undefined, []],
    ['claude-sonnet-4-5', thinks('medium'), tokens(8_191), undefined, ['reasoning_effort']],
    ['claude-sonnet-4-5', budget(5), tokens(1_024), undefined, ['reasoning_effort']],
    ['claude-sonnet-4-5', budget(-1), undefined, undefined, []],
    [
      'claude-sonnet-4-5',
      { ...thinks('high'), maxOutputTokens: 1_024 },
      undefined,
      undefined,
      ['reasoning_effort'],
    ],
    ['claude-3-haiku', thinks('high'), undefined, undefined, ['reasoning_effort']],
    ['claude-3-haiku', thinks('none'), undefined, undefined, []],
  ])('of %s is sent as that model takes it (%#)', (model, members, thinking, level, lost) => {
    const { body, dropped } = written(members, target(model));

    expect(at(body, 'thinking')).toEqual(thinking);
    expect(at(body, 'output_config', 'effort')).toBe(level);
    expect(dropped).toEqual(lost);
  });

  it('is shown or hidden as the caller asks', () => {
    const shown = written({ reasoning: { ...effort('low'), includeThoughts: true } });
    const hidden = written({ reasoning: { ...effort('low'), includeThoughts: false } });

    expect(at(shown.body, 'thinking', 'display')).toBe('summarized');
    expect(at(hidden.body, 'thinking', 'display')).toBe('omitted');
  });

  it('with a budget is dropped for a required tool call; adaptive thinking is not', () => {
    const message = { ...thinks('low'), ...choice('required'), tools: [look] };

    const older = written(message, target('claude-sonnet-4-5'));
    const newer = written(message);

    expect(at(older.body, 'thinking')).toBe(undefined);
    expect(older.dropped).toEqual(['reasoning_effort']);
    expect(at(newer.body, 'thinking', 'type')).toBe('adaptive');
  });

  it('with a budget continues after calls only if their turn began with thinking', () => {
    const loop = (...first: readonly Part[]): Partial<ContentRequest> => ({
      ...thinks('low'),
      tools: [look],
      turns: [
        user(text('Go.')),
        assistant(...first, call('a')),
        user(result('a', 'A')),
        assistant(call('b')),
        user(result('b', 'B')),
      ],
    });
    const to = target('claude-sonnet-4-5');

    const thoughtful = written(loop(signedThought()), to);
    const thoughtless = written(loop(), to);
    const over = written(
      { ...loop(), turns: [...(loop().turns ?? []), assistant(text('So.')), user(text('?'))] },
      to,
    );

    expect(at(thoughtful.body, 'thinking', 'type')).toBe('enabled');
    expect(at(thoughtless.body, 'thinking')).toBe(undefined);
    expect(thoughtless.dropped).toEqual(['reasoning_effort']);
    expect(at(over.body, 'thinking', 'type')).toBe('enabled');
  });
});

describe('other members', () => {
  it('have the end user’s id, and the service tier if Anthropic has it', () => {
    const known = written({ endUserId: 'u1', serviceTier: 'default' });
    const unknown = written({ serviceTier: 'priority' });

    expect(known.body).toMatchObject({
      metadata: { user_id: 'u1' },
      service_tier: 'standard_only',
    });
    expect(at(unknown.body, 'service_tier')).toBe(undefined);
    expect(unknown.dropped).toEqual(['service_tier']);
  });

  it.each<[string, Partial<ContentRequest>]>([
    ['n', { candidates: 2 }],
    ['modalities', { modalities: ['text', 'audio'] }],
    ['cachedContent', { providerMembers: [foreign('cachedContent', { vital: true })] }],
  ])('are refused if %s can not be left out', (param, members) => {
    expect(() => written(members)).toThrow(
      expect.objectContaining({ code: 'not_portable', param }),
    );
  });

  it("drop another provider's, keep Anthropic's, and never replace the gateway's", () => {
    const { body, dropped } = written({
      providerMembers: [
        foreign('safetySettings'),
        foreign('context_management', { provider: 'anthropic' }),
        foreign('model', { provider: 'anthropic' }),
      ],
      dropped: ['logit_bias'],
    });

    expect(at(body, 'context_management')).toBe('x');
    expect(at(body, 'model')).toBe('claude-opus-5');
    expect(dropped).toEqual(['logit_bias', 'safetySettings', 'model']);
  });
});

function textOf(text: string): object {
  return { type: 'text', text };
}

function choice(
  mode: 'auto' | 'none' | 'required',
  ...names: readonly string[]
): Pick<ContentRequest, 'toolChoice'> {
  return { toolChoice: { mode, names } };
}

function own(flags: Capabilities): ReturnType<typeof target> {
  return target('claude-opus-5', flags);
}

function effort(word: NonNullable<ContentRequest['reasoning']>['effort']) {
  return { effort: word, budgetTokens: undefined, includeThoughts: undefined };
}

function thinks(word: Parameters<typeof effort>[0]): Pick<ContentRequest, 'reasoning'> {
  return { reasoning: effort(word) };
}

function budget(budgetTokens: number): Pick<ContentRequest, 'reasoning'> {
  return { reasoning: { effort: undefined, budgetTokens, includeThoughts: undefined } };
}

function tokens(count: number): object {
  return { type: 'enabled', budget_tokens: count };
}

function summary(): object {
  return { type: 'adaptive', display: 'summarized' };
}

function foreign(
  name: string,
  members: Partial<ContentRequest['providerMembers'][number]> = {},
): ContentRequest['providerMembers'][number] {
  return { provider: 'gemini', name, value: 'x', at: name, vital: false, ...members };
}
