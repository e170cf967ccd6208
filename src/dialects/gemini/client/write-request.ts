/** Writes the body of `generateContent`; model and streaming stand in the path. */
import { jsonText } from '../../../canonical/raw-json.ts';
import type { ContentRequest } from '../../../canonical/request.ts';
import { ownMembers } from './own-members.ts';
import { writeConfig } from './write-config.ts';
import { writeConversation } from './write-contents.ts';
import { writeFormat } from './write-format.ts';
import { writeTools } from './write-tools.ts';
import type { Writing } from './writing.ts';

/**
 * The body as JSON text.
 *
 * @throws GatewayError `not_portable` that names what the model has no words for
 */
export function writeRequest(writing: Writing): string {
  const { request, drop } = writing;
  if (request.endUserId !== undefined) drop(request.names.endUserId);
  if (request.serviceTier !== undefined) drop(request.names.serviceTier);
  for (const at of cacheMarks(request)) drop(`${at}.cache_control`);
  const format = writeFormat(writing);
  const own = ownMembers(writing);
  return jsonText({
    ...writeConversation(writing, format.instructions),
    ...writeTools(writing),
    generationConfig: writeConfig(writing, format.config, own.generationConfig),
    ...own.root,
  });
}

/** Where the caller marked what Anthropic would cache; Gemini caches by itself. */
function cacheMarks({ system, turns, tools }: ContentRequest): readonly string[] {
  const functions = tools.filter((tool) => tool.kind === 'function');
  return [...system, ...turns.flatMap(({ parts }) => parts), ...functions]
    .filter(({ cacheControl }) => cacheControl !== undefined)
    .map(({ at }) => at);
}
