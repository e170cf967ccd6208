/** Estimates the number of tokens in a request when no upstream can count them. */
import { jsonText } from './raw-json.ts';
import {
  type ContentRequest,
  everyPart,
  type OutputFormat,
  type Part,
  type Tool,
} from './request.ts';

/**
 * English text has about a quarter of a token per byte, code and other languages up to this many.
 * Clients that trust a count below the truth shorten their conversation too late.
 */
const tokensPerByte = 0.4;
const tokensPerTurn = 8;
const tokensPerImage = 1_600;
const tokensPerFile = 4_096;

/**
 * An estimate without a tokenizer, to be presented as such, and rather too high than too low: by
 * the bytes of all text and of the schemas of tools and output, plus a fixed number for each turn,
 * each image and each audio clip or document.
 */
export function estimateTokens(request: ContentRequest): number {
  const { turns, tools, format } = request;
  const parts = everyPart(request);
  const bytes =
    parts.reduce((sum, part) => sum + bytesOf(part), 0) +
    tools.reduce((sum, tool) => sum + Buffer.byteLength(toolText(tool)), 0) +
    formatBytes(format);
  let tokens = Math.ceil(bytes * tokensPerByte) + turns.length * tokensPerTurn;
  for (const part of parts) tokens += mediaTokens(part);
  return tokens;
}

function mediaTokens(part: Part): number {
  if (part.kind !== 'media' || part.text !== undefined) return 0;
  return part.mimeType?.startsWith('image/') === true ? tokensPerImage : tokensPerFile;
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

/** Providers write the schema of the output into the prompt. */
function formatBytes(format: OutputFormat | undefined): number {
  switch (format?.type) {
    case 'json_schema':
      return Buffer.byteLength(jsonText(format.schema));
    case 'enum':
      return Buffer.byteLength(jsonText(format.values));
    default:
      return 0;
  }
}

function toolText(tool: Tool): string {
  if (tool.kind === 'built_in') return jsonText(tool.value);
  const { name, description, parameters } = tool;
  return jsonText({ name, description, parameters });
}
