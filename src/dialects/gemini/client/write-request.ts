/** Writes the body of `generateContent`. The model and streaming are part of the path. */
import { cacheMarksIn } from '../../../canonical/every-part.ts';
import { jsonText } from '../../../canonical/raw-json.ts';
import { placeProviderMembers } from './provider-members.ts';
import { writeConfig } from './write-config.ts';
import { writeConversation } from './write-contents.ts';
import type { WriteContext } from './write-context.ts';
import { writeFormat } from './write-format.ts';
import { writeTools } from './write-tools.ts';

/**
 * The body as JSON text.
 *
 * @throws GatewayError `not_portable` that names a member that the model doesn't support
 */
export function writeRequest(context: WriteContext): string {
  const { request, drop } = context;
  if (request.endUserId !== undefined) drop(request.names.endUserId);
  if (request.serviceTier !== undefined) drop(request.names.serviceTier);
  for (const mark of cacheMarksIn(request)) drop(mark);
  const format = writeFormat(context);
  const providerMembers = placeProviderMembers(context);
  return jsonText({
    ...writeConversation(context, format.instructions),
    ...writeTools(context),
    generationConfig: writeConfig(context, format.config, providerMembers.generationConfig),
    ...providerMembers.root,
  });
}
