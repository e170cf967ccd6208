/**
 * Writes tool calls and their results, with the ids, names and signatures by which Gemini matches
 * them.
 */

import { scanJson } from '../../../bytes/json/scan/scan.ts';
import { argumentsObject } from '../../../canonical/arguments.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { type JsonNode, jsonText, rawJson } from '../../../canonical/raw-json.ts';
import type { MediaPart, ToolCallPart, ToolResultPart } from '../../../canonical/request.ts';
import { resultText } from '../../../canonical/tool-results.ts';
import { isGatewayError } from '../../../errors.ts';
import { changesAsDoubles } from '../../../exact-numbers.ts';
import { placeholderSignature } from '../placeholder-signature.ts';
import type { Members, WriteContext } from './write-context.ts';
import { writeMedia } from './write-media.ts';

/** Gemini's signature on a part. Another provider's signature can't replace it. */
export function signatureOf(providerData: ProviderData | undefined): string | undefined {
  return providerData?.provider === 'gemini' && providerData.kind === 'signature'
    ? providerData.data
    : undefined;
}

/** Writes the first call of a model's turn, on which Gemini 3 requires a signature. */
export function writeFirstCall(context: WriteContext, part: ToolCallPart): Members {
  const placeholder = context.capabilities.signatures ? placeholderSignature : undefined;
  return {
    ...writeCall(context, part),
    thoughtSignature: signatureOf(part.providerData) ?? placeholder,
  };
}

export function writeCall(context: WriteContext, part: ToolCallPart): Members {
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
export function writeResults(
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
