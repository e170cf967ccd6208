/** What a Messages request can ask for, and how each other dialect says it upstream. */
import type { JsonObject } from '../../../src/json.ts';
import { blockFeatures } from './messages-blocks.ts';
import { assistant, type Carried, feature, hi, image, text, user } from './messages-features.ts';
import type { RequestFeature } from './request-features.ts';

const call = (id: string, name: string): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input: { city: 'Rome' },
});
const result = (id: string, content: string | readonly JsonObject[]): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
});
const declared = (name: string): JsonObject => ({ name, input_schema: { type: 'object' } });
const offered = (...names: readonly string[]): Carried => ({
  openai: { tools: names.map((name) => ({ function: { name } })) },
  gemini: { tools: [{ functionDeclarations: names.map((name) => ({ name })) }] },
});

const tools: readonly RequestFeature[] = [
  feature('`tools` with a schema', { tools: [declared('weather')] }, 'tools', offered('weather')),
  feature(
    'parallel calls, and their results after text of the user',
    {
      messages: [
        hi,
        assistant(call('a', 'weather'), call('b', 'time')),
        user(text('Well?'), result('b', 'noon'), result('a', 'sunny')),
      ],
    },
    'messages',
    {
      openai: {
        messages: [
          {},
          { tool_calls: [{ id: 'a' }, { id: 'b' }] },
          { tool_call_id: 'a', content: 'sunny' },
          { tool_call_id: 'b', content: 'noon' },
          { role: 'user', content: 'Well?' },
        ],
      },
      gemini: {
        contents: [
          {},
          { parts: [{ functionCall: { name: 'weather' } }, { functionCall: { name: 'time' } }] },
          { parts: [{ functionResponse: { name: 'weather' } }, { functionResponse: {} }] },
          { parts: [{ text: 'Well?' }] },
        ],
      },
    },
  ),
  feature(
    '`image` in a result',
    { messages: [hi, assistant(call('a', 'chart')), user(result('a', [image]))] },
    'messages[2]',
    {
      openai: { messages: [{}, {}, { role: 'tool' }, { content: [{ type: 'image_url' }] }] },
      gemini: {
        contents: [{}, {}, { parts: [{ functionResponse: { parts: [{ inlineData: {} }] } }] }],
      },
    },
  ),
  feature(
    '`tool_reference` in a result',
    {
      messages: [
        hi,
        assistant(call('a', 'find')),
        user(result('a', [{ type: 'tool_reference', tool_name: 'f' }])),
      ],
    },
    'messages[2].content[0].content[0]',
    {
      openai: { messages: [{}, {}, { content: 'Tool f is available.\n' }] },
      gemini: {
        contents: [
          {},
          {},
          { parts: [{ functionResponse: { response: { output: 'Tool f is available.\n' } } }] },
        ],
      },
    },
  ),
  feature(
    '`strict` of a tool',
    {
      tools: [
        {
          name: 'f',
          strict: true,
          input_schema: {
            type: 'object',
            properties: {},
            required: [],
            additionalProperties: false,
          },
        },
      ],
    },
    'tools[0].strict',
    {
      openai: { tools: [{ function: { strict: true } }] },
      gemini: { toolConfig: { functionCallingConfig: { mode: 'VALIDATED' } } },
    },
  ),
  feature(
    '`input_examples`, `allowed_callers`',
    {
      tools: [
        {
          ...declared('f'),
          input_examples: [{}],
          allowed_callers: ['code_execution_20250825'],
        },
      ],
    },
    'tools.',
  ),
  feature(
    '`defer_loading` beside a search for tools',
    {
      tools: [
        { ...declared('f'), defer_loading: true },
        { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' },
      ],
    },
    ['tools.defer_loading', 'tools[1]'],
    offered('f'),
  ),
  feature(
    'tools that Anthropic defines, such as `web_search` and `bash`',
    { tools: [declared('f'), { type: 'bash_20250124', name: 'bash' }] },
    'tools[1]',
  ),
  feature(
    '`tool_choice`: `any`',
    { tools: [declared('f')], tool_choice: { type: 'any' } },
    'tool_choice',
    {
      openai: { tool_choice: 'required' },
      gemini: { toolConfig: { functionCallingConfig: { mode: 'ANY' } } },
    },
  ),
  feature(
    '`tool_choice`: `tool`',
    { tools: [declared('f')], tool_choice: { type: 'tool', name: 'f' } },
    'tool_choice',
    {
      openai: { tool_choice: { function: { name: 'f' } } },
      gemini: { toolConfig: { functionCallingConfig: { allowedFunctionNames: ['f'] } } },
    },
  ),
  feature(
    '`tool_choice`: `none`',
    { tools: [declared('f')], tool_choice: { type: 'none' } },
    'tool_choice',
    {
      openai: { tool_choice: 'none' },
      gemini: { toolConfig: { functionCallingConfig: { mode: 'NONE' } } },
    },
  ),
  feature(
    '`disable_parallel_tool_use`',
    {
      tools: [declared('f')],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    'tool_choice.disable_parallel_tool_use',
    { openai: { parallel_tool_calls: false } },
  ),
];

const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

const settings: readonly RequestFeature[] = [
  feature(
    '`output_config.format`, `output_format`',
    { output_config: { format: { type: 'json_schema', schema } } },
    'output_config.format',
    {
      openai: { response_format: { json_schema: { schema, strict: true } } },
      gemini: { generationConfig: { responseJsonSchema: schema } },
    },
  ),
  feature('`output_config.effort`', { output_config: { effort: 'high' } }, 'output_config.effort', {
    openai: { reasoning_effort: 'high' },
    gemini: { generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } },
  }),
  feature(
    '`output_config.task_budget`',
    { output_config: { task_budget: { type: 'tokens', total: 20_000 } } },
    'output_config.task_budget',
  ),
  feature(
    '`thinking`: `enabled` with a budget',
    { max_tokens: 8_000, thinking: { type: 'enabled', budget_tokens: 2_000 } },
    'thinking',
    {
      openai: { reasoning_effort: 'medium' },
      gemini: {
        generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: 'MEDIUM' } },
      },
    },
  ),
  feature(
    '`thinking`: `adaptive`, summarized',
    { thinking: { type: 'adaptive', display: 'summarized' } },
    'thinking',
    {
      // Chat completions have no member for it: what reasoning comes is shown.
      openai: { messages: [{}] },
      gemini: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
    },
  ),
  feature('`thinking`: `disabled`', { thinking: { type: 'disabled' } }, 'thinking', {
    openai: { reasoning_effort: 'none' },
    gemini: { generationConfig: { thinkingConfig: { includeThoughts: false } } },
  }),
  feature('`thinking`: `between_tools`', { thinking: { type: 'between_tools' } }, 'thinking'),
  feature('`max_tokens`', { max_tokens: 32 }, 'max_tokens', {
    openai: { max_completion_tokens: 32 },
    gemini: { generationConfig: { maxOutputTokens: 32 } },
  }),
  feature('`max_tokens: 0`', { max_tokens: 0 }, 'max_tokens'),
  feature('`temperature`, `top_p`', { temperature: 0.5, top_p: 0.5 }, ['temperature', 'top_p'], {
    gemini: { generationConfig: { temperature: 0.5, topP: 0.5 } },
  }),
  feature('`top_k`', { top_k: 5 }, 'top_k', { gemini: { generationConfig: { topK: 5 } } }),
  feature('`stop_sequences`', { stop_sequences: ['a', 'b'] }, 'stop_sequences', {
    openai: { stop: ['a', 'b'] },
    gemini: { generationConfig: { stopSequences: ['a', 'b'] } },
  }),
  feature('`metadata.user_id`', { metadata: { user_id: 'u1' } }, 'metadata.user_id', {
    openai: { user: 'u1' },
  }),
  feature(
    '`context_management`, `compaction`, `diagnostics`, `speed`',
    {
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      compaction: { type: 'summarize' },
      diagnostics: { previous_message_id: 'msg_1' },
      speed: 'fast',
    },
    ['context_management.edits', 'compaction', 'diagnostics', 'speed'],
  ),
  feature('`mcp_servers`', { mcp_servers: [{ type: 'url', url: 'https://a.test' }] }, [
    'mcp_servers',
  ]),
  feature('`container`', { container: 'c' }, 'container'),
  feature('`thread`: `continue`', { thread: { type: 'continue', id: 't' } }, 'thread'),
  feature('`inference_geo`', { inference_geo: 'eu' }, 'inference_geo'),
  feature('an unknown member', { of_next_year: true }, 'of_next_year'),
];

/** In the order of the table. */
export const messagesFeatures: readonly RequestFeature[] = [
  ...blockFeatures,
  ...tools,
  ...settings,
];
