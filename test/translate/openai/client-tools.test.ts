// suite: quick
/** Tools and output formats, and the differences of the vendor presets. */

import { describe, expect, it } from 'vitest';
import type { ContentRequest } from '../../../src/canonical/request.ts';
import { vendorCapabilities } from '../../../src/dialects/vendors.ts';
import { items, type JsonObject, member } from '../../../src/json.ts';
import type { Capabilities } from '../../../src/ports/catalog.ts';
import { functionTool } from '../../support/codec.ts';
import { assistant, user } from '../../support/plain-request.ts';
import {
  contentRequest,
  droppedFrom,
  messagesOf,
  notPortable,
  parametersFor,
  text,
} from './client.ts';

const closed: JsonObject = {
  type: 'object',
  properties: { a: { type: 'string' } },
  required: ['a'],
  additionalProperties: false,
};

const search = {
  kind: 'built_in',
  provider: 'gemini',
  name: 'googleSearch',
  value: {},
  at: 'tools[1].googleSearch',
} as const;

describe('tools', () => {
  it('a function has a schema even without parameters, and is strict only if requested', () => {
    expect(parametersFor({ tools: [functionTool('f', { description: 'Does f.' })] }).tools).toEqual(
      [
        {
          type: 'function',
          function: {
            name: 'f',
            description: 'Does f.',
            parameters: { type: 'object', properties: {} },
            strict: false,
          },
        },
      ],
    );
  });

  it('strict is kept if the schema and the upstream allow it, else listed as dropped', () => {
    const open = { type: 'object', properties: { a: { type: 'string' } } };
    const strictIn = (parameters: JsonObject, flags?: Capabilities) =>
      member(
        member(
          items(
            parametersFor({ tools: [functionTool('f', { parameters, strict: true })] }, flags)
              .tools,
          )[0],
          'function',
        ),
        'strict',
      );

    expect(strictIn(closed)).toBe(true);
    expect(strictIn(open)).toBe(false);
    expect(strictIn(closed, { strictTools: false })).toBeUndefined();
    expect(droppedFrom({ tools: [functionTool('f', { parameters: open, strict: true })] })).toEqual(
      [`${functionTool('f').at}.strict`],
    );
    expect(
      droppedFrom({ tools: [functionTool('f', { parameters: closed, strict: true })] }),
    ).toEqual([]);
  });

  it('a built-in tool of another provider is refused, or left out if the host allows it', () => {
    const tools = [functionTool('f'), search];

    expect(() => parametersFor({ tools })).toThrowError(notPortable('tools[1].googleSearch'));
    expect(parametersFor({ tools }, { dropBuiltInTools: true }).tools).toHaveLength(1);
    expect(droppedFrom({ tools }, { dropBuiltInTools: true })).toEqual(['tools[1].googleSearch']);
  });

  const named = (name: string) => ({ type: 'function', function: { name } });
  const two = [functionTool('f'), functionTool('g'), functionTool('h')];

  it.each([
    ['auto', [], 'auto'],
    ['none', [], 'none'],
    ['none', ['f'], 'none'],
    ['required', [], 'required'],
    ['required', ['g'], named('g')],
    [
      'required',
      ['f', 'g'],
      {
        type: 'allowed_tools',
        allowed_tools: { mode: 'required', tools: [named('f'), named('g')] },
      },
    ],
    [
      'auto',
      ['f'],
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [named('f')] } },
    ],
  ] as const)('%s of %j is written in OpenAI’s form', (mode, names, expected) => {
    const parameters = parametersFor({ tools: two, toolChoice: { mode, names } });

    expect(parameters.tool_choice).toEqual(expected);
    expect(parameters.tools).toHaveLength(3);
  });

  it('if the choice cannot name several functions, the others are left out', () => {
    const flags = { allowedTools: false };
    const parameters = parametersFor(
      { tools: two, toolChoice: { mode: 'required', names: ['f', 'g'] } },
      flags,
    );
    const one = parametersFor(
      { tools: two, toolChoice: { mode: 'required', names: ['g'] } },
      flags,
    );

    expect(parameters).toMatchObject({
      tool_choice: 'required',
      tools: [{ function: { name: 'f' } }, { function: { name: 'g' } }],
    });
    expect(one).toMatchObject({ tool_choice: named('g'), tools: { length: 3 } });
  });

  it('a choice of an undeclared function is refused', () => {
    const toolChoice = { mode: 'required', names: ['x'] } as const;

    expect(() => parametersFor({ tools: two, toolChoice })).toThrowError(
      expect.objectContaining({ code: 'invalid_request', param: 'toolConfig' }),
    );
  });

  it('a renamed function is renamed in the choice too', () => {
    const parameters = parametersFor({
      tools: [functionTool('ns.f')],
      toolChoice: { mode: 'required', names: ['ns.f'] },
    });

    expect(member(items(parameters.tools)[0], 'function')).toMatchObject({
      name: member(member(parameters.tool_choice, 'function'), 'name'),
    });
  });

  it('neither a choice nor parallel calls are written without tools', () => {
    const members = { toolChoice: { mode: 'auto', names: [] }, parallelToolCalls: false } as const;

    expect(parametersFor(members)).toEqual({});
  });

  it('one call at a time is requested if the upstream supports it', () => {
    const members = { tools: [functionTool('f')], parallelToolCalls: false };

    expect(parametersFor(members).parallel_tool_calls).toBe(false);
    expect(droppedFrom(members, { parallelToolCalls: false })).toEqual(['parallel_tool_calls']);
    expect(
      droppedFrom({ ...members, parallelToolCalls: true }, { parallelToolCalls: false }),
    ).toEqual([]);
  });
});

describe('the output format', () => {
  const schema = {
    type: 'json_schema',
    name: 'my answer',
    description: undefined,
    schema: closed,
    strict: undefined,
  } as const;
  const system = (members: Partial<ContentRequest>, flags?: Capabilities) =>
    member(messagesOf(contentRequest(members), flags)[0], 'content');

  it('JSON mode gets a hint if no message contains the word', () => {
    const format = { type: 'json' } as const;

    expect(parametersFor({ format })).toEqual({ response_format: { type: 'json_object' } });
    expect(system({ format })).toMatch(/JSON/);
    expect(droppedFrom({ format })).toEqual([]);
    const mentioned = contentRequest({ format, turns: [user(text('As Json, please'))] });
    expect(messagesOf(mentioned)).toHaveLength(1);
  });

  it('a schema has a name that OpenAI accepts, and is strict only if allowed', () => {
    expect(parametersFor({ format: schema }).response_format).toEqual({
      type: 'json_schema',
      json_schema: {
        name: expect.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/),
        schema: closed,
        strict: false,
      },
    });
    const strict = { ...schema, strict: true };
    expect(parametersFor({ format: strict })).toMatchObject({
      response_format: { json_schema: { strict: true } },
    });
    expect(droppedFrom({ format: { ...strict, schema: { type: 'object' } } })).toEqual([
      'generationConfig.responseSchema',
    ]);
  });

  it.each<[string, Capabilities, Partial<ContentRequest>, JsonObject]>([
    [
      'JSON without a schema only',
      { structuredOutput: 'json' },
      {},
      { response_format: { type: 'json_object' } },
    ],
    ['no JSON mode', { structuredOutput: 'none' }, {}, {}],
    ['no schema with tools', { jsonWithTools: false }, { tools: [functionTool('f')] }, {}],
  ])('%s: the schema becomes a hint and is listed', (_what, flags, members, expected) => {
    const parameters = parametersFor({ ...members, format: schema }, flags);

    expect(parameters.response_format).toEqual(expected.response_format);
    expect(system({ ...members, format: schema }, flags)).toContain('"additionalProperties":false');
    expect(droppedFrom({ ...members, format: schema }, flags)).toEqual([
      'generationConfig.responseSchema',
    ]);
  });

  it('an array at the root, which OpenAI rejects, becomes a hint', () => {
    const format = { ...schema, schema: { type: 'array', items: { type: 'string' } } };

    expect(parametersFor({ format }).response_format).toBeUndefined();
    expect(system({ format, system: [text('Be brief.')] })).toMatchObject([
      { text: 'Be brief.' },
      { text: expect.stringContaining('"array"') },
    ]);
  });

  it('an enum of bare values becomes a hint, because JSON would change the reply', () => {
    const format = { type: 'enum', values: ['red', 'green'] } as const;

    expect(parametersFor({ format })).toEqual({});
    expect(system({ format })).toContain('["red","green"]');
    expect(droppedFrom({ format })).toEqual(['generationConfig.responseSchema']);
  });
});

describe('vendor presets', () => {
  const rich: Partial<ContentRequest> = {
    turns: [
      user(text('a')),
      assistant({ kind: 'reasoning', text: 'Hm', at: 'c' }, text('b')),
      user(text('c')),
    ],
    tools: two(),
    toolChoice: { mode: 'required', names: ['f', 'g'] },
    parallelToolCalls: false,
    maxOutputTokens: 9,
    frequencyPenalty: 1,
    seed: 1,
    stop: ['x'],
    logprobs: { top: 1 },
    reasoning: { effort: 'medium', budgetTokens: undefined, includeThoughts: undefined },
    streamed: true,
  };

  it.each([
    [
      'mistral',
      ['max_completion_tokens', 'stream_options', 'seed', 'logprobs', 'reasoning_effort'],
    ],
    ['groq', ['logprobs', 'top_logprobs', 'frequency_penalty']],
    ['cerebras', ['frequency_penalty', 'parallel_tool_calls']],
    ['google', ['seed', 'frequency_penalty', 'parallel_tool_calls', 'max_completion_tokens']],
    ['xai', ['frequency_penalty', 'stop']],
    ['zai', ['stream_options', 'frequency_penalty', 'max_completion_tokens']],
    ['deepseek', ['max_completion_tokens', 'seed', 'parallel_tool_calls']],
    ['openrouter', ['max_completion_tokens']],
    ['azure', []],
  ] as const)('%s is not sent what it rejects', (vendor, refused) => {
    const body = parametersFor(rich, vendorCapabilities[vendor], 'a-model');

    expect(Object.keys(body).filter((name) => refused.some((other) => other === name))).toEqual([]);
    expect(body.tool_choice).toBe('required');
    expect(body.tools).toHaveLength(2);
  });

  it('DeepSeek and Z.AI get their reasoning back', () => {
    for (const vendor of ['deepseek', 'zai'] as const) {
      const messages = messagesOf(contentRequest(rich), vendorCapabilities[vendor]);

      expect(messages[1]).toMatchObject({ reasoning_content: 'Hm' });
    }
  });

  function two() {
    return [functionTool('f'), functionTool('g'), functionTool('h')];
  }
});
