/** Writes the conversation: the system instruction, the turns, and calls with their results. */

import { scanJson } from '../../../bytes/json/scan/scan.ts';
import { argumentsObject } from '../../../canonical/arguments.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { type JsonNode, jsonText, rawJson } from '../../../canonical/raw-json.ts';
import type {
  MediaPart,
  Part,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../../../canonical/request.ts';
import { pairedTurns, resultText } from '../../../canonical/tool-results.ts';
import { isGatewayError } from '../../../errors.ts';
import { changesAsDoubles } from '../../../exact-numbers.ts';
import { nothingToSend, notPortable } from '../../not-portable.ts';
import { placeholderSignature } from '../placeholder-signature.ts';
import type { Members, WriteContext } from './write-context.ts';
import { writeMedia } from './write-media.ts';

export interface WrittenConversation {
  readonly systemInstruction: Members | undefined;
  readonly contents: readonly Content[];
}

type Content = { readonly role: 'user' | 'model'; readonly parts: readonly Members[] };

/** @param instructions instructions of the gateway, appended after the caller's */
export function writeConversation(
  context: WriteContext,
  instructions: readonly string[],
): WrittenConversation {
  checkPrefill(context);
  const { turns, dropped } = pairedTurns(context.request.turns);
  for (const name of dropped) context.drop(name);
  const lifted = turns.filter((turn) => isLifted(context, turn));
  const system = [
    ...context.request.system.map(({ text }) => text),
    ...lifted.flatMap(({ parts }) => parts.filter(isText).map(({ text }) => text)),
    ...instructions,
  ].filter((text) => text !== '');
  const contents = turns
    .filter((turn) => !isLifted(context, turn))
    .map((turn): Content => contentOf(context, turn))
    .filter(({ parts }) => parts.length > 0);
  const written = adaptedToModel(
    context,
    system.map((text): Members => ({ text })),
    contents,
  );
  if (written.contents.length === 0) throw nothingToSend(context.request);
  return written;
}

/** Gemini requires at least one user turn, and Gemma doesn't support a system instruction. */
function adaptedToModel(
  { capabilities }: WriteContext,
  system: readonly Members[],
  contents: readonly Content[],
): WrittenConversation {
  const kept = capabilities.systemInstruction ? system : [];
  const moved = capabilities.systemInstruction ? [] : system;
  if (contents.length === 0 && kept.length > 0) {
    const userTurn: Content = { role: 'user', parts: kept.slice(-1) };
    return { systemInstruction: instructionOf(kept.slice(0, -1)), contents: [userTurn] };
  }
  return { systemInstruction: instructionOf(kept), contents: prepended(moved, contents) };
}

function instructionOf(parts: readonly Members[]): Members | undefined {
  return parts.length === 0 ? undefined : { parts };
}

function prepended(parts: readonly Members[], contents: readonly Content[]): readonly Content[] {
  if (parts.length === 0) return contents;
  const [head, ...rest] = contents;
  // Extending the first turn is safe: a turn of function results may have no other parts, but it
  // never comes first.
  if (head?.role !== 'user') return [{ role: 'user', parts }, ...contents];
  return [{ role: 'user', parts: [...parts, ...head.parts] }, ...rest];
}

function checkPrefill({ capabilities, request }: WriteContext): void {
  const last = request.turns.at(-1);
  if (capabilities.prefill || last?.role !== 'assistant') return;
  throw notPortable(
    last.parts[0]?.at ?? 'messages',
    "This model can't continue an assistant message (prefill). End with a user message.",
  );
}

function isLifted({ capabilities }: WriteContext, { role, parts }: Turn): boolean {
  return role === 'system' && capabilities.midSystem === 'lift' && parts.every(isText);
}

function isText(part: Part): part is TextPart {
  return part.kind === 'text';
}

function contentOf(context: WriteContext, turn: Turn): Content {
  const role = turn.role === 'assistant' ? 'model' : 'user';
  const firstCall = turn.parts.find(({ kind }) => kind === 'tool_call');
  const results = turn.parts.filter((part): part is ToolResultPart => part.kind === 'tool_result');
  const parts = [
    ...writeResults(context, results),
    ...turn.parts
      .filter((part) => !isBlank(part))
      .flatMap((part) => writePart(context, part, { isFirstCall: part === firstCall })),
  ];
  // A message with only empty text is kept as one empty part; next to other parts, empty text is
  // left out.
  return { role, parts: parts.length === 0 && turn.parts.some(isBlank) ? [{ text: '' }] : parts };
}

function isBlank(part: Part): boolean {
  return part.kind === 'text' && part.text === '' && signatureOf(part.providerData) === undefined;
}

function writePart(
  context: WriteContext,
  part: Part,
  { isFirstCall }: { readonly isFirstCall: boolean },
): readonly Members[] {
  const thoughtSignature = signatureOf(part.providerData);
  switch (part.kind) {
    case 'text':
      return [{ text: part.text, thoughtSignature }];
    case 'reasoning':
      if (thoughtSignature !== undefined) {
        return [{ text: part.text, thought: true, thoughtSignature }];
      }
      // Gemini would treat another model's reasoning as its own.
      if (!part.displayOnly) context.drop(part.at);
      return [];
    case 'media':
      return [{ ...writeMedia(context, part), thoughtSignature }];
    case 'tool_call':
      return [isFirstCall ? writeFirstCall(context, part) : writeCall(context, part)];
    case 'tool_result':
      return [];
    case 'provider_specific':
      if (part.provider === 'gemini') return [part.value];
      context.drop(part.at);
      return [];
  }
}

/** Gemini's signature on a part. Another provider's signature can't replace it. */
export function signatureOf(providerData: ProviderData | undefined): string | undefined {
  return providerData?.provider === 'gemini' && providerData.kind === 'signature'
    ? providerData.data
    : undefined;
}

/** Writes the first call of a model's turn, on which Gemini 3 requires a signature. */
function writeFirstCall(context: WriteContext, part: ToolCallPart): Members {
  const placeholder = context.capabilities.signatures ? placeholderSignature : undefined;
  return {
    ...writeCall(context, part),
    thoughtSignature: signatureOf(part.providerData) ?? placeholder,
  };
}

function writeCall(context: WriteContext, part: ToolCallPart): Members {
  const args = argumentsObject(part.arguments);
  if (args.isWrapped) context.drop(part.at);
  return {
    functionCall: {
      id: context.capabilities.callIds ? part.id : undefined,
      name: context.names.upstream(part.name),
      args: rawJson(args.json),
    },
    thoughtSignature: signatureOf(part.providerData),
  };
}

/** Writes all tool results of a turn. Older models accept their images only after the results. */
function writeResults(
  context: WriteContext,
  results: readonly ToolResultPart[],
): readonly Members[] {
  const { resultMedia } = context.capabilities;
  const mediaAfter = resultMedia ? [] : results.flatMap((result) => mediaOf(context, result));
  return [...results.map((result) => writeResult(context, result)), ...mediaAfter];
}

function writeResult(context: WriteContext, result: ToolResultPart): Members {
  const { callIds, resultMedia } = context.capabilities;
  const media = resultMedia ? mediaOf(context, result) : [];
  return {
    functionResponse: {
      id: callIds ? result.callId : undefined,
      name: context.names.upstream(result.name ?? 'unknown'),
      response: responseOf(result),
      parts: media.length === 0 ? undefined : media,
    },
  };
}

function mediaOf(context: WriteContext, { content }: ToolResultPart): readonly Members[] {
  return content
    .filter((part): part is MediaPart => part.kind === 'media')
    .map((part) => writeMedia(context, part));
}

/** Gemini accepts only objects. `output` and `error` are the names that its SDK documents. */
function responseOf(result: ToolResultPart): JsonNode {
  const text = resultText(result.content);
  const hasMedia = result.content.some(({ kind }) => kind === 'media');
  if (text === '' && hasMedia && !result.isError) return { output: '[see attached media]' };
  const value = structValue(text);
  if (result.isError) return { error: value };
  return typeof value !== 'string' && text.trimStart().startsWith('{') ? value : { output: value };
}

/**
 * JSON text as a value, or as a string where a `google.protobuf.Struct`, which is what
 * `functionResponse.response` is, would change or refuse the value: numbers are
 * doubles, an object has each name once, and a string is well-formed Unicode. A tool's bare `1.10`
 * stays text too, because it may be a version, and prints as `1.1`. The text of a JSON string stays
 * text, quotes included.
 */
function structValue(text: string): JsonNode {
  if (isPlainScalar(text)) return rawJson(text);
  const isKept = /^\s*[[{]/.test(text) && isPlainJson(text) && !changesAsDoubles(text);
  return isKept && !hasLoneSurrogate(text) ? rawJson(text.trim()) : text;
}

/** Whether the text is a number as a double prints, `true`, `false` or `null`. */
function isPlainScalar(text: string): boolean {
  if (text === 'true' || text === 'false' || text === 'null') return true;
  const number = Number(text);
  return Number.isFinite(number) && String(number) === text;
}

/** Whether the text is JSON that every parser accepts and reads alike. */
function isPlainJson(text: string): boolean {
  try {
    scanJson(Buffer.from(jsonText({ output: rawJson(text) })));
    return true;
  } catch (error) {
    if (isGatewayError(error)) return false;
    throw error;
  }
}

function hasLoneSurrogate(json: string): boolean {
  const decoded = json.replace(/\\(?:u([\dA-Fa-f]{4})|.)/gs, (_, hex: string | undefined) =>
    hex === undefined ? '' : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return !decoded.isWellFormed();
}
