/** Iterates over the parts of a conversation. */
import type { ProviderData } from './provider-data.ts';
import type { ContentRequest, Part } from './request.ts';

/** Every part of the conversation, including the parts inside tool results. */
export function everyPart({ system, turns }: ContentRequest): readonly Part[] {
  return [...system, ...turns.flatMap(({ parts }) => parts)].flatMap((part): readonly Part[] =>
    part.kind === 'tool_result' ? [part, ...part.content] : [part],
  );
}

/** Only Anthropic supports cache marks, so that other writers report them as dropped. */
export function cacheMarksIn(request: ContentRequest): readonly string[] {
  const parts = everyPart(request).filter(({ cacheControl }) => cacheControl !== undefined);
  const functions = request.tools.filter(
    (tool) => tool.kind === 'function' && tool.cacheControl !== undefined,
  );
  return [
    ...parts.map(({ at, cacheControlAt }) => cacheControlAt ?? `${at}.cache_control`),
    ...functions.map(({ at }) => `${at}.cache_control`),
  ];
}

/** The names of provider data that the upstream isn't sent, if the caller named it at all. */
export function unsentProviderData(
  request: ContentRequest,
  isSent: (data: ProviderData, part: Part) => boolean,
): readonly string[] {
  return everyPart(request).flatMap((part) => {
    const { providerData, providerDataAt } = part;
    if (providerData === undefined || providerDataAt === undefined) return [];
    return isSent(providerData, part) ? [] : [providerDataAt];
  });
}
