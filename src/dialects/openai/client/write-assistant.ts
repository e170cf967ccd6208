/**
 * Writes an assistant turn of the history: text, tool calls, and reasoning if the upstream needs
 * it.
 */
import { customInput } from '../../../canonical/custom-tools.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import type { MediaPart, Part, ToolCallPart, Turn } from '../../../canonical/request.ts';
import { GatewayError } from '../../../errors.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import { upstreamCallId } from './call-id.ts';
import { type Messages, textNode } from './message.ts';
import type { Members } from './piece.ts';
import { reasoningDetails, signatureMember } from './write-details.ts';
import { mediaNode } from './write-media.ts';
import type { ToolContext } from './write-tools.ts';

/** Writes the turn as one message, or as none if nothing of it can be sent. */
export function assistantMessages({ parts }: Turn, context: ToolContext): Messages {
  const { flags } = context;
  const calls = parts.filter((part) => part.kind === 'tool_call');
  const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
  const reasoning = parts
    .flatMap((part) => (part.kind === 'reasoning' ? [part.text] : []))
    .join('');
  const details = reasoningDetails(parts, flags);
  const images = imageNodes(parts, flags);
  const signed = parts.findLast(({ kind, providerData }) => kind === 'text' && providerData);
  const sendsReasoning = flags.reasoningHistory && reasoning !== '';
  const members: Members = {
    role: 'assistant',
    content: texts.length === 0 && calls.length > 0 ? null : contentOf(texts, flags),
    reasoning_content: sendsReasoning ? reasoning : undefined,
    reasoning_details: details.length === 0 ? undefined : details,
    images: images.length === 0 ? undefined : images,
    extra_content: signatureMember(signed?.providerData, flags),
    tool_calls: calls.length === 0 ? undefined : calls.map((call) => callNode(call, context)),
  };
  const isEmpty = [texts, calls, details, images].every(({ length }) => length === 0);
  return {
    // Mistral rejects an assistant message without content.
    messages: isEmpty && !sendsReasoning ? [] : [members],
    dropped: [
      ...(sendsReasoning || details.length > 0 ? [] : reasoningPaths(parts)),
      ...(flags.mediaOutput ? [] : mediaPaths(parts)),
    ],
  };
}

function contentOf(texts: readonly string[], { assistantParts }: ResolvedCapabilities): JsonNode {
  return assistantParts && texts.length > 1 ? texts.map(textNode) : texts.join('');
}

function callNode(
  { id, name, arguments: text, providerData }: ToolCallPart,
  { names, flags, customNames }: ToolContext,
): JsonNode {
  const upstreamName = names.upstream(name);
  const called = customNames.has(name)
    ? { type: 'custom', custom: { name: upstreamName, input: customInput(text) } }
    : { type: 'function', function: { name: upstreamName, arguments: text } };
  return {
    id: upstreamCallId(id),
    ...called,
    extra_content: signatureMember(providerData, flags),
  };
}

/**
 * Writes generated images in OpenRouter's form; other servers do not accept images of the model.
 */
function imageNodes(parts: readonly Part[], flags: ResolvedCapabilities): readonly JsonNode[] {
  return parts.flatMap((part) => {
    if (part.kind === 'tool_result') throw refusal(part.at, 'function results');
    if (part.kind !== 'media') return [];
    if (!flags.mediaOutput && part.isGenerated === true) return [];
    if (!flags.mediaOutput || !isImage(part)) throw refusal(part.at, 'media');
    return [mediaNode(part, flags)];
  });
}

function mediaPaths(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(({ kind, at }) => (kind === 'media' ? [at] : []));
}

function isImage({ mimeType }: MediaPart): boolean {
  return mimeType?.startsWith('image/') ?? false;
}

function refusal(at: string, what: string): GatewayError {
  const message = `This model takes no ${what} in an assistant message. Use a user message.`;
  return new GatewayError('not_portable', message, { param: at });
}

function reasoningPaths(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) =>
    part.kind === 'reasoning' && part.text !== '' && !part.displayOnly ? [part.at] : [],
  );
}
