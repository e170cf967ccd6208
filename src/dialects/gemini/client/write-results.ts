/** Writes calls and their results, each with what Gemini ties them together by (§6.4, §6.5). */
import { argumentsObject } from '../../../canonical/arguments.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import { type JsonNode, rawJson } from '../../../canonical/raw-json.ts';
import type { MediaPart, ToolCallPart, ToolResultPart } from '../../../canonical/request.ts';
import { resultText } from '../../../canonical/tool-results.ts';
import { isJsonObject, parseJson } from '../../../json.ts';
import { placeholderSignature } from '../placeholder-signature.ts';
import { writeMedia } from './write-media.ts';
import type { Members, Writing } from './writing.ts';

/** Gemini's own signature on a part, which no other provider's can stand in for. */
export function signatureOf(providerData: ProviderData | undefined): string | undefined {
  return providerData?.provider === 'gemini' && providerData.kind === 'signature'
    ? providerData.data
    : undefined;
}

/** The first call of a model's turn, whose signature Gemini 3 demands. */
export function writeFirstCall(writing: Writing, part: ToolCallPart): Members {
  const standIn = writing.capabilities.signatures ? placeholderSignature : undefined;
  return {
    ...writeCall(writing, part),
    thoughtSignature: signatureOf(part.providerData) ?? standIn,
  };
}

/** A call of the model. */
export function writeCall(writing: Writing, part: ToolCallPart): Members {
  const args = argumentsObject(part.arguments);
  if (args.isWrapped) writing.drop(part.at);
  return {
    functionCall: {
      id: writing.capabilities.callIds ? part.id : undefined,
      name: writing.names.upstream(part.name),
      args: rawJson(args.json),
    },
    thoughtSignature: signatureOf(part.providerData),
  };
}

/** What a turn's tools gave back, in one row; older models take images only behind it. */
export function writeResults(
  writing: Writing,
  results: readonly ToolResultPart[],
): readonly Members[] {
  const { resultMedia } = writing.capabilities;
  const behind = resultMedia ? [] : results.flatMap((result) => mediaOf(writing, result));
  return [...results.map((result) => writeResult(writing, result)), ...behind];
}

function writeResult(writing: Writing, result: ToolResultPart): Members {
  const { callIds, resultMedia } = writing.capabilities;
  const media = resultMedia ? mediaOf(writing, result) : [];
  return {
    functionResponse: {
      id: callIds ? result.callId : undefined,
      name: writing.names.upstream(result.name ?? 'unknown'),
      response: responseOf(result),
      parts: media.length === 0 ? undefined : media,
    },
  };
}

function mediaOf(writing: Writing, { content }: ToolResultPart): readonly Members[] {
  return content
    .filter((part): part is MediaPart => part.kind === 'media')
    .map((part) => writeMedia(writing, part));
}

/** Gemini takes objects only; `output` and `error` are the names its SDK documents. */
function responseOf(result: ToolResultPart): JsonNode {
  const text = resultText(result.content);
  const hasMedia = result.content.some(({ kind }) => kind === 'media');
  if (text === '' && hasMedia && !result.isError) return { output: '[see attached media]' };
  const value = parseJson(text);
  // Text stays text: of `"a"` the quotes would be lost.
  const isJson = value !== undefined && typeof value !== 'string';
  const node = isJson ? rawJson(text.trim()) : text;
  if (result.isError) return { error: node };
  return isJsonObject(value) ? node : { output: node };
}
