/** What a Responses request can ask for, and how each dialect says it upstream. */
import type { JsonObject } from '../../../src/json.ts';
import type { DialectName } from '../../../src/ports/models/capabilities.ts';
import type { RequestFeature } from './request-features.ts';

type Carried = Readonly<Partial<Record<DialectName, JsonObject>>>;

function feature(
  title: string,
  body: JsonObject,
  names: string | readonly string[],
  carried: Carried = {},
): RequestFeature {
  return {
    title,
    responses: { body, names: typeof names === 'string' ? [names] : names },
    carried,
  };
}

/** A member that the gateway acts on: the request of the upstream is a plain one. */
function local(title: string, body: JsonObject): RequestFeature {
  return feature(title, body, [], {
    openai: { messages: [{ role: 'user', content: 'hi' }] },
    gemini: { contents: [{ role: 'user' }] },
    anthropic: { messages: [{ role: 'user' }] },
  });
}

const user = (content: string | readonly JsonObject[]): JsonObject => ({ role: 'user', content });
const assistant = (text: string): JsonObject => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
});
const inPart = (part: JsonObject): JsonObject => ({ input: [user([part])] });
const partName = 'input[0].content[0]';
const png = 'iVBORw0KGgo=';
const pdf = 'JVBERi0xLjQKJSVFT0YK';

const conversation: readonly RequestFeature[] = [
  feature('`instructions`', { instructions: 'Be brief.' }, 'instructions', {
    openai: { messages: [{ role: 'system', content: 'Be brief.' }, {}] },
    gemini: { systemInstruction: { parts: [{ text: 'Be brief.' }] } },
    anthropic: { system: [{ text: 'Be brief.' }] },
  }),
  feature(
    'developer message after other messages',
    {
      input: [
        user('hi'),
        assistant('Hello.'),
        user('Go on.'),
        { role: 'developer', content: 'In French.' },
      ],
    },
    'input[3]',
    {
      openai: { messages: [{}, {}, {}, { role: 'system', content: 'In French.' }] },
      gemini: { systemInstruction: { parts: [{ text: 'In French.' }] } },
      anthropic: { messages: [{}, {}, {}, { role: 'system' }] },
    },
  ),
  feature(
    '`input_image` as a data URL',
    inPart({ type: 'input_image', image_url: `data:image/png;base64,${png}` }),
    partName,
    {
      openai: { messages: [{ content: [{ type: 'image_url' }] }] },
      gemini: { contents: [{ parts: [{ inlineData: { mimeType: 'image/png', data: png } }] }] },
      anthropic: { messages: [{ content: [{ type: 'image', source: { data: png } }] }] },
    },
  ),
  feature(
    '`input_file` as a data URL',
    inPart({ type: 'input_file', file_data: `data:application/pdf;base64,${pdf}` }),
    partName,
    {
      openai: { messages: [{ content: [{ type: 'file' }] }] },
      gemini: { contents: [{ parts: [{ inlineData: { data: pdf } }] }] },
      anthropic: { messages: [{ content: [{ type: 'document' }] }] },
    },
  ),
  feature(
    '`input_file` by URL',
    inPart({ type: 'input_file', file_url: 'https://example.com/a.pdf' }),
    partName,
    {
      gemini: { contents: [{ parts: [{ fileData: { fileUri: 'https://example.com/a.pdf' } }] }] },
      anthropic: { messages: [{ content: [{ type: 'document', source: { type: 'url' } }] }] },
    },
  ),
  feature('`file_id`', inPart({ type: 'input_file', file_id: 'f-1' }), `${partName}.file_id`),
  feature(
    '`prompt_cache_breakpoint`',
    inPart({ type: 'input_text', text: 'hi', prompt_cache_breakpoint: { mode: 'explicit' } }),
    `${partName}.prompt_cache_breakpoint`,
    { anthropic: { messages: [{ content: [{ cache_control: { type: 'ephemeral' } }] }] } },
  ),
];

const call = (id: string, members: JsonObject): JsonObject => ({
  type: 'function_call',
  call_id: id,
  arguments: '{"city":"Rome"}',
  ...members,
});
const output = (id: string, result: string | readonly JsonObject[]): JsonObject => ({
  type: 'function_call_output',
  call_id: id,
  output: result,
});
const image = { type: 'input_image', image_url: `data:image/png;base64,${png}` };
const declared = (name: string): JsonObject => ({
  type: 'function',
  name,
  parameters: { type: 'object', properties: {} },
});
const patch = { type: 'custom', name: 'patch' };
const offered = (...names: readonly string[]): Carried => ({
  openai: { tools: names.map((name) => ({ function: { name } })) },
  gemini: { tools: [{ functionDeclarations: names.map((name) => ({ name })) }] },
  anthropic: { tools: names.map((name) => ({ name })) },
});

const tools: readonly RequestFeature[] = [
  feature('functions', { tools: [declared('weather')] }, 'tools', offered('weather')),
  feature(
    'parallel calls and their outputs, in another order',
    {
      input: [
        user('hi'),
        call('a', { name: 'weather' }),
        call('b', { name: 'time' }),
        output('b', 'noon'),
        output('a', 'sunny'),
      ],
    },
    'input',
    {
      openai: {
        messages: [
          {},
          { tool_calls: [{ id: 'a' }, { id: 'b' }] },
          { tool_call_id: 'a', content: 'sunny' },
          { tool_call_id: 'b', content: 'noon' },
        ],
      },
      gemini: {
        contents: [
          {},
          { parts: [{ functionCall: { name: 'weather' } }, { functionCall: { name: 'time' } }] },
          { parts: [{ functionResponse: { name: 'weather' } }, { functionResponse: {} }] },
        ],
      },
      anthropic: {
        messages: [
          {},
          {
            content: [
              { type: 'tool_use', id: 'a' },
              { type: 'tool_use', id: 'b' },
            ],
          },
          { content: [{ tool_use_id: 'a' }, { tool_use_id: 'b' }] },
        ],
      },
    },
  ),
  feature(
    'image in an output',
    {
      input: [user('hi'), call('a', { name: 'chart' }), output('a', [image])],
    },
    'input[2].output[0]',
    {
      openai: { messages: [{}, {}, { role: 'tool' }, { content: [{ type: 'image_url' }] }] },
      gemini: {
        contents: [{}, {}, { parts: [{ functionResponse: { parts: [{ inlineData: {} }] } }] }],
      },
      anthropic: { messages: [{}, {}, { content: [{ content: [{ type: 'image' }] }] }] },
    },
  ),
  feature('custom tool', { tools: [patch] }, 'tools[0]', {
    ...offered('patch'),
    openai: { tools: [{ type: 'custom', custom: { name: 'patch' } }] },
  }),
  feature(
    'grammar of a custom tool',
    {
      tools: [{ ...patch, format: { type: 'grammar', syntax: 'lark', definition: 'start: "x"' } }],
    },
    'tools[0].format',
    { ...offered('patch'), openai: { tools: [{ type: 'custom', custom: { format: {} } }] } },
  ),
  feature(
    'tools in a `namespace`',
    { tools: [{ type: 'namespace', name: 'clock', tools: [declared('sleep')] }] },
    'tools[0]',
    offered('clock__sleep'),
  ),
  feature(
    '`additional_tools`',
    {
      input: [
        { type: 'additional_tools', role: 'developer', tools: [declared('wait')] },
        user('hi'),
      ],
    },
    'input[0]',
    offered('wait'),
  ),
  feature(
    '`tool_choice`: `allowed_tools`',
    {
      tools: [declared('weather'), declared('time'), declared('news')],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [
          { type: 'function', name: 'weather' },
          { type: 'function', name: 'time' },
        ],
      },
    },
    'tool_choice',
    {
      openai: { tool_choice: { type: 'allowed_tools' } },
      gemini: {
        toolConfig: { functionCallingConfig: { allowedFunctionNames: ['weather', 'time'] } },
      },
      anthropic: { tools: [{ name: 'weather' }, { name: 'time' }], tool_choice: { type: 'any' } },
    },
  ),
  feature(
    '`web_search` beside other tools',
    { tools: [declared('f'), { type: 'web_search' }] },
    'tools[1]',
  ),
  feature('`web_search` alone', { tools: [{ type: 'web_search' }] }, 'tools[0].type'),
  feature(
    'deferred functions and a `tool_search`',
    { tools: [{ ...declared('f'), defer_loading: true }, { type: 'tool_search' }] },
    'tools[1].type',
  ),
  feature('other built-in tools', { tools: [{ type: 'apply_patch' }] }, 'tools[0].type'),
];

const webSearchCall = {
  type: 'web_search_call',
  id: 'ws_1',
  action: { type: 'search', query: 'q' },
};

const items: readonly RequestFeature[] = [
  feature(
    'items of built-in tools, such as `web_search_call`',
    {
      input: [user('hi'), webSearchCall, assistant('Hello.'), user('Go on.')],
    },
    'input[1]',
  ),
  feature(
    '`configuration_update`',
    { input: [user('hi'), { type: 'configuration_update', reasoning: { effort: 'high' } }] },
    'input[1]',
    {
      openai: { reasoning_effort: 'high' },
      gemini: { generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } },
      anthropic: { output_config: { effort: 'high' } },
    },
  ),
  feature('`compaction`', { input: [user('hi'), { type: 'compaction' }] }, 'input[1].type'),
  feature(
    'items of an unknown type',
    { input: [user('hi'), { type: 'of_next_year' }] },
    'input[1].type',
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
    '`text.format`: JSON schema',
    { text: { format: { type: 'json_schema', name: 'place', schema, strict: true } } },
    'text.format',
    {
      openai: { response_format: { type: 'json_schema', json_schema: { schema } } },
      gemini: { generationConfig: { responseJsonSchema: schema } },
      anthropic: { output_config: { format: { type: 'json_schema', schema } } },
    },
  ),
  feature('`text.verbosity`', { text: { verbosity: 'low' } }, 'text.verbosity', {
    openai: { verbosity: 'low' },
  }),
  feature('`reasoning.effort`', { reasoning: { effort: 'high' } }, 'reasoning.effort', {
    openai: { reasoning_effort: 'high' },
    gemini: { generationConfig: { thinkingConfig: { thinkingLevel: 'HIGH' } } },
    anthropic: { output_config: { effort: 'high' } },
  }),
  feature('`reasoning.summary`', { reasoning: { summary: 'auto' } }, [], {
    // Chat completions have no member for it: what reasoning comes is shown.
    openai: { messages: [{}] },
    gemini: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
    anthropic: { thinking: { type: 'adaptive', display: 'summarized' } },
  }),
  feature(
    '`reasoning.context: "all_turns"`',
    { reasoning: { context: 'all_turns' } },
    'reasoning.context',
  ),
  feature('`max_output_tokens`', { max_output_tokens: 64 }, 'max_output_tokens', {
    openai: { max_completion_tokens: 64 },
    gemini: { generationConfig: { maxOutputTokens: 64 } },
    anthropic: { max_tokens: 64 },
  }),
  feature('logprobs', { include: ['message.output_text.logprobs'] }, 'include[0]', {
    openai: { logprobs: true },
    gemini: { generationConfig: { responseLogprobs: true } },
  }),
  feature('`safety_identifier`', { safety_identifier: 'u1' }, 'safety_identifier', {
    openai: { user: 'u1' },
    anthropic: { metadata: { user_id: 'u1' } },
  }),
  feature('`service_tier: "flex"`', { service_tier: 'flex' }, 'service_tier', {
    openai: { service_tier: 'flex' },
  }),
  feature('`truncation: "auto"`', { truncation: 'auto' }, 'truncation'),
  feature(
    '`context_management`',
    { context_management: [{ type: 'compaction' }] },
    'context_management',
  ),
  local('`metadata`, `client_metadata`', { metadata: { a: 'b' }, client_metadata: { c: 'd' } }),
  {
    ...local('`store`, `prompt_cache_key`', { store: false, prompt_cache_key: 'k' }),
    carried: {
      openai: { prompt_cache_key: 'k' },
      // No provider but OpenAI has it; the gateway chooses the channel by it.
      gemini: { contents: [{}] },
      anthropic: { messages: [{}] },
    },
  },
  local('`include`: `reasoning.encrypted_content`', { include: ['reasoning.encrypted_content'] }),
  local('`max_tool_calls`, `stream_options`', {
    max_tool_calls: 2,
    stream_options: { include_obfuscation: false },
  }),
];

/** In the order of the table. */
export const responsesFeatures: readonly RequestFeature[] = [
  ...conversation,
  ...tools,
  ...items,
  ...settings,
];
