/** Request features of tools: declarations, the choice among them, calls and their results. */
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type { AskedFor, RequestFeature } from './request-features.ts';

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const names = ['weather', 'time', 'news'] as const;

/** Three functions in each dialect. */
const chatTools = names.map((name) => ({
  type: 'function',
  function: { name, description: `The ${name}.`, parameters: schema },
}));
const declarations = names.map((name) => ({
  name,
  description: `The ${name}.`,
  parametersJsonSchema: schema,
}));
const geminiTools = [{ functionDeclarations: declarations }];
const anthropicTools = names.map((name) => ({
  name,
  description: `The ${name}.`,
  input_schema: schema,
}));

const chatAsks = (members: JsonObject, ...named: readonly string[]): AskedFor => ({
  body: { tools: chatTools, ...members },
  names: named,
});
const nativeAsks = (config: JsonObject): AskedFor => ({
  body: { tools: geminiTools, toolConfig: { functionCallingConfig: config } },
  names: ['toolConfig.functionCallingConfig'],
});
const calling = (config: JsonObject): JsonObject => ({
  toolConfig: { functionCallingConfig: config },
});

const call = (id: string, name: string): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: '{"city":"Rome"}' },
});
const args = { city: 'Rome' };
const result = (id: string, content: JsonValue): JsonObject => ({
  role: 'tool',
  tool_call_id: id,
  content,
});
const response = (name: string, output: string): JsonObject => ({
  functionResponse: { name, response: { output } },
});
const user = { role: 'user', content: 'hi' };
const request = { role: 'user', parts: [{ text: 'hi' }] };
const png = 'iVBORw0KGgo=';

const results: RequestFeature = {
  title: 'results of parallel tool calls, in another order',
  chat: {
    body: {
      messages: [
        user,
        { role: 'assistant', content: null, tool_calls: [call('a', 'weather'), call('b', 'time')] },
        result('b', 'noon'),
        result('a', 'sunny'),
      ],
      tools: chatTools,
    },
    names: ['messages[2]', 'messages[3]'],
  },
  native: {
    body: {
      contents: [
        request,
        {
          role: 'model',
          parts: [
            { functionCall: { name: 'weather', args } },
            { functionCall: { name: 'time', args } },
          ],
        },
        { role: 'user', parts: [response('time', 'noon'), response('weather', 'sunny')] },
      ],
      tools: geminiTools,
    },
    names: ['contents[2].parts[0]', 'contents[2].parts[1]'],
  },
  carried: {
    openai: {
      messages: [
        {},
        {
          tool_calls: [
            { id: 'call_t1p0', function: { name: 'weather' } },
            { id: 'call_t1p1', function: { name: 'time' } },
          ],
        },
        // OpenAI finds them by id, in whatever order they come.
        { role: 'tool', tool_call_id: 'call_t1p1', content: 'noon' },
        { role: 'tool', tool_call_id: 'call_t1p0', content: 'sunny' },
      ],
    },
    gemini: {
      contents: [
        {},
        { parts: [{ functionCall: { id: 'a' } }, { functionCall: { id: 'b' } }] },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'a', name: 'weather', response: { output: 'sunny' } } },
            { functionResponse: { id: 'b', name: 'time', response: { output: 'noon' } } },
          ],
        },
      ],
    },
    anthropic: ['a', 'call_t1p0'].flatMap((first) =>
      ['b', 'call_t1p1'].map((second) => ({
        messages: [
          {},
          {
            content: [
              { type: 'tool_use', id: first },
              { type: 'tool_use', id: second },
            ],
          },
          {
            content: [
              { type: 'tool_result', tool_use_id: first },
              { type: 'tool_result', tool_use_id: second },
            ],
          },
        ],
      })),
    ),
  },
};

const resultMedia: RequestFeature = {
  title: 'image in a tool result',
  native: {
    body: {
      contents: [
        request,
        { role: 'model', parts: [{ functionCall: { name: 'weather', args } }] },
        {
          role: 'user',
          parts: [
            {
              functionResponse: {
                name: 'weather',
                response: { output: 'see' },
                parts: [{ inlineData: { mimeType: 'image/png', data: png } }],
              },
            },
          ],
        },
      ],
      tools: geminiTools,
    },
    names: ['contents[2].parts[0]'],
  },
  carried: {
    openai: { messages: [{}, {}, { role: 'tool' }, { role: 'user' }] },
    anthropic: {
      messages: [
        {},
        {},
        { content: [{ type: 'tool_result', content: [{ type: 'text' }, { type: 'image' }] }] },
      ],
    },
  },
};

/** In the order of the table. */
export const toolFeatures: readonly RequestFeature[] = [
  {
    title: 'functions',
    chat: { body: { tools: chatTools }, names: ['tools'] },
    native: { body: { tools: geminiTools }, names: ['tools'] },
    carried: {
      openai: { tools: chatTools },
      gemini: { tools: geminiTools },
      anthropic: { tools: anthropicTools },
    },
  },
  results,
  resultMedia,
  {
    title: 'tool choice: any tool, required',
    chat: chatAsks({ tool_choice: 'required' }, 'tool_choice'),
    native: nativeAsks({ mode: 'ANY' }),
    carried: {
      openai: { tool_choice: 'required' },
      gemini: calling({ mode: 'ANY' }),
      anthropic: { tool_choice: { type: 'any' } },
    },
  },
  {
    title: 'tool choice: one named function',
    chat: chatAsks(
      { tool_choice: { type: 'function', function: { name: 'time' } } },
      'tool_choice',
    ),
    native: nativeAsks({ mode: 'ANY', allowedFunctionNames: ['time'] }),
    carried: {
      openai: { tool_choice: { type: 'function', function: { name: 'time' } } },
      gemini: calling({ mode: 'ANY', allowedFunctionNames: ['time'] }),
      anthropic: { tool_choice: { type: 'tool', name: 'time' } },
    },
  },
  {
    title: 'tool choice: a subset of the functions',
    chat: chatAsks(
      {
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: {
            mode: 'required',
            tools: ['weather', 'time'].map((name) => ({ type: 'function', function: { name } })),
          },
        },
      },
      'tool_choice',
    ),
    native: nativeAsks({ mode: 'ANY', allowedFunctionNames: ['weather', 'time'] }),
    carried: {
      openai: {
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'required', tools: [{}, {}] },
        },
      },
      gemini: calling({ mode: 'ANY', allowedFunctionNames: ['weather', 'time'] }),
      anthropic: { tools: anthropicTools.slice(0, 2), tool_choice: { type: 'any' } },
    },
  },
  {
    title: 'tool choice: none',
    chat: chatAsks({ tool_choice: 'none' }, 'tool_choice'),
    native: nativeAsks({ mode: 'NONE' }),
    carried: {
      openai: { tools: [{}, {}, {}], tool_choice: 'none' },
      gemini: { tools: [{}], ...calling({ mode: 'NONE' }) },
      anthropic: { tools: [{}, {}, {}], tool_choice: { type: 'none' } },
    },
  },
  {
    title: 'strict function schemas',
    chat: {
      body: {
        tools: [
          {
            type: 'function',
            function: {
              name: 'weather',
              strict: true,
              parameters: { ...schema, additionalProperties: false },
            },
          },
        ],
      },
      names: ['tools[0]'],
    },
    native: {
      body: {
        tools: [
          {
            functionDeclarations: [
              {
                name: 'weather',
                parametersJsonSchema: { ...schema, additionalProperties: false },
              },
            ],
          },
        ],
        ...calling({ mode: 'VALIDATED' }),
      },
      names: ['tools[0]', 'toolConfig'],
    },
    carried: {
      openai: { tool_choice: 'auto', tools: [{ function: { strict: true } }] },
      gemini: calling({ mode: 'VALIDATED' }),
      anthropic: { tools: [{ strict: true }] },
    },
  },
  {
    title: 'parallel tool calls turned off',
    chat: chatAsks({ parallel_tool_calls: false }, 'parallel_tool_calls'),
    carried: { anthropic: { tool_choice: { disable_parallel_tool_use: true } } },
  },
  {
    title: 'tool that the provider runs (`googleSearch`)',
    native: { body: { tools: [{ googleSearch: {} }] }, names: ['tools[0].googleSearch'] },
    carried: {},
  },
  {
    title: 'custom tool of OpenAI',
    chat: {
      body: { tools: [{ type: 'custom', custom: { name: 'shell' } }] },
      names: ['tools[0]'],
    },
    carried: {},
  },
  {
    title: '`web_search_options` of OpenAI',
    chat: { body: { web_search_options: {} }, names: ['web_search_options'] },
    carried: {},
  },
];
