/** Writes the body of `generateContent`. The model and streaming are part of the path. */
import { cacheMarksIn } from '../../../canonical/every-part.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import { ownMembers } from './own-members.ts';
import { writeConfig } from './write-config.ts';
import { writeConversation } from './write-contents.ts';
import { writeFormat } from './write-format.ts';
import { writeTools } from './write-tools.ts';
import type { Writing } from './writing.ts';

/**
 * The body as JSON text.
 *
 * @throws GatewayError `not_portable` that names a member that the model doesn't support
 */
export function writeRequest(writing: Writing): string {
  const { request, drop } = writing;
  if (request.endUserId !== undefined) drop(request.names.endUserId);
  if (request.serviceTier !== undefined) drop(request.names.serviceTier);
  for (const mark of cacheMarksIn(request)) drop(mark);
  const format = writeFormat(writing);
  const own = ownMembers(writing);
  return jsonText({
    ...writeConversation(writing, format.instructions),
    ...writeTools(writing),
    generationConfig: writeConfig(writing, format.config, own.generationConfig),
    ...own.root,
  });
}
