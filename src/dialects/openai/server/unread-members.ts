/**
 * Lists what a chat request holds that the common form has no place for, so that nothing a caller
 * sends is left out in silence (ARCHITECTURE O).
 */
import { isJsonObject, items, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { isList } from './read-members.ts';

/** The members nobody reads, by the caller's names, each once. */
export function unreadMembers(body: JsonObject): readonly string[] {
  const messages = items(member(body, 'messages'));
  const parts = messages.flatMap((message) => items(member(message, 'content')));
  const tools = items(member(body, 'tools')).filter((tool) => member(tool, 'type') === 'function');
  const functions = [
    ...tools.map((tool) => member(tool, 'function')),
    ...items(member(body, 'functions')),
  ];
  const extra = member(body, 'extra_body');
  const lists = [
    ...unread([body], read.body, ''),
    ...secondNames(body),
    ...unread([member(body, 'stream_options')], read.streamOptions, 'stream_options.'),
    ...unread([member(body, 'audio')], read.audio, 'audio.'),
    ...unread([extra], read.extraBody, 'extra_body.'),
    ...unread([member(extra, 'google')], read.google, 'extra_body.google.'),
    ...messages.flatMap((message) => unread([message], readOf(message), 'messages.')),
    ...unread(parts, read.part, 'messages.content.'),
    ...unread(tools, read.tool, 'tools.'),
    ...unread(functions, read.function, 'tools.function.'),
  ];
  return [...new Set(lists)];
}

const read = {
  body: new Set(
    `model messages stream stream_options tools tool_choice functions function_call
    parallel_tool_calls response_format max_completion_tokens max_tokens temperature top_p top_k
    presence_penalty frequency_penalty seed stop n logprobs top_logprobs reasoning_effort modalities
    audio user safety_identifier service_tier safety_settings extra_body`.split(/\s+/),
  ),
  streamOptions: new Set(['include_usage']),
  audio: new Set(['voice']),
  extraBody: new Set(['google', 'safety_settings']),
  google: new Set(['safety_settings', 'cached_content', 'thinking_config']),
  // What stands on an earlier answer only to describe it is no part of the conversation.
  message: new Set(
    `role content refusal reasoning_content reasoning reasoning_details tool_calls function_call
    tool_call_id images annotations extra_content thought_signature cache_control`.split(/\s+/),
  ),
  part: new Set('type text refusal image_url video_url input_audio file cache_control'.split(' ')),
  tool: new Set(['type', 'function', 'cache_control']),
  function: new Set(['name', 'description', 'parameters', 'strict', 'cache_control']),
} as const;

/** A tool's message says there which function it answers for. */
function readOf(message: JsonValue): ReadonlySet<string> {
  const role = member(message, 'role');
  return role === 'tool' || role === 'function' ? withName : read.message;
}

const withName: ReadonlySet<string> = new Set([...read.message, 'name']);

function unread(
  sources: readonly (JsonValue | undefined)[],
  known: ReadonlySet<string>,
  at: string,
): readonly string[] {
  return sources.filter(isJsonObject).flatMap((source) =>
    Object.entries(source)
      .filter(([name, value]) => !known.has(name) && !isNothing(value))
      .map(([name]) => `${at}${plain(name)}`),
  );
}

function isNothing(value: JsonValue): boolean {
  return value === null || (isList(value) && value.length === 0);
}

/** The list goes out in a header. */
function plain(name: string): string {
  return name.replace(/[^\w.-]/g, '_').slice(0, 64);
}

/** Where a caller uses both names of a field, the newer one is read. */
function secondNames(body: JsonObject): readonly string[] {
  return pairs
    .filter(([first, second]) => {
      const [one, other] = [member(body, first) ?? null, member(body, second) ?? null];
      return one !== null && other !== null && one !== other;
    })
    .map(([, second]) => second);
}

const pairs = [
  ['max_completion_tokens', 'max_tokens'],
  ['user', 'safety_identifier'],
  ['tool_choice', 'function_call'],
] as const;
