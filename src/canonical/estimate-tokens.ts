/** Estimates how many tokens a request has where no upstream can be asked. */
import { jsonText } from './raw-json.ts';
import type { ContentRequest, Part, Tool } from './request.ts';

/** English and code have about four bytes a token. */
const bytesPerToken = 4;
/** Role and separators of one message. */
const tokensPerTurn = 4;
/** What Google counts for one tile of an image. */
const tokensPerMedia = 258;

/**
 * An estimate, and to be called one: no tokenizer is asked. A quarter of the bytes of all text and
 * of the tools' schemas, and a fixed number for each turn and each image, sound or document.
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
    case 'tool_result':
    case 'media':
      return 0;
  }
}

function toolText(tool: Tool): string {
  if (tool.kind === 'built_in') return jsonText(tool.value);
  const { name, description, parameters } = tool;
  return jsonText({ name, description, parameters });
}
