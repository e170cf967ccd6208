/** Measures what a model generated in an output item of a Responses reply. */
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../json.ts';
import { isFilled } from '../is-filled.ts';
import {
  addMessage,
  addValue,
  type ContentSink,
  imageTokens,
  labelBytes,
} from '../reply-content.ts';

/** Items with the results of tools, which a model reads. */
const resultTypes: ReadonlySet<string> = new Set(['mcp_list_tools', 'tool_search_output']);
/** Members with the results of tools, and with the place where they ran. */
const resultNames: ReadonlySet<string> = new Set([
  ...['results', 'outputs', 'output', 'tools', 'error', 'environment', 'sources'],
  ...['pending_safety_checks', 'fingerprint', 'caller'],
]);
/** Settings and names. Only bytes beyond the length of a label count. */
const labelNames: ReadonlySet<string> = new Set([
  ...['name', 'namespace', 'server_label', 'container_id', 'execution', 'approval_request_id'],
  ...['background', 'quality', 'size', 'output_format', 'moderation'],
]);

/**
 * Adds the content of an item. Its reasoning is named by the member that holds it, because the same
 * reasoning may come as a summary, as text and encrypted.
 */
export function addItemContent(item: JsonValue, sink: ContentSink): void {
  const type = member(item, 'type');
  if (!isJsonObject(item) || isResult(type)) return;
  const isReasoning = type === 'reasoning';
  const isImage = type === 'image_generation_call';
  if (isImage && isFilled(member(item, 'result') ?? null)) sink.addTokens(imageTokens);
  for (const [name, value] of Object.entries(item)) {
    if (resultNames.has(name) || (isImage && name === 'result')) continue;
    if (isReasoning && (name === 'summary' || name === 'content')) addValue(value, name, sink);
    else if (labelNames.has(name) && typeof value === 'string') {
      sink.addBytes(labelBytes(value), '');
    } else if (name === 'action') addMessage({ action: withoutSources(value) }, sink);
    else addMessage({ [name]: value }, sink);
  }
}

function isResult(type: JsonValue | undefined): boolean {
  return typeof type === 'string' && (type.endsWith('_output') || resultTypes.has(type));
}

/** A search lists its sources, and repeats its first query. */
function withoutSources(action: JsonValue): JsonValue {
  if (!isJsonObject(action)) return action;
  const { sources: _results, query, queries, ...rest } = action;
  const written = queries ?? query;
  return written === undefined ? rest : ({ ...rest, queries: written } satisfies JsonObject);
}
