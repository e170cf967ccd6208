/**
 * OpenAI's custom tools take a text in place of JSON arguments. For models without them, and in the
 * common form, each is a function whose only argument is that text.
 */
import { parseBounded } from '../bounded-json.ts';
import { isJsonObject, type JsonObject, member, stringOrEmpty } from '../json.ts';
import { jsonText } from './raw-json.ts';
import type { ContentRequest, FunctionTool } from './request.ts';

export const customParameters: JsonObject = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
};

export function customArguments(text: string): string {
  return jsonText({ input: text });
}

/**
 * The text in such arguments. Arguments of any other form, or with further members, are returned
 * unchanged as the text, so that nothing is lost.
 */
export function customInput(args: string): string {
  const value = parseBounded(args);
  const text = member(value, 'input');
  const isWhole = isJsonObject(value) && Object.keys(value).length === 1;
  return isWhole && typeof text === 'string' ? text : args;
}

/**
 * Replaces custom tools by functions, for upstreams without custom tools. A grammar is added to the
 * description. The upstream doesn't enforce it there, so it is listed as replaced.
 */
export function withoutCustomTools(request: ContentRequest): ContentRequest {
  const custom = request.tools.filter(
    (tool): tool is FunctionTool => tool.kind === 'function' && tool.custom !== undefined,
  );
  if (custom.length === 0) return request;
  const replaced = new Map(custom.map((tool) => [tool, asFunction(tool)]));
  const constrained = custom.filter(({ custom }) => grammarOf(custom?.format) !== undefined);
  return {
    ...request,
    tools: request.tools.map(
      (tool) => (tool.kind === 'function' ? replaced.get(tool) : undefined) ?? tool,
    ),
    dropped: [...request.dropped, ...constrained.map(({ at, custom }) => custom?.formatAt ?? at)],
  };
}

/** A longer grammar would cost more than it helps a model that isn't held to it. */
const maxGrammarBytes = 8 * 1024;

function asFunction({ custom, ...tool }: FunctionTool): FunctionTool {
  const { syntax, definition } = grammarOf(custom?.format) ?? { syntax: '', definition: '' };
  const isShown = definition !== '' && Buffer.byteLength(definition) <= maxGrammarBytes;
  const rule = `The input must follow this ${syntax} grammar:\n${definition}`;
  const description = [...(tool.description ? [tool.description] : []), ...(isShown ? [rule] : [])];
  return {
    ...tool,
    description: description.length === 0 ? undefined : description.join('\n\n'),
    parameters: customParameters,
  };
}

export function grammarOf(
  format: JsonObject | undefined,
): { readonly syntax: string; readonly definition: string } | undefined {
  if (member(format, 'type') !== 'grammar') return undefined;
  const grammar = member(format, 'grammar') ?? format;
  return {
    syntax: stringOrEmpty(member(grammar, 'syntax')),
    definition: stringOrEmpty(member(grammar, 'definition')),
  };
}
