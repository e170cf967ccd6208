/** What readers refuse by its path, and what they leave out and list. */
import type { JsonObject, JsonValue } from '../../../src/json.ts';
import type { WireName } from './wires.ts';

/** A path, a body, and what the message says. */
type Unportable = readonly [param: string, members: JsonObject, message?: RegExp];
/** A body, and what is listed of it. */
type LeftOut = readonly [members: JsonObject, ...listed: readonly string[]];
type Members = readonly (readonly [string, JsonObject])[];

const user = { role: 'user', content: 'Hi' };
const chat = (...messages: readonly JsonObject[]) => ({ messages });
const content = (...content: readonly JsonValue[]) => ({ messages: [{ role: 'user', content }] });
const part = (one: JsonValue) => ({ contents: [{ parts: [one] }] });
const config = (generationConfig: JsonObject) => ({ generationConfig });
const input = (...items: readonly JsonObject[]) => ({ input: items });
const answered = (block: JsonObject) => ({
  messages: [user, { role: 'assistant', content: [block] }],
});
const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
const output = { type: 'function_call_output', call_id: 'a', output: '' };
const image = (source: JsonValue) => content({ type: 'image', source });
const audio = { type: 'input_audio', input_audio: { data: 'AA' } };
const pdf = { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0xLjQ=' };

/** Members of a wrong type or value: the path that the refusal names, and the body. */
export const invalid: Readonly<Record<WireName, Members>> = {
  chat: [
    ['messages', chat()],
    ['messages[0].role', chat({ role: 'robot', content: 'Hi' })],
    ['messages[0].content', chat({ role: 'user', content: null })],
    ['messages[0].content', chat({ role: 'user', content: 7 })],
    ['messages[0].content[0]', content('Hi')],
    ['messages[0].content[0]', content({ type: 'smell' })],
    ['messages[0].content[0]', chat({ role: 'system', content: [audio] })],
    [
      'messages[0].content[0].image_url.url',
      content({ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }),
    ],
    ['messages[1].tool_call_id', chat(user, { role: 'tool', content: '1' })],
    [
      'messages[1].tool_calls[0].function.name',
      chat(user, { role: 'assistant', tool_calls: [{ id: 'a', function: {} }] }),
    ],
    ['tools[0]', { tools: [{}] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: { name: '' } }] }],
    ['tool_choice', { tool_choice: 'maybe' }],
    ['temperature', { temperature: 'hot' }],
    ['seed', { seed: 0.5 }],
    ['stop', { stop: [1] }],
    ['reasoning_effort', { reasoning_effort: 'some' }],
    ['modalities', { modalities: ['smell'] }],
    ['response_format.type', { response_format: { type: 'xml' } }],
    ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
  ],
  responses: [
    ['instructions', { instructions: 1 }],
    ['input', { input: 5 }],
    ['input', { input: [] }],
    ['input[0]', { input: ['Hi'] }],
    ['input[0].role', input({ role: 'tool', content: 'x' })],
    ['input[0].content', input({ role: 'user', content: [] })],
    ['input[0].content', input({ role: 'user' })],
    ['input[0].content', input({ role: 'user', content: 5 })],
    ['input[0].content[0].text', input({ role: 'user', content: [{ type: 'input_text' }] })],
    [
      'input[0].content[0].image_url',
      input({ role: 'user', content: [{ type: 'input_image', image_url: 'ftp://a' }] }),
    ],
    ['input[0].content[0]', input({ role: 'user', content: [{ type: 'input_file' }] })],
    [
      'input[0].content[0]',
      input({ role: 'system', content: [{ type: 'input_image', image_url: 'https://a.test' }] }),
    ],
    ['input[1].call_id', input(user, { ...call, call_id: '' })],
    ['input[1].name', input(user, { ...call, name: null })],
    ['input[1].call_id', input(user, { ...output, call_id: null })],
    ['input[1].output', input(user, { ...output, output: 5 })],
    ['input[1].encrypted_content', input(user, { type: 'reasoning', encrypted_content: 7 })],
    ['max_output_tokens', { max_output_tokens: 1.5 }],
    ['temperature', { temperature: 'hot' }],
    ['text', { text: 'plain' }],
    ['text.format', { text: { format: 'json' } }],
    ['text.format.type', { text: { format: { type: 'xml' } } }],
    ['reasoning', { reasoning: 'high' }],
    ['reasoning.effort', { reasoning: { effort: 'extreme' } }],
    ['store', { store: 'no' }],
    ['tools', { tools: {} }],
    ['tools[0].type', { tools: [{}] }],
    ['tools[0].name', { tools: [{ type: 'function' }] }],
    ['tool_choice', { tool_choice: 7 }],
    ['tool_choice.mode', { tool_choice: { type: 'allowed_tools', mode: 'none' } }],
    ['tool_choice.tools', { tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [] } }],
    ['prompt_cache_options', { prompt_cache_options: 'all' }],
    ['service_tier', { service_tier: 1 }],
  ],
  messages: [
    ['max_tokens', { max_tokens: -1 }],
    ['messages', chat()],
    ['messages', chat({ role: 'system', content: 'a' })],
    ['messages[0].role', chat({ role: 'tool', content: 'a' })],
    ['messages[0].content', chat({ role: 'user' })],
    ['stop_sequences[1]', { stop_sequences: ['a', 1] }],
    ['system[0].text', { system: [{ type: 'text' }] }],
    ['tools[0].name', { tools: [{ input_schema: {} }] }],
    ['tools[0].input_schema', { tools: [{ name: 'f' }] }],
    ['tool_choice.type', { tool_choice: { type: 'required' } }],
    ['tool_choice.name', { tool_choice: { type: 'tool' } }],
    ['thinking.budget_tokens', { thinking: { type: 'enabled' } }],
    ['thinking.budget_tokens', { thinking: { type: 'enabled', budget_tokens: 0 } }],
    ['thinking.type', { thinking: { type: 'deep' } }],
    ['output_config.effort', { output_config: { effort: 'none' } }],
    ['output_config.format.type', { output_config: { format: { type: 'json' } } }],
    ['output_config.format.schema', { output_config: { format: { type: 'json_schema' } } }],
    ['metadata.user_id', { metadata: { user_id: 7 } }],
    ...['text', 7, null, []].map((one) => ['messages[0].content[0]', content(one)] as const),
    ['messages[0].content[0].source', content({ type: 'image' })],
    ['messages[0].content[0].source', image('x')],
    ['messages[0].content[0].source.type', image({ type: 'path' })],
    ['messages[0].content[0].source.media_type', image({ type: 'base64', data: 'x' })],
    ['messages[0].content[0].source.data', image({ type: 'base64', media_type: 'image/png' })],
    ['messages[0].content[0].source.url', image({ type: 'url', url: 'ftp://a.test' })],
    ['messages[0].content[0].source.data', content({ type: 'document', source: { type: 'text' } })],
    [
      'messages[0].content[0].source.content',
      content({ type: 'document', source: { type: 'content' } }),
    ],
    ['messages[0].content[0].title', content({ type: 'document', source: pdf, title: 7 })],
    [
      'messages[0].content[0].citations',
      content({ type: 'document', source: pdf, citations: true }),
    ],
    ['messages[0].content[0].title', content({ type: 'search_result', source: 's', content: [] })],
    ['messages[1].content[0].id', answered({ type: 'tool_use', name: 'f', input: {} })],
    ['messages[1].content[0].name', answered({ type: 'tool_use', id: 'a', input: {} })],
    ...[{}, { input: '{}' }, { input: [] }].map(
      (more: JsonObject) =>
        [
          'messages[1].content[0].input',
          answered({ type: 'tool_use', id: 'a', name: 'f', ...more }),
        ] as const,
    ),
    ['messages[0].content[0].tool_use_id', content({ type: 'tool_result', content: 'a' })],
    [
      'messages[0].content[0].is_error',
      content({ type: 'tool_result', tool_use_id: 'a', is_error: 'yes' }),
    ],
    [
      'messages[0].content[0].content',
      content({ type: 'tool_result', tool_use_id: 'a', content: 7 }),
    ],
  ],
  gemini: [
    ['contents', { contents: null }],
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
    ['systemInstruction', { systemInstruction: 1 }],
    ['tools[0]', { tools: ['f'] }],
    ['tools[0].functionDeclarations[0].name', { tools: { functionDeclarations: [{}] } }],
    [
      'toolConfig.functionCallingConfig.mode',
      { toolConfig: { functionCallingConfig: { mode: 'PERHAPS' } } },
    ],
    ['generationConfig', { generationConfig: [] }],
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
  ],
};

/** Members without which the request would mean something else: path, body, and the message. */
export const notPortable: Partial<Readonly<Record<WireName, readonly Unportable[]>>> = {
  responses: [
    [
      'previous_response_id',
      { previous_response_id: 'resp_1' },
      /^This model keeps no conversations\. Send the whole history as `input`\.$/,
    ],
    ['conversation', { conversation: 'conv_1' }, /whole history/],
    ['conversation', { conversation: { id: 'conv_1' } }, /whole history/],
    ['prompt', { prompt: { id: 'pmpt_1' } }, /instructions/],
    ['background', { background: true }, /Leave it out/],
    ['moderation', { moderation: { model: 'm' } }, /moderation/],
    ['prompt_cache_options.prewarm', { prompt_cache_options: { prewarm: true } }, /cache/],
    [
      'input[0].content[0].type',
      input({ role: 'user', content: [{ type: 'computer_screenshot' }] }),
    ],
    ['input[1].async', input(user, { ...call, async: true })],
    ['input[1].caller', input(user, { ...call, caller: { type: 'program' } })],
    ['input[1].caller', input(user, { ...output, caller: { type: 'program' } })],
    ...[
      ...['compaction', 'compaction_trigger', 'mcp_approval_request', 'mcp_approval_response'],
      ...['computer_call', 'computer_call_output', 'local_shell_call', 'shell_call', 'program'],
      ...['local_shell_call_output', 'shell_call_output', 'apply_patch_call', 'program_output'],
      ...['apply_patch_call_output', 'kind_of_next_year'],
    ].map((type) => ['input[1].type', input(user, { type })] as const),
    ...[{ type: 'item_reference', id: 'msg_1' }, { id: 'msg_1' }].map(
      (one) => ['input[1]', input(user, one), /providerOptions\.openai\.store = false/] as const,
    ),
  ],
  messages: [
    ['max_tokens', { max_tokens: 0 }, /^This model cannot fill its cache without a reply\./],
    ['thread', { thread: { type: 'continue', id: 't' } }, /whole history/],
    ['container', { container: 'container_1' }, /containers/],
    ['container', { container: { skills: [{ skill_id: 'pptx' }] } }, /containers/],
    ['mcp_servers', { mcp_servers: [{ type: 'url', url: 'https://a.test' }] }, /functions/],
    ['inference_geo', { inference_geo: 'eu' }, /region/],
  ],
};

/** Members without a counterpart: the body, and what is listed. */
export const leftOut: Readonly<Record<WireName, readonly LeftOut[]>> = {
  chat: [
    [{ metadata: { a: 'b' } }, 'metadata'],
    [{ logit_bias: {}, store: null }],
    [{ 'bad\r\nname': 1 }, 'bad__name'],
    [
      { stream_options: { include_usage: true, include_obfuscation: false } },
      'stream_options.include_obfuscation',
    ],
  ],
  responses: [
    [{ truncation: 'auto' }, 'truncation'],
    [{ reasoning: { context: 'all_turns' } }, 'reasoning.context'],
    [{ reasoning: { mode: 'pro' } }, 'reasoning.mode'],
    [{ prompt_cache_retention: '24h' }, 'prompt_cache_retention'],
    [
      { prompt_cache_options: { mode: 'explicit', ttl: '30m' } },
      ...['prompt_cache_options.mode', 'prompt_cache_options.ttl'],
    ],
    [{ context_management: [{ type: 'compaction' }] }, 'context_management'],
    [{ image: { context_compression: 'auto' } }, 'image'],
    [{ access_programs: { cyber: true } }, 'access_programs'],
    [{ include: ['something.new'] }, 'include[0]'],
  ],
  messages: [
    [{ speed: 'fast' }, 'speed'],
    [{ diagnostics: { previous_message_id: null } }, 'diagnostics'],
    [{ thread: { type: 'create' } }, 'thread'],
    [{ compaction: { type: 'summarize' } }, 'compaction'],
    [{ fallbacks: 'default' }, 'fallbacks'],
    [
      { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
      'context_management.edits',
    ],
    [{ output_config: { task_budget: { total: 5 } } }, 'output_config.task_budget'],
    [{ metadata: { team: 'a' } }, 'metadata.team'],
    [{ cache_control: { type: 'ephemeral' } }, 'cache_control'],
    [{ some_new_member: 1 }, 'some_new_member'],
  ],
  gemini: [
    [{ unknownField: 1 }, 'unknownField'],
    [{ generationConfig: { novelty: 2 } }, 'generationConfig.novelty'],
  ],
};
