/**
 * Lists the members of a Responses request that the common form cannot express, so that nothing a
 * caller sends is dropped silently. Not listed are members that only the gateway acts on, such as
 * `store` and `metadata`, and those that describe earlier replies, such as ids and annotations.
 * The `openai` package adds `parsed` and `parsed_arguments` to the replies that callers send back.
 */
import { type JsonObject, type JsonValue, member } from '../../../../json.ts';
import { collectUnread, read, reads, type Shape } from '../../../unread.ts';

export function unreadMembers(body: JsonObject): readonly string[] {
  const unread = new Set(ignoredMembers(body));
  collectUnread(body, { shape: request, at: '', unread });
  return [...unread];
}

const cacheable: Shape = { type: read, prompt_cache_breakpoint: { mode: read, ttl: read } };
const text: Shape = { ...cacheable, text: read };
const parts: ReadonlyMap<JsonValue | undefined, Shape> = new Map<JsonValue | undefined, Shape>([
  ['input_text', text],
  ['text', text],
  ['output_text', { ...text, annotations: read, logprobs: read, parsed: read }],
  ['refusal', { ...cacheable, refusal: read }],
  ['input_image', { ...cacheable, image_url: { url: read }, detail: read }],
  ['input_audio', { ...cacheable, input_audio: { data: read, format: read } }],
]);

/** If a file has both data and a URL, the URL is ignored. */
function fileShape(file: JsonObject): Shape {
  const known = { ...cacheable, file_data: read, filename: read } as const;
  return (member(file, 'file_data') ?? '') === '' ? { ...known, file_url: read } : known;
}

/** A part of an unknown type is refused. */
function partShape(part: JsonObject): Shape {
  const type = member(part, 'type');
  return type === 'input_file' ? fileShape(part) : (parts.get(type) ?? {});
}

const functionTool: Shape = {
  ...reads('type', 'name', 'description', 'strict', 'parameters', 'defer_loading'),
  ...reads('allowed_callers'),
  // Describes the function's result, which the caller sends. It is not a setting.
  output_schema: read,
  async: read,
};
const customTool: Shape = {
  ...reads('type', 'name', 'description', 'format', 'defer_loading', 'allowed_callers', 'async'),
};

/** Tools of other types are refused or dropped as a whole. */
function toolShape(tool: JsonObject): Shape | typeof read {
  switch (member(tool, 'type')) {
    case 'function':
      return functionTool;
    case 'custom':
      return customTool;
    case 'namespace':
      return { type: read, name: read, description: read, tools: toolShape };
    default:
      return read;
  }
}

const message: Shape = {
  ...reads('type', 'id', 'role'),
  content: partShape,
  ...reads('status', 'phase'),
};
const call: Shape = {
  ...reads('type', 'id', 'call_id', 'name', 'namespace', 'status', 'caller', 'async'),
};
const result: Shape = { ...call, output: partShape };
const reasoningText: Shape = { type: read, text: read };
const itemShapes: ReadonlyMap<JsonValue, Shape> = new Map<JsonValue, Shape>([
  ['message', message],
  ['function_call', { ...call, arguments: read, parsed_arguments: read }],
  ['custom_tool_call', { ...call, input: read }],
  ['function_call_output', result],
  ['custom_tool_call_output', result],
  [
    'reasoning',
    {
      ...reads('type', 'id', 'status'),
      summary: reasoningText,
      content: reasoningText,
      encrypted_content: read,
    },
  ],
  ['additional_tools', { type: read, id: read, role: read, tools: toolShape }],
  [
    'configuration_update',
    { type: read, id: read, reasoning: { effort: read }, text: { format: formatShape } },
  ],
]);

/** Items of other types are refused or dropped as a whole. */
function itemShape(item: JsonObject): Shape | typeof read {
  return itemShapes.get(member(item, 'type') ?? 'message') ?? read;
}

function formatShape(format: JsonObject): Shape {
  if (member(format, 'type') !== 'json_schema') return { type: read };
  return { type: read, name: read, description: read, schema: read, strict: read };
}

const tool: Shape = { type: read, name: read, namespace: read };

const request: Shape = {
  model: read,
  input: itemShape,
  ...reads('instructions', 'stream'),
  // No reply is padded, whether the caller asks for that or not.
  stream_options: { include_obfuscation: read },
  ...reads('store', 'background', 'include', 'max_output_tokens'),
  // Limits only tools that OpenAI runs.
  max_tool_calls: read,
  ...reads('temperature', 'top_p', 'top_logprobs'),
  tools: toolShape,
  tool_choice: { ...tool, mode: read, tools: toolChoiceShape },
  parallel_tool_calls: read,
  reasoning: {
    ...reads('effort', 'summary', 'generate_summary', 'context', 'mode'),
  },
  text: { format: formatShape, verbosity: read },
  ...reads('metadata', 'safety_identifier', 'user', 'service_tier', 'prompt_cache_key'),
  prompt_cache_options: { prewarm: read },
  truncation: read,
  // Codex sends it in every request; it has no effect on the answer.
  client_metadata: read,
};

/** Tools that are not functions are listed by the reader of the choice. */
function toolChoiceShape(allowed: JsonObject): Shape | typeof read {
  const type = member(allowed, 'type');
  return type === 'function' || type === 'custom' ? tool : read;
}

/** Members whose value has no counterpart, or that another member overrides. */
function ignoredMembers(body: JsonObject): readonly string[] {
  const truncation = member(body, 'truncation') ?? 'disabled';
  const [id, user] = [member(body, 'safety_identifier'), member(body, 'user')];
  const isOtherUser = (id ?? null) !== null && (user ?? null) !== null && id !== user;
  return [...(truncation === 'disabled' ? [] : ['truncation']), ...(isOtherUser ? ['user'] : [])];
}
