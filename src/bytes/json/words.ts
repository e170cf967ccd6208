/**
 * Names and short texts that are common in requests, so that reading one makes no new string. A
 * word that is missing here is read all the same, only slower.
 */
import { decodeString } from '../decode.ts';
import { backslash, quote } from './text.ts';

/** The words. What depends on a name alone may be remembered for these. */
export const commonWords: ReadonlySet<string> = new Set([
  // Members of bodies and messages.
  ...['model', 'messages', 'input', 'contents', 'system', 'instructions', 'stream', 'metadata'],
  ...['stream_options', 'include_usage', 'temperature', 'top_p', 'n', 'stop', 'user', 'store'],
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'tools', 'tool_choice'],
  ...['parallel_tool_calls', 'prompt_cache_key', 'reasoning', 'reasoning_effort', 'thinking'],
  ...['response_format', 'include', 'role', 'content', 'name', 'type', 'id', 'status', 'text'],
  ...['system_instruction', 'systemInstruction', 'generationConfig', 'generation_config', 'parts'],
  // Parts, blocks and items.
  ...['tool_calls', 'tool_call_id', 'function', 'arguments', 'image_url', 'url', 'detail', 'file'],
  ...['tool_use', 'tool_use_id', 'tool_result', 'is_error', 'source', 'media_type', 'data'],
  ...['cache_control', 'ephemeral', 'signature', 'redacted_thinking', 'image', 'document'],
  ...['call_id', 'output', 'summary', 'encrypted_content', 'annotations', 'title', 'file_id'],
  ...['inlineData', 'inline_data', 'mimeType', 'mime_type', 'fileData', 'file_data', 'fileUri'],
  ...['functionCall', 'functionResponse', 'thoughtSignature', 'thought', 'args', 'response'],
  ...['filename', 'format', 'input_audio', 'refusal', 'audio', 'file_url', 'budget_tokens'],
  // Roles and types.
  ...['assistant', 'tool', 'developer', 'message', 'function_call', 'input_text'],
  ...['function_call_output', 'output_text', 'summary_text', 'input_image', 'input_file'],
  ...['custom', 'completed', 'auto', 'base64', 'object', 'string', 'enabled', 'adaptive'],
  // Tools.
  ...['description', 'parameters', 'input_schema', 'strict', 'properties', 'required', 'items'],
  ...['functionDeclarations', 'parametersJsonSchema', 'additionalProperties'],
]);
const maxWordBytes = 24;
const slots = 2048;
/** 2³² divided by the golden ratio: no two of the words share a slot. */
const factor = 0x9e3779b1;
const wordsByHash: readonly string[] = makeTable();

/** The text of a name or string whose opening quote is at `at`. */
export function wordAt(bytes: Buffer, at: number): string {
  const start = at + 1;
  let hash = 0;
  let end = start;
  for (const longest = start + maxWordBytes; end < longest; end += 1) {
    const byte = bytes[end] ?? 0;
    if (byte === quote) {
      const word = wordsByHash[hash & (slots - 1)] ?? '';
      const isWord = word.length === end - start && isWordAt(bytes, start, word);
      return isWord ? word : bytes.toString('utf8', start, end);
    }
    if (byte === backslash) break;
    hash = (Math.imul(hash, factor) + byte) | 0;
  }
  return decodeString(bytes, start, closingQuote(bytes, end));
}

export function isWordAt(bytes: Buffer, start: number, word: string): boolean {
  for (let index = 0; index < word.length; index += 1) {
    if (bytes[start + index] !== word.charCodeAt(index)) return false;
  }
  return true;
}

/** The offset of the closing quote of a scanned string, from a place inside it. */
export function closingQuote(bytes: Buffer, from: number): number {
  // Native, because a body may consist of names of 4 KB, which several readers pass.
  let end = bytes.indexOf(quote, from);
  while (isEscaped(bytes, from, end)) end = bytes.indexOf(quote, end + 1);
  return end;
}

function isEscaped(bytes: Buffer, from: number, at: number): boolean {
  let first = at;
  while (first > from && bytes[first - 1] === backslash) first -= 1;
  return (at - first) % 2 === 1;
}

function makeTable(): readonly string[] {
  const table: string[] = Array.from({ length: slots }, () => '');
  for (const word of commonWords) {
    let hash = 0;
    for (let index = 0; index < word.length; index += 1) {
      hash = (Math.imul(hash, factor) + word.charCodeAt(index)) | 0;
    }
    table[hash & (slots - 1)] = word;
  }
  return table;
}
