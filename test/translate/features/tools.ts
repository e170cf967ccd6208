/** Tools, the choice among them, and the format of the output. */
import type { OutputFormat, ToolChoice } from '../../../src/canonical/request.ts';
import type { JsonObject } from '../../../src/json.ts';
import { assistant, builtIn, call, result, text, tool, user } from './parts.ts';
import { both, invalid, loses, type RequestRow, reads, refusesIt, writes } from './request-rows.ts';

const open: JsonObject = { type: 'object', properties: { a: { type: 'string' } } };
const closed: JsonObject = { ...open, required: ['a'], additionalProperties: false };
const none: JsonObject = { type: 'object', properties: {} };
const mark = { cacheControl: { type: 'ephemeral' } };

/** The declarations of functions as each wire has them. */
const chat = (name: string, more: JsonObject = {}): JsonObject => ({
  type: 'function',
  function: { name, parameters: none, strict: false, ...more },
});
const claude = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  input_schema: none,
  ...more,
});
const gemini = (...functionDeclarations: readonly JsonObject[]) => ({
  tools: [{ functionDeclarations }],
});
const fg = { tools: [tool('f'), tool('g')] };
const chosen = (mode: ToolChoice['mode'], ...names: readonly string[]) => ({
  ...fg,
  toolChoice: { mode, names },
});
const chatTools = { tools: [chat('f'), chat('g')] };
const claudeTools = { tools: [claude('f'), claude('g')] };
const claudeRead = { tools: ['f', 'g'].map((name) => tool(name, { parameters: none })) };
const chatRead = { tools: ['f', 'g'].map((name) => tool(name)) };
const sentByChat = { tools: ['f', 'g'].map((name) => ({ type: 'function', function: { name } })) };
const sentByResponses = { tools: ['f', 'g'].map((name) => ({ type: 'function', name })) };
const named = (name: string) => ({ type: 'function', function: { name } });
const calling = (mode: string, ...allowedFunctionNames: readonly string[]) => ({
  ...gemini({ name: 'f' }, { name: 'g' }),
  toolConfig: {
    functionCallingConfig: {
      mode,
      ...(allowedFunctionNames.length === 0 ? {} : { allowedFunctionNames }),
    },
  },
});
const flash2 = 'gemini-2.0-flash';

/** Declarations. */
export const tools: readonly RequestRow[] = [
  {
    is: 'a function with a schema',
    request: { tools: [tool('f', { description: 'F.', parameters: open })] },
    chat: [
      reads({ tools: [named('f')] }, { read: { tools: [tool('f')] } }),
      reads({ tools: [{ function: { name: 'f', description: 'F.', parameters: open } }] }),
      reads(
        { functions: [{ name: 'f', description: 'F.', parameters: open }] },
        {
          names: { tools: 'functions' },
        },
      ),
      writes({ tools: [chat('f', { description: 'F.', parameters: open })] }),
    ],
    responses: [
      reads({ tools: [{ type: 'function', name: 'f', description: 'F.', parameters: open }] }),
    ],
    messages: [
      both({ tools: [claude('f', { description: 'F.', input_schema: open })] }),
      reads({ tools: [claude('f', { description: 'F.', input_schema: open, type: null })] }),
      reads({ tools: [claude('f', { description: 'F.', input_schema: open, type: 'custom' })] }),
    ],
    gemini: [
      both(gemini({ name: 'f', description: 'F.', parametersJsonSchema: open })),
      reads(
        gemini({
          ...{ name: 'f', description: 'F.', response: { type: 'STRING' } },
          parameters: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
        }),
        { lost: ['tools[0].functionDeclarations[0].response'] },
      ),
      reads({
        tools: { functionDeclarations: [{ name: 'f', description: 'F.', parameters: open }] },
      }),
    ],
  },
  {
    is: 'a function without a schema',
    request: { tools: [tool('f')] },
    chat: writes({ tools: [chat('f')] }),
    messages: writes({ tools: [claude('f')] }),
    gemini: [both(gemini({ name: 'f' })), reads(gemini({ name: 'f', parameters: {} }))],
  },
  {
    is: 'a schema with a title',
    request: { tools: [tool('f', { parameters: { title: 'T', ...closed } })] },
    chat: writes({ tools: [chat('f', { parameters: { title: 'T', ...closed } })] }),
    messages: writes({ tools: [claude('f', { input_schema: { title: 'T', ...closed } })] }),
    gemini: [
      writes(gemini({ name: 'f', parametersJsonSchema: closed }), undefined, 'tools.schema.title'),
      writes(
        gemini({
          name: 'f',
          parameters: {
            ...{ type: 'OBJECT', title: 'T', propertyOrdering: ['a'] },
            properties: { a: { type: 'STRING' } },
            required: ['a'],
          },
        }),
        'gemini-1.5-pro',
        'tools.schema',
      ),
    ],
  },
  {
    is: 'a strict function',
    request: { tools: [tool('f', { parameters: closed, strict: true })] },
    chat: [
      both({ tools: [chat('f', { parameters: closed, strict: true })] }),
      writes(
        { tools: [{ type: 'function', function: { name: 'f', parameters: closed } }] },
        { strictTools: false },
        'tools[0].strict',
      ),
    ],
    responses: reads({
      tools: [{ type: 'function', name: 'f', parameters: closed, strict: true }],
    }),
    messages: [
      both({ tools: [claude('f', { input_schema: closed, strict: true })] }),
      writes(
        { tools: [claude('f', { input_schema: closed })] },
        'claude-3-7-sonnet',
        'tools[0].strict',
      ),
    ],
    gemini: [
      both(
        {
          ...gemini({ name: 'f', parametersJsonSchema: closed }),
          toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } },
        },
        { read: { toolChoice: { mode: 'auto', names: [] } } },
      ),
      writes(gemini({ name: 'f', parametersJsonSchema: closed }), flash2, 'tools[0].strict'),
    ],
  },
  {
    is: 'a strict function whose schema is open',
    request: { tools: [tool('f', { parameters: open, strict: true })] },
    chat: writes({ tools: [chat('f', { parameters: open })] }, undefined, 'tools[0].strict'),
    messages: writes({
      tools: [
        claude('f', { input_schema: { ...open, additionalProperties: false }, strict: true }),
      ],
    }),
  },
  {
    is: 'a function that is not strict',
    request: { tools: [tool('f', { parameters: open, strict: false })] },
    chat: both({ tools: [chat('f', { parameters: open })] }),
    responses: [
      reads({ tools: [{ type: 'function', name: 'f', parameters: open, strict: false }] }),
      reads(
        { tools: [{ type: 'function', name: 'f', parameters: open, strict: null }] },
        { read: { tools: [tool('f', { parameters: open })] } },
      ),
    ],
    messages: reads({ tools: [claude('f', { input_schema: open, strict: false })] }),
  },
  {
    is: 'a function with a cache mark',
    request: { tools: [tool('f', { parameters: none, ...mark })] },
    chat: [
      reads(
        {
          tools: [{ ...named('f'), cache_control: mark.cacheControl }],
        },
        { read: { tools: [tool('f', mark)] } },
      ),
      writes({ tools: [chat('f')] }, undefined, 'tools[0].cache_control'),
    ],
    messages: [
      writes({ tools: [claude('f', { cache_control: mark.cacheControl })] }),
      reads(
        { tools: [claude('f', { cache_control: mark.cacheControl })] },
        { lost: ['cache_control'], read: { tools: [tool('f', { parameters: none })] } },
      ),
    ],
    gemini: writes(
      gemini({ name: 'f', parametersJsonSchema: none }),
      undefined,
      'tools[0].cache_control',
    ),
  },
  {
    is: 'a name that no upstream accepts',
    request: {
      tools: [tool('1 f/g.h:')],
      toolChoice: { mode: 'required', names: ['1 f/g.h:'] },
      turns: [
        user(text('Hi')),
        assistant(call('a', '1 f/g.h:')),
        user(result('a', 'A', { name: '1 f/g.h:' })),
      ],
    },
    chat: writes({
      tools: [chat('~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$')],
      tool_choice: named('~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$'),
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              ...{ id: 'a', type: 'function' },
              function: { name: '~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$', arguments: '{}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'A' },
      ],
    }),
    messages: writes({
      tools: [claude('~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$')],
      tool_choice: { type: 'tool', name: '~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$' },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        {
          role: 'assistant',
          content: [
            { type: 'tool_use', id: 'a', name: '~^[a-zA-Z0-9_-]+_[0-9a-f]{6}$', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'A' }] },
          ],
        },
      ],
    }),
    gemini: writes({
      ...gemini({ name: '~^[a-zA-Z_][\\w.:-]*_[0-9a-f]{6}$' }),
      toolConfig: {
        functionCallingConfig: {
          mode: 'ANY',
          allowedFunctionNames: ['~^[a-zA-Z_][\\w.:-]*_[0-9a-f]{6}$'],
        },
      },
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        {
          role: 'model',
          parts: [
            {
              functionCall: { id: 'a', name: '~^[a-zA-Z_][\\w.:-]*_[0-9a-f]{6}$', args: {} },
              thoughtSignature: '~.',
            },
          ],
        },
        {
          role: 'user',
          parts: [
            {
              functionResponse: {
                ...{ id: 'a', name: '~^[a-zA-Z_][\\w.:-]*_[0-9a-f]{6}$' },
                response: { output: 'A' },
              },
            },
          ],
        },
      ],
    }),
  },
  {
    is: 'a call of a function that is not declared',
    request: {
      turns: [user(text('Hi')), assistant(call('a', 'f')), user(result('a', 'A'))],
    },
    messages: writes({
      tools: [claude('f')],
      tool_choice: { type: 'none' },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'A' }] },
          ],
        },
      ],
    }),
  },
  {
    is: 'a tool of Google beside a function',
    request: { tools: [tool('f'), builtIn('gemini', 'googleSearch')] },
    chat: [
      refusesIt('tools[1]'),
      writes({ tools: [chat('f')] }, { dropBuiltInTools: true }, 'tools[1]'),
    ],
    messages: [
      refusesIt('tools[1]'),
      writes({ tools: [claude('f')] }, { dropBuiltInTools: true }, 'tools[1]'),
    ],
    gemini: [
      both({ tools: [{ functionDeclarations: [{ name: 'f' }] }, { googleSearch: {} }] }),
      reads({
        tools: [{ functionDeclarations: [{ name: 'f' }], googleSearch: {}, codeExecution: null }],
      }),
      refusesIt('tools[1]', 'gemini-2.5-flash'),
    ],
  },
  {
    is: 'a tool of Google alone',
    request: { tools: [builtIn('gemini', 'urlContext')] },
    chat: [refusesIt('tools[1]'), loses(['tools[1]'], { dropBuiltInTools: true })],
    messages: [refusesIt('tools[1]'), loses(['tools[1]'], { dropBuiltInTools: true })],
    gemini: both({ tools: [{ urlContext: {} }] }),
  },
  {
    is: 'a tool of another provider, and a choice',
    request: { ...chosen('required', 'f', 'g'), tools: [...fg.tools, builtIn('x', 'search')] },
    chat: refusesIt('tools[1]'),
    messages: refusesIt('tools[1]'),
    gemini: [
      refusesIt('tools[1]'),
      writes(calling('ANY', 'f', 'g'), { dropBuiltInTools: true }, 'tools[1]'),
    ],
  },
  {
    is: 'a search of OpenAI, which is left out',
    request: { tools: [tool('f')] },
    responses: [
      ...['web_search', 'web_search_preview', 'web_search_2025_08_26'].map((type) =>
        reads({ tools: [{ type: 'function', name: 'f' }, { type }] }, { lost: ['tools[1]'] }),
      ),
      reads(
        {
          tools: [{ type: 'function', name: 'f' }, { type: 'web_search' }],
          include: ['reasoning.encrypted_content', 'web_search_call.action.sources'],
        },
        { lost: ['tools[1]', 'include[1]'] },
      ),
    ],
  },
  {
    is: 'a custom tool of OpenAI',
    request: { tools: [tool('f'), builtIn('openai', 'custom', { name: 'c' })] },
    chat: reads({ tools: [named('f'), { type: 'custom', custom: { name: 'c' } }] }),
    messages: refusesIt('tools[1]'),
    gemini: refusesIt('tools[1]'),
  },
];

/** The choice. */
export const choices: readonly RequestRow[] = [
  {
    is: 'two functions',
    request: fg,
    chat: writes(chatTools),
    messages: writes(claudeTools),
    gemini: both(gemini({ name: 'f' }, { name: 'g' })),
  },
  ...(['auto', 'none', 'required'] as const).map((mode): RequestRow => {
    const type = mode === 'required' ? 'any' : mode;
    const config = calling(mode === 'required' ? 'ANY' : mode.toUpperCase());
    return {
      is: `the choice ${mode}`,
      request: chosen(mode),
      chat: [
        writes({ ...chatTools, tool_choice: mode }),
        reads({ ...sentByChat, tool_choice: mode }, { read: chatRead }),
      ],
      responses: reads({ ...sentByResponses, tool_choice: mode }),
      messages: [
        writes({ ...claudeTools, tool_choice: { type } }),
        reads({ ...claudeTools, tool_choice: { type } }, { read: claudeRead }),
        reads(
          { ...claudeTools, tool_choice: { type, disable_parallel_tool_use: true } },
          { read: { ...claudeRead, parallelToolCalls: false } },
        ),
      ],
      gemini: [
        both(config),
        reads({
          ...config,
          toolConfig: { functionCallingConfig: { mode: `mode_${type}` } },
        }),
      ],
    };
  }),
  {
    is: 'no tool, although one is named',
    request: chosen('none', 'f'),
    chat: writes({ ...chatTools, tool_choice: 'none' }),
    messages: writes({ tools: [claude('f')], tool_choice: { type: 'none' } }),
  },
  {
    is: 'the choice of one function',
    request: chosen('required', 'g'),
    chat: [
      writes({ ...chatTools, tool_choice: named('g') }),
      writes({ ...chatTools, tool_choice: named('g') }, { allowedTools: false }),
      reads({ ...sentByChat, tool_choice: named('g') }),
      reads({ ...sentByChat, tool_choice: { type: 'custom', custom: { name: 'g' } } }),
      reads(
        { ...sentByChat, function_call: { name: 'g' } },
        { names: { toolChoice: 'function_call' } },
      ),
    ],
    responses: [
      reads({ ...sentByResponses, tool_choice: { type: 'function', name: 'g' } }),
      reads({ ...sentByResponses, tool_choice: { type: 'custom', name: 'g' } }),
    ],
    messages: [
      writes({ ...claudeTools, tool_choice: { type: 'tool', name: 'g' } }),
      reads({ ...claudeTools, tool_choice: { type: 'tool', name: 'g' } }, { read: claudeRead }),
    ],
    gemini: both(calling('ANY', 'g')),
  },
  {
    is: 'the older choice none',
    request: { toolChoice: { mode: 'none', names: [] } },
    chat: reads({ function_call: 'none' }, { names: { toolChoice: 'function_call' } }),
  },
  {
    is: 'the choice of some functions',
    request: chosen('auto', 'g'),
    chat: [
      writes({
        ...chatTools,
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [named('g')] },
        },
      }),
      writes({ tools: [chat('g')], tool_choice: 'auto' }, { allowedTools: false }),
      reads({
        ...sentByChat,
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [named('g')] },
        },
      }),
    ],
    responses: reads({
      ...sentByResponses,
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'function', name: 'g' }],
      },
    }),
    messages: writes({ tools: [claude('g')], tool_choice: { type: 'auto' } }),
    gemini: [
      both(calling('VALIDATED', 'g'), {
        read: { tools: fg.tools.map((one) => ({ ...one, strict: true })) },
      }),
      reads(calling('AUTO', 'g')),
      writes(
        { ...gemini({ name: 'g' }), toolConfig: { functionCallingConfig: { mode: 'AUTO' } } },
        flash2,
      ),
    ],
  },
  {
    is: 'the choice of two functions, one of which must be called',
    request: chosen('required', 'f', 'g'),
    chat: [
      writes({
        ...chatTools,
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [named('f'), named('g')] },
        },
      }),
      writes({ ...chatTools, tool_choice: 'required' }, { allowedTools: false }),
    ],
    messages: writes({ ...claudeTools, tool_choice: { type: 'any' } }),
    gemini: both(calling('ANY', 'f', 'g')),
  },
  {
    is: 'the choice of a function that is not declared',
    request: chosen('required', 'x'),
    chat: refusesIt('tool_choice', undefined, 'invalid_request'),
    messages: [
      refusesIt('tool_choice', undefined, 'invalid_request'),
      invalid({ ...claudeTools, tool_choice: { type: 'tool', name: 'x' } }, 'tool_choice.name'),
      invalid({ tool_choice: { type: 'tool', name: 'x' } }, 'tool_choice.name'),
    ],
    gemini: refusesIt('tool_choice', undefined, 'invalid_request'),
  },
  {
    is: 'a choice without tools',
    request: { toolChoice: { mode: 'auto', names: [] } },
    chat: loses(['tool_choice']),
    messages: loses(['tool_choice']),
    gemini: writes({}),
  },
  {
    is: 'one call at a time',
    request: { ...fg, parallelToolCalls: false },
    chat: [
      writes({ ...chatTools, parallel_tool_calls: false }),
      reads({ ...sentByChat, parallel_tool_calls: false }),
      writes(chatTools, { parallelToolCalls: false }, 'parallel_tool_calls'),
    ],
    responses: reads({ ...sentByResponses, parallel_tool_calls: false }),
    messages: writes({
      ...claudeTools,
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    }),
    gemini: writes(gemini({ name: 'f' }, { name: 'g' }), undefined, 'parallel_tool_calls'),
  },
  {
    is: 'one call at a time, which is required',
    request: { ...chosen('required'), parallelToolCalls: false },
    messages: writes({
      ...claudeTools,
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
    }),
  },
  {
    is: 'several calls at a time',
    request: { ...fg, parallelToolCalls: true },
    chat: [
      writes({ ...chatTools, parallel_tool_calls: true }),
      writes(chatTools, { parallelToolCalls: false }),
    ],
    responses: reads({ ...sentByResponses, parallel_tool_calls: true }),
    messages: writes(claudeTools),
    gemini: writes(gemini({ name: 'f' }, { name: 'g' })),
  },
];

const schemaFormat = (
  schema: JsonObject,
  more: object = {},
): { readonly format: OutputFormat } => ({
  format: {
    type: 'json_schema',
    name: 'n',
    description: undefined,
    schema,
    strict: undefined,
    ...more,
  },
});
const hint = (pattern: string) => ({ role: 'system', content: `~${pattern}` });
const asked = { role: 'user', content: 'Hi' };
const claudeHint = (pattern: string) => ({ system: [{ type: 'text', text: `~${pattern}` }] });
const geminiHint = (pattern: string) => ({
  systemInstruction: { parts: [{ text: `~${pattern}` }] },
});
const json = { responseMimeType: 'application/json' };
const noSchemas = { structuredOutput: 'none' } as const;

/** Structured output. */
export const formats: readonly RequestRow[] = [
  {
    is: 'any JSON',
    request: { format: { type: 'json' } },
    chat: [
      reads({ response_format: { type: 'json_object' } }),
      writes({ response_format: { type: 'json_object' }, messages: [hint('JSON'), asked] }),
      writes({ messages: [hint('JSON'), asked] }, noSchemas, 'response_format'),
    ],
    responses: reads({ text: { format: { type: 'json_object' } } }),
    messages: writes(claudeHint('JSON'), undefined, 'response_format'),
    gemini: both({ generationConfig: json }),
  },
  {
    is: 'any JSON, of which a message speaks',
    request: { format: { type: 'json' }, turns: [user(text('As Json, please'))] },
    chat: writes({
      response_format: { type: 'json_object' },
      messages: [{ role: 'user', content: 'As Json, please' }],
    }),
  },
  {
    is: 'a schema',
    request: schemaFormat(closed),
    chat: [
      reads({
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema: closed } },
      }),
      writes({
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'n', schema: closed, strict: false },
        },
      }),
      writes(
        {
          response_format: { type: 'json_object' },
          messages: [hint('"additionalProperties":false'), asked],
        },
        { structuredOutput: 'json' },
        'response_format',
      ),
      writes(
        { messages: [hint('"additionalProperties":false'), asked] },
        noSchemas,
        'response_format',
      ),
    ],
    responses: [
      reads({ text: { format: { type: 'json_schema', name: 'n', schema: closed } } }),
      reads({ text: { format: { type: 'json_schema', name: 'n', schema: closed, strict: null } } }),
    ],
    messages: [
      writes({ output_config: { format: { type: 'json_schema', schema: closed } } }),
      writes(
        {
          tools: [{ name: '~.', description: '~.', input_schema: closed }],
          tool_choice: { type: 'tool', name: '~.', disable_parallel_tool_use: true },
        },
        noSchemas,
      ),
    ],
    gemini: [
      writes({ generationConfig: { ...json, responseJsonSchema: closed } }),
      reads(
        { generationConfig: { ...json, responseJsonSchema: closed } },
        {
          read: schemaFormat(closed, { name: undefined }),
          names: { format: 'generationConfig.responseJsonSchema' },
        },
      ),
      reads(
        {
          generationConfig: {
            responseFormat: [{ text: { mimeType: 'APPLICATION_JSON', schema: closed } }],
          },
        },
        {
          read: schemaFormat(closed, { name: undefined }),
          names: { format: 'generationConfig.responseFormat' },
        },
      ),
      writes(
        { generationConfig: json, ...geminiHint('"additionalProperties":false') },
        { structuredOutput: 'json' },
        'response_format',
      ),
    ],
  },
  {
    is: 'a schema as OpenAPI has it',
    request: schemaFormat(open, { name: undefined }),
    gemini: [
      reads(
        {
          generationConfig: {
            ...json,
            responseSchema: { type: 'OBJECT', properties: { a: { type: 'STRING' } } },
          },
        },
        { names: { format: 'generationConfig.responseSchema' } },
      ),
      writes(
        {
          generationConfig: {
            ...json,
            responseSchema: {
              ...{ type: 'OBJECT', propertyOrdering: ['a'] },
              properties: { a: { type: 'STRING' } },
            },
          },
        },
        'gemini-1.5-pro',
      ),
    ],
  },
  {
    is: 'a strict schema',
    request: schemaFormat(closed, { name: 'response', strict: true }),
    chat: both({
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'response', schema: closed, strict: true },
      },
    }),
    responses: reads({
      text: { format: { type: 'json_schema', name: 'response', schema: closed, strict: true } },
    }),
    messages: [
      both(
        { output_config: { format: { type: 'json_schema', schema: closed } } },
        { names: { format: 'output_config.format' } },
      ),
      reads(
        { output_format: { type: 'json_schema', schema: closed } },
        { names: { format: 'output_format' } },
      ),
      reads(
        {
          output_config: { format: { type: 'json_schema', schema: closed } },
          output_format: { type: 'json_schema', schema: {} },
        },
        { lost: ['output_format'] },
      ),
    ],
    gemini: writes({ generationConfig: { ...json, responseJsonSchema: closed } }),
  },
  {
    is: 'a strict schema for a model that takes none',
    request: schemaFormat(closed, { strict: true }),
    messages: writes(
      {
        tools: [{ name: '~.', description: '~.', input_schema: closed }],
        tool_choice: { type: 'tool', name: '~.', disable_parallel_tool_use: true },
      },
      noSchemas,
      'response_format',
    ),
  },
  {
    is: 'a strict schema that is open',
    request: schemaFormat({ type: 'object' }, { strict: true }),
    chat: writes(
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'n', schema: { type: 'object' }, strict: false },
        },
      },
      undefined,
      'response_format',
    ),
  },
  {
    is: 'a schema with a description and an odd name',
    request: schemaFormat(closed, { name: 'my answer', description: 'D.' }),
    chat: writes({
      response_format: {
        type: 'json_schema',
        json_schema: {
          ...{ name: '~^[a-zA-Z0-9_-]{1,64}$', description: 'D.' },
          ...{ schema: closed, strict: false },
        },
      },
    }),
    responses: reads({
      text: {
        format: { type: 'json_schema', name: 'my answer', description: 'D.', schema: closed },
      },
    }),
    gemini: writes({
      generationConfig: { ...json, responseJsonSchema: { description: 'D.', ...closed } },
    }),
  },
  {
    is: 'a schema and tools',
    request: { ...schemaFormat(closed), ...fg },
    chat: writes(
      { ...chatTools, messages: [hint('"additionalProperties":false'), asked] },
      { jsonWithTools: false },
      'response_format',
    ),
    messages: [
      writes({
        ...claudeTools,
        output_config: { format: { type: 'json_schema', schema: closed } },
      }),
      writes(
        { ...claudeTools, ...claudeHint('"additionalProperties":false') },
        noSchemas,
        'response_format',
      ),
    ],
    gemini: writes(
      { ...gemini({ name: 'f' }, { name: 'g' }), ...geminiHint('"additionalProperties":false') },
      'gemini-2.5-flash',
      'response_format',
    ),
  },
  {
    is: 'a schema of an array, after a system text',
    request: { ...schemaFormat({ type: 'array' }), system: [text('Be brief.')] },
    chat: writes(
      {
        messages: [
          {
            role: 'system',
            content: [
              { type: 'text', text: 'Be brief.' },
              { type: 'text', text: '~"array"' },
            ],
          },
          asked,
        ],
      },
      undefined,
      'response_format',
    ),
    messages: writes(
      {
        system: [
          { type: 'text', text: 'Be brief.' },
          { type: 'text', text: '~"array"' },
        ],
      },
      noSchemas,
      'response_format',
    ),
    gemini: writes({
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      generationConfig: { ...json, responseJsonSchema: { type: 'array' } },
    }),
  },
  {
    is: 'one of some values',
    request: { format: { type: 'enum', values: ['a', 'b'] } },
    chat: writes({ messages: [hint('\\["a","b"\\]'), asked] }, undefined, 'response_format'),
    messages: writes(claudeHint('one of these values'), undefined, 'response_format'),
    gemini: both(
      {
        generationConfig: {
          responseMimeType: 'text/x.enum',
          responseSchema: { type: 'STRING', enum: ['a', 'b'] },
        },
      },
      { names: { format: 'generationConfig.responseSchema' } },
    ),
  },
];
