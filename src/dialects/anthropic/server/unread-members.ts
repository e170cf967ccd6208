/**
 * Lists the members of a Messages request that the common form cannot express, so that nothing a
 * caller sends is dropped silently.
 */
import { type JsonObject, type JsonValue, member } from '../../../json.ts';
import { collectUnread, read, reads, type Shape } from '../../unread.ts';

/** All `cache_control` marks are one entry: agents set several, and only Anthropic has them. */
export function unreadMembers(body: JsonObject): readonly string[] {
  const unread = new Set<string>();
  collectUnread(body, { shape: request, at: '', unread });
  return [...new Set([...unread].map((name) => (isCacheMark(name) ? cacheMark : name)))];
}

const cacheMark = 'cache_control';

function isCacheMark(name: string): boolean {
  return name.endsWith(`.${cacheMark}`) || name.startsWith(`${cacheMark}.`);
}

const text: Shape = { type: read, text: read };
const base64: Shape = { type: read, media_type: read, data: read };
const sources: ReadonlyMap<JsonValue | undefined, Shape> = new Map<JsonValue | undefined, Shape>([
  ['base64', base64],
  ['text', base64],
  ['url', { type: read, url: read }],
  ['content', { type: read, content: blockShape }],
]);

/** A source of an unknown type is refused. */
function sourceShape(source: JsonObject): Shape {
  return sources.get(member(source, 'type')) ?? {};
}

/** The reader lists the setting with its path, if citations are enabled. */
const citations: Shape = { enabled: read };

const blocks: ReadonlyMap<JsonValue | undefined, Shape> = new Map<JsonValue | undefined, Shape>([
  ['text', text],
  ['image', { type: read, source: sourceShape }],
  ['document', { type: read, source: sourceShape, title: read, context: read, citations }],
  ['search_result', { type: read, title: read, source: read, content: text, citations: read }],
  ['thinking', { type: read, thinking: read, signature: read }],
  ['redacted_thinking', { type: read, data: read }],
  ['tool_use', { type: read, id: read, name: read, input: read, caller: callerShape }],
  ['tool_result', { type: read, tool_use_id: read, content: blockShape, is_error: read }],
  ['compaction', { type: read, content: read }],
]);

/** Blocks of other types are refused or dropped as a whole. */
function blockShape(block: JsonObject): Shape | typeof read {
  return blocks.get(member(block, 'type')) ?? read;
}

/** Calls by code that Anthropic ran are shown to the model as its own. */
function callerShape(caller: JsonObject): Shape | typeof read {
  return member(caller, 'type') === 'direct' ? read : {};
}

const customTool: Shape = {
  ...reads('type', 'name', 'description', 'input_schema', 'strict', 'eager_input_streaming'),
  // The reader lists it if it is true.
  defer_loading: read,
  allowed_callers: read,
};

/** Tools of other types are refused or dropped as a whole. */
function toolShape(tool: JsonObject): Shape | typeof read {
  const type = member(tool, 'type') ?? 'custom';
  return type === 'custom' ? customTool : read;
}

const choice: Shape = { type: read, name: read, disable_parallel_tool_use: read };

const request: Shape = {
  model: read,
  messages: { role: read, content: blockShape },
  system: text,
  ...reads('max_tokens', 'stream', 'temperature', 'top_p', 'top_k', 'stop_sequences'),
  tools: toolShape,
  tool_choice: choice,
  thinking: { type: read, budget_tokens: read, display: read },
  output_config: { effort: read, format: { type: read, schema: read } },
  output_format: { type: read, schema: read },
  metadata: { user_id: read },
  context_management: {},
  service_tier: read,
  // Only the value `global` gets here; all others are refused.
  inference_geo: read,
};
