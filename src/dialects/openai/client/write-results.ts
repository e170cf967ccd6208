/** Writes the results of the caller's functions as tool messages. */

import { hashOf, portableCallId } from '../../../canonical/call-ids.ts';
import { mediaKindOf } from '../../../canonical/media.ts';
import { type JsonNode, jsonText, rawJson } from '../../../canonical/raw-json.ts';
import type { MediaPart, ToolResultPart } from '../../../canonical/request.ts';
import { resultText } from '../../../canonical/tool-results.ts';
import { parseJson } from '../../../json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import type { Members } from './piece.ts';
import { mediaNode } from './write-media.ts';

/**
 * Writes one message for each result. OpenAI accepts no images there, so they follow in a user
 * message.
 */
export function toolMessages(
  results: readonly ToolResultPart[],
  flags: ResolvedCapabilities,
): readonly Members[] {
  const messages = results.map((result) => toolMessage(result, flags));
  if (flags.resultMedia) return messages;
  const media = results.flatMap(({ content }) => content.filter((part) => part.kind === 'media'));
  if (media.length === 0) return messages;
  return [...messages, { role: 'user', content: media.map((part) => mediaNode(part, flags)) }];
}

function toolMessage(result: ToolResultPart, flags: ResolvedCapabilities): Members {
  const { callId, isError } = result;
  const content = isError ? asErrorContent(result.content) : result.content;
  const holdsMedia = flags.resultMedia && content.some(({ kind }) => kind === 'media');
  return {
    role: 'tool',
    tool_call_id: upstreamCallId(callId),
    content: holdsMedia ? partNodes(content, flags) : textOf(content),
  };
}

/** OpenAI has no member for a failed tool, so the result states the error. */
function asErrorContent(content: ToolResultPart['content']): ToolResultPart['content'] {
  const text = resultText(content);
  const value = parseJson(text);
  const isData = typeof value === 'object' && value !== null;
  const errorText = jsonText({ error: isData ? rawJson(text) : text });
  const at = content[0]?.at ?? '';
  return [{ kind: 'text', at, text: errorText }, ...content.filter(({ kind }) => kind === 'media')];
}

function partNodes(content: ToolResultPart['content'], flags: ResolvedCapabilities): JsonNode {
  return content.map((part) =>
    part.kind === 'text' ? { type: 'text', text: part.text } : mediaNode(part, flags),
  );
}

function textOf(content: ToolResultPart['content']): string {
  return content.map((part) => (part.kind === 'text' ? part.text : attachmentNote(part))).join('');
}

function attachmentNote({ mimeType }: MediaPart): string {
  return mediaKindOf(mimeType) === 'document' ? '[see attached file]' : '[see attached image]';
}

const maxLength = 40;

/** Returns the same id for the same call, so that a call and its result match. */
export function upstreamCallId(id: string): string {
  const portable = portableCallId(id);
  if (portable.length <= maxLength) return portable;
  const hash = hashOf(id).slice(0, 12);
  return `${portable.slice(0, maxLength - hash.length - 1)}_${hash}`;
}
