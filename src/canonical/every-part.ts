/** Iterates over the parts of a conversation. */
import type { ContentRequest, Part } from './request.ts';

/** Every part of the conversation, including the parts inside tool results. */
export function everyPart({ system, turns }: ContentRequest): readonly Part[] {
  return [...system, ...turns.flatMap(({ parts }) => parts)].flatMap((part): readonly Part[] =>
    part.kind === 'tool_result' ? [part, ...part.content] : [part],
  );
}

/**
 * The paths of all `cache_control` members. Only Anthropic supports them, so that writers for other
 * providers report them as dropped.
 */
export function cacheMarksIn(request: ContentRequest): readonly string[] {
  const functions = request.tools.filter((tool) => tool.kind === 'function');
  return [...everyPart(request), ...functions]
    .filter(({ cacheControl }) => cacheControl !== undefined)
    .map(({ at }) => `${at}.cache_control`);
}
