/** Writes the conversation as OpenAI's messages, in the caller's order. */

import { hashOf, portableCallId } from '../../../canonical/call-ids.ts';
import { customInput } from '../../../canonical/custom-tools.ts';
import { mediaKindOf } from '../../../canonical/media.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { type JsonNode, jsonText, rawJson } from '../../../canonical/raw-json.ts';
import {
  type ContentRequest,
  cacheMarksIn,
  everyPart,
  type MediaPart,
  type Part,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
  type Turn,
  unsentProviderData,
} from '../../../canonical/request.ts';
import { resultText, runsOf } from '../../../canonical/tool-results.ts';
import type { GatewayError } from '../../../errors.ts';
import { parseExactly } from '../../../exact-numbers.ts';
import { isJsonObject, type JsonObject, type JsonValue, member, parseJson } from '../../../json.ts';
import type { ResolvedCapabilities } from '../../capabilities.ts';
import { nothingToSend, notPortable } from '../../not-portable.ts';
import type { Members } from './piece.ts';
import { droppedMediaMembers, mediaNode } from './write-media.ts';
import type { ToolContext } from './write-tools.ts';

/** Writes every message; the hints are appended to the system message. */
export function messagesOf(
  request: ContentRequest,
  hints: readonly string[],
  context: ToolContext,
): Messages {
  refusePrefill(request, context);
  const { flags } = context;
  const movesToSystem = ({ role }: Turn) => role === 'system' && flags.midSystem === 'lift';
  const movedTexts = request.turns
    .filter(movesToSystem)
    .flatMap(({ parts }) => parts.filter(isText));
  const system = [...request.system, ...movedTexts].map(({ text }) => text).concat(hints);
  const turns = request.turns.filter((turn) => !movesToSystem(turn));
  // Some SDKs split one turn into several. A user message or an instruction stays alone.
  const written = runsOf(turns).map((run) => runMessages(run, context));
  const turnMessages = written.flatMap((piece) => piece.messages);
  const messages = flags.systemInstruction
    ? withSystemMessage(system, turnMessages)
    : withSystemInUserMessage(system, turnMessages);
  if (messages.length === 0) throw nothingToSend(request);
  return {
    messages,
    dropped: [
      ...written.flatMap(({ dropped }) => dropped),
      ...cacheMarksIn(request),
      ...unsentProviderData(request, (data, part) => sendsProviderData(data, part, flags)),
      ...everyPart(request).flatMap(droppedOf),
    ],
  };
}

function refusePrefill({ turns }: ContentRequest, { flags }: ToolContext): void {
  const last = turns.at(-1);
  if (flags.prefill || last?.role !== 'assistant') return;
  const param = last.parts[0]?.at;
  throw notPortable(
    param,
    'This model does not continue an assistant message. End with a user message.',
  );
}

function isText(part: Part): part is TextPart {
  return part.kind === 'text';
}

function runMessages(run: readonly Turn[], context: ToolContext): Messages {
  const [first] = run;
  if (first?.role === 'assistant') {
    return assistantMessages({ ...first, parts: run.flatMap(({ parts }) => parts) }, context);
  }
  if (first?.role === 'system') {
    return { messages: textMessage('system', first.parts.filter(isText)), dropped: [] };
  }
  const results = run.flatMap(({ parts }) => parts.filter((part) => part.kind === 'tool_result'));
  return {
    messages: [
      ...toolMessages(results, context.flags),
      ...run.flatMap((turn) => userMessage(turn, context)),
    ],
    dropped: run.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.kind === 'reasoning' && part.text !== '' ? [part.at] : [])),
    ),
  };
}

function textMessage(role: string, parts: readonly { readonly text: string }[]): Members[] {
  const texts = parts.map(({ text }) => text);
  if (texts.length === 0) return [];
  return [{ role, content: contentOf(texts.map(textNode), texts) }];
}

function userMessage({ parts }: Turn, { flags }: ToolContext): Members[] {
  const nodes: JsonNode[] = [];
  const texts: string[] = [];
  for (const part of parts) {
    if (part.kind === 'tool_call') throw misplacedCall(part.at);
    if (part.kind === 'media') nodes.push(mediaNode(part, flags));
    if (part.kind !== 'text') continue;
    texts.push(part.text);
    nodes.push(textNode(part.text));
  }
  if (nodes.length > 0) return [{ role: 'user', content: contentOf(nodes, texts) }];
  return parts.length === 0 ? [{ role: 'user', content: '' }] : [];
}

function misplacedCall(at: string): GatewayError {
  return notPortable(
    at,
    'A user message contains a function call, but only the model makes calls.',
  );
}

function withSystemMessage(
  system: readonly string[],
  messages: readonly Members[],
): readonly Members[] {
  const parts = system.map((text) => ({ text }));
  return [...textMessage('system', parts), ...messages];
}

/** For models without a system message. */
function withSystemInUserMessage(
  system: readonly string[],
  messages: readonly Members[],
): readonly Members[] {
  if (system.length === 0) return messages;
  const [first, ...others] = messages;
  const head = system.map(textNode);
  if (first?.role !== 'user') {
    return [{ role: 'user', content: contentOf(head, system) }, ...messages];
  }
  const { content } = first;
  const rest = typeof content === 'string' ? [textNode(content)] : listOf(content);
  return [{ role: 'user', content: [...head, ...rest] }, ...others];
}

function listOf(content: JsonNode): readonly JsonNode[] {
  return Array.isArray(content) ? content : [];
}

function droppedOf(part: Part): readonly string[] {
  if (part.kind === 'provider_specific') return [part.at];
  return part.kind === 'media' ? droppedMediaMembers(part) : [];
}

/** Writes the turn as one message, or as none if nothing of it can be sent. */
function assistantMessages({ parts }: Turn, context: ToolContext): Messages {
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
    content: texts.length === 0 && calls.length > 0 ? null : answerOf(texts, flags),
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

function answerOf(texts: readonly string[], { assistantParts }: ResolvedCapabilities): JsonNode {
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

/** Uses OpenRouter's form; other servers do not accept images of the model. */
function imageNodes(parts: readonly Part[], flags: ResolvedCapabilities): readonly JsonNode[] {
  return parts.flatMap((part) => {
    if (part.kind === 'tool_result') throw refusal(part.at, 'function results');
    if (part.kind !== 'media') return [];
    if (!flags.mediaOutput && part.isGenerated === true) return [];
    if (!flags.mediaOutput || !part.mimeType?.startsWith('image/')) throw refusal(part.at, 'media');
    return [mediaNode(part, flags)];
  });
}

function mediaPaths(parts: readonly Part[]): readonly string[] {
  return parts.flatMap(({ kind, at }) => (kind === 'media' ? [at] : []));
}

function refusal(at: string, what: string): GatewayError {
  return notPortable(
    at,
    `This model takes no ${what} in an assistant message. Use a user message.`,
  );
}

function reasoningPaths(parts: readonly Part[]): readonly string[] {
  return parts.flatMap((part) =>
    part.kind === 'reasoning' && part.text !== '' && !part.displayOnly ? [part.at] : [],
  );
}

interface Messages {
  readonly messages: readonly Members[];
  readonly dropped: readonly string[];
}

function contentOf(nodes: readonly JsonNode[], texts: readonly string[]): JsonNode {
  const [only] = texts;
  return nodes.length === 1 && only !== undefined ? only : nodes;
}

function textNode(text: string): JsonNode {
  return { type: 'text', text };
}

/** The text of each detail is the reasoning before it. */
function reasoningDetails(
  parts: readonly Part[],
  flags: ResolvedCapabilities,
): readonly JsonNode[] {
  const details: JsonNode[] = [];
  let reasoning = '';
  for (const part of parts) {
    if (part.kind === 'reasoning' && !part.displayOnly) reasoning += part.text;
    const detail = part.providerData && detailOf(part.providerData, reasoning, flags);
    if (detail === undefined) continue;
    details.push(detail);
    reasoning = '';
  }
  return details;
}

/** Uses the form that Google's compatible endpoint expects. */
function signatureMember(
  providerData: ProviderData | undefined,
  flags: ResolvedCapabilities,
): JsonNode | undefined {
  if (!flags.signatures || providerData?.provider !== 'gemini') return undefined;
  return { google: { thought_signature: providerData.data } };
}

function sendsProviderData(
  { provider }: ProviderData,
  { kind }: Part,
  { signatures }: ResolvedCapabilities,
): boolean {
  return signatures && (kind === 'reasoning' ? provider !== 'gemini' : provider === 'gemini');
}

function detailOf(
  { provider, kind, data }: ProviderData,
  reasoning: string,
  flags: ResolvedCapabilities,
): JsonNode | undefined {
  // There are many compatible servers: only one that asks for such data may have produced it.
  if (!flags.signatures) return undefined;
  if (provider === 'openai') return openaiDetail(data, reasoning);
  if (provider !== 'anthropic') return undefined;
  const format = 'anthropic-claude-v1';
  return kind === 'encrypted'
    ? { type: 'reasoning.encrypted', data, format }
    : { type: 'reasoning.text', text: reasoning, signature: data, format };
}

/**
 * Details are flat. A deeply nested one could only be meant to exhaust the stack when it is
 * written.
 */
const maxDetailDepth = 16;

function isDeeper(value: JsonValue, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** The caller may have made it up, so anything invalid is ignored. */
function openaiDetail(data: string, reasoning: string): JsonObject | undefined {
  const detail = parseExactly(data);
  if (!isJsonObject(detail) || isDeeper(detail, maxDetailDepth)) return undefined;
  // A stream delivers the text in pieces and the signature after them.
  return member(detail, 'type') === 'reasoning.text' ? { ...detail, text: reasoning } : detail;
}

/**
 * Writes one message for each result. OpenAI accepts no images there, so they follow in a user
 * message.
 */
function toolMessages(
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
function upstreamCallId(id: string): string {
  const portable = portableCallId(id);
  if (portable.length <= maxLength) return portable;
  const hash = hashOf(id).slice(0, 12);
  return `${portable.slice(0, maxLength - hash.length - 1)}_${hash}`;
}
