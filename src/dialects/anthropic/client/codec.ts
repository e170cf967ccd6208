/** The codec for Anthropic's Messages API as an upstream: requests, replies, and token counts. */
import { withoutCustomTools } from '../../../canonical/custom-tools.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentRequest } from '../../../canonical/request.ts';
import { type JsonObject, type JsonValue, member } from '../../../json.ts';
import type { ContentClientCodec, TokenCounter, UpstreamTarget } from '../../codec.ts';
import type { DialectCodecs } from '../../dialect.ts';
import { read, reads, type Shape, unreadOfReply } from '../../unread.ts';
import { countIn } from '../../usage/usage-counts.ts';
import { measureAnthropic } from '../prompt-size.ts';
import { readReply } from './read-reply.ts';
import { readStream } from './read-stream.ts';
import { type WrittenRequest, writeRequest } from './write-request.ts';

export const anthropicClient: ContentClientCodec = {
  begin: (request, target) => {
    const { members, dropped, names, replyTool } = written(request, target);
    const context = { names, replyTool, ids: target.ids };
    return {
      body: jsonText(members),
      dropped,
      unread: unreadMembers,
      readReply: (reply) => readReply(reply, context),
      readStream: () => readStream(context),
    };
  },
};

/** `POST /v1/messages/count_tokens` accepts only the members that affect the count. */
export const anthropicTokenCounter: TokenCounter = {
  body: (request, target) => {
    const { members, dropped } = written(request, target);
    const { model, messages, system, tools, tool_choice, thinking } = members;
    const counted = { model, messages, system, tools, tool_choice, thinking };
    return { text: jsonText(counted), dropped };
  },
  read: (reply) => countIn(reply, 'input_tokens'),
};

function written(request: ContentRequest, target: UpstreamTarget): WrittenRequest {
  return writeRequest(withoutCustomTools(request), target);
}

/** The paths of the lost members, beginning with `reply.`. */
function unreadMembers(reply: JsonValue): readonly string[] {
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

export const codecs: DialectCodecs = {
  content: anthropicClient,
  images: undefined,
  embeddings: undefined,
  measure: measureAnthropic,
  tokenCounter: anthropicTokenCounter,
};
