/** Estimates the number of tokens in a request when no upstream can count them. */
import { jsonText } from './raw-json.ts';
import type { ContentRequest, Part, Tool } from './request.ts';

/** English text and code average about four bytes per token. */
const bytesPerToken = 4;
/** Overhead of one message: its role and separators. */
const tokensPerTurn = 4;
/** Google's count for one tile of an image. */
const tokensPerMedia = 258;

/**
 * A rough estimate without a tokenizer, to be presented as such: a quarter of the bytes of all text
 * and of the tools' schemas, plus a fixed number for each turn and for each image, audio clip or
 * document.
 */
export function estimateTokens({ system, turns, tools }: ContentRequest): number {
  const parts = [...system, ...turns.flatMap((turn) => turn.parts)].flatMap(pieces);
  const bytes =
    parts.reduce((sum, part) => sum + bytesOf(part), 0) +
    tools.reduce((sum, tool) => sum + Buffer.byteLength(toolText(tool)), 0);
  const media = parts.filter(({ kind }) => kind === 'media').length;
  return Math.ceil(bytes / bytesPerToken) + turns.length * tokensPerTurn + media * tokensPerMedia;
}

function pieces(part: Part): readonly Part[] {
  return part.kind === 'tool_result' ? part.content : [part];
}

function bytesOf(part: Part): number {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return Buffer.byteLength(part.text);
    case 'tool_call':
      return Buffer.byteLength(part.name) + Buffer.byteLength(part.arguments);
    case 'provider_specific':
      return Buffer.byteLength(jsonText(part.value));
    case 'media':
      return Buffer.byteLength(part.text ?? '');
    case 'tool_result':
      return 0;
  }
}

function toolText(tool: Tool): string {
  if (tool.kind === 'built_in') return jsonText(tool.value);
  const { name, description, parameters } = tool;
  return jsonText({ name, description, parameters });
}
