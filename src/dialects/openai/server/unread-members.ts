/**
 * Lists the members of a chat request that the common form cannot express, so that nothing a caller
 * sends is dropped silently.
 */
import { items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { collectUnread, read, reads, type Shape } from '../../unread.ts';
import { reasoningDetail } from '../reasoning-details.ts';
import { unreadProviderParts } from './provider-parts.ts';

export function unreadMembers(body: JsonObject): readonly string[] {
  const unread = new Set(ignoredAliases(body));
  collectUnread(body, { shape: request, at: '', unread });
  for (const message of items(member(body, 'messages'))) {
    if (member(message, 'role') !== 'assistant') continue;
    if (repeatsOtherReasoning(message)) unread.add('messages.reasoning_content');
    for (const name of unreadProviderParts(message)) unread.add(name);
  }
  return [...unread];
}

const cacheable: Shape = { type: read, cache_control: read };
const urlShape: Shape = { url: read, detail: read, format: read, mime_type: read };
const parts: ReadonlyMap<JsonValue | undefined, Shape> = new Map<JsonValue | undefined, Shape>([
  ['text', { ...cacheable, text: read }],
  ['refusal', { ...cacheable, refusal: read }],
  ['image_url', { ...cacheable, image_url: urlShape }],
  ['video_url', { ...cacheable, video_url: urlShape }],
  ['input_audio', { ...cacheable, input_audio: { data: read, format: read } }],
  ['file', { ...cacheable, file: fileShape }],
]);

/** If a file has both data and an id, the id is ignored. */
function fileShape(file: JsonObject): Shape {
  const known = { file_data: read, filename: read, format: read, mime_type: read } as const;
  const data = member(file, 'file_data') ?? '';
  return data === '' ? { ...known, file_id: read } : known;
}

/** A part of an unknown type is refused. */
function partShape(part: JsonObject): Shape {
  return parts.get(member(part, 'type')) ?? {};
}

const google: Shape = { google: { thought_signature: read } };
const functionShape: Shape = { name: read, thought_signature: read };
const call: Shape = {
  ...reads('id', 'type', 'index'),
  function: { ...functionShape, arguments: read },
  custom: { ...functionShape, input: read },
  extra_content: google,
};
const messageMembers: Shape = { role: read, content: partShape, cache_control: read };
/**
 * Members that only describe an earlier reply, such as `annotations`, are left out of the shape, so
 * that they are reported as dropped.
 */
const assistant: Shape = {
  ...messageMembers,
  ...reads('refusal', 'reasoning_content', 'reasoning'),
  reasoning_details: reasoningDetail,
  tool_calls: call,
  function_call: { name: read, arguments: read, thought_signature: read },
  images: { ...cacheable, index: read, image_url: urlShape, extra_content: google },
  extra_content: {
    google: { thought_signature: read, parts: read },
    anthropic: { blocks: read },
  },
  thought_signature: read,
};
const result: Shape = { ...messageMembers, tool_call_id: read, name: read };
const messages: ReadonlyMap<JsonValue | undefined, Shape> = new Map<JsonValue | undefined, Shape>([
  ['assistant', assistant],
  ['tool', result],
  ['function', result],
]);

function messageShape(message: JsonObject): Shape {
  return messages.get(member(message, 'role')) ?? messageMembers;
}

const declaration: Shape = {
  ...reads('name', 'description', 'parameters', 'strict', 'cache_control'),
};

/** Tools of other types are refused or dropped as a whole. */
function toolShape(tool: JsonObject): Shape | typeof read {
  if (member(tool, 'type') === 'function') return { ...cacheable, function: declaration };
  return read;
}

const named: Shape = { name: read };
const choice: Shape = { type: read, function: named, custom: named };

const request: Shape = {
  model: read,
  messages: messageShape,
  stream: read,
  stream_options: { include_usage: read },
  tools: toolShape,
  tool_choice: { ...choice, allowed_tools: { mode: read, tools: choice } },
  functions: declaration,
  function_call: named,
  parallel_tool_calls: read,
  response_format: {
    ...reads('type', 'schema'),
    json_schema: { name: read, description: read, schema: read, strict: read },
  },
  ...reads('max_completion_tokens', 'max_tokens', 'temperature', 'top_p', 'top_k'),
  ...reads('presence_penalty', 'frequency_penalty', 'seed', 'stop', 'n', 'logprobs'),
  ...reads('top_logprobs', 'reasoning_effort', 'modalities'),
  audio: { voice: read },
  ...reads('user', 'safety_identifier', 'service_tier', 'verbosity', 'safety_settings'),
  extra_body: {
    google: { safety_settings: read, cached_content: read, thinking_config: read },
    safety_settings: read,
  },
};

/**
 * If a caller sends both names of a field with different values, the newer one is read and the
 * older one is listed.
 */
function ignoredAliases(body: JsonObject): readonly string[] {
  return aliases.flatMap(({ newer, older }) => {
    const ignored = member(body, older) ?? null;
    const value = ignored === null ? null : (member(body, newer) ?? null);
    return value === null || value === ignored ? [] : [older];
  });
}

const aliases = [
  { newer: 'max_completion_tokens', older: 'max_tokens' },
  { newer: 'user', older: 'safety_identifier' },
  { newer: 'tool_choice', older: 'function_call' },
] as const;

/**
 * Returns whether plain reasoning is ignored because the details contain a different text. Usually
 * both contain the same.
 */
function repeatsOtherReasoning(message: JsonValue): boolean {
  const details = items(member(message, 'reasoning_details')).map(
    (detail) => member(detail, 'text') ?? member(detail, 'summary'),
  );
  const detailsText = details.filter((text) => typeof text === 'string').join('');
  if (detailsText === '') return false;
  const plainTexts = [member(message, 'reasoning_content'), member(message, 'reasoning')];
  return plainTexts.some((text) => typeof text === 'string' && text !== '' && text !== detailsText);
}
