/** Finds the members of a whole Anthropic reply that the common form loses. */
import { type JsonObject, type JsonValue, member } from '../../../json.ts';
import { read, reads, type Shape, unreadOfReply } from '../../unread.ts';

/** The paths of the lost members, beginning with `reply.`. */
export function unreadMembers(reply: JsonValue): readonly string[] {
  return unreadOfReply(reply, message);
}

const blocks: ReadonlyMap<JsonValue | undefined, Shape> = new Map<JsonValue | undefined, Shape>([
  ['text', { type: read, text: read, citations: citationShape }],
  ['thinking', { type: read, thinking: read, signature: read }],
  ['redacted_thinking', { type: read, data: read }],
  ['tool_use', { type: read, id: read, name: read, input: read }],
]);

/** Blocks of other types and citations of the caller's documents are passed on unchanged. */
function blockShape(block: JsonObject): Shape | typeof read {
  return blocks.get(member(block, 'type')) ?? read;
}

function citationShape(citation: JsonObject): Shape | typeof read {
  const url = member(citation, 'url');
  if (typeof url !== 'string' || url === '') return read;
  return { type: read, url: read, title: read };
}

/** Details for billing the host's account. Callers get the totals. */
const usage: Shape = {
  ...reads('input_tokens', 'output_tokens', 'output_tokens_details', 'cache_creation_input_tokens'),
  ...reads('cache_read_input_tokens', 'cache_creation', 'iterations', 'server_tool_use'),
  ...reads('service_tier', 'inference_geo'),
};

const message: Shape = {
  ...reads('id', 'type', 'role', 'model'),
  content: blockShape,
  stop_reason: read,
  stop_details: { type: read, explanation: read },
  usage,
};
