/** Walks over what a conversation consists of. */
import type { ContentRequest, Part } from './request.ts';

/** Every part of the conversation, those inside the results of tools too. */
export function everyPart({ system, turns }: ContentRequest): readonly Part[] {
  return [...system, ...turns.flatMap(({ parts }) => parts)].flatMap((part): readonly Part[] =>
    part.kind === 'tool_result' ? [part, ...part.content] : [part],
  );
}

/** Where callers marked what Anthropic would cache; other providers take no such marks. */
export function cacheMarksIn(request: ContentRequest): readonly string[] {
  const functions = request.tools.filter((tool) => tool.kind === 'function');
  return [...everyPart(request), ...functions]
    .filter(({ cacheControl }) => cacheControl !== undefined)
    .map(({ at }) => `${at}.cache_control`);
}
