/** Writes the body of `generateContent`. The model and streaming are part of the path. */
import { cacheMarksIn, unsentProviderData } from '../../../canonical/every-part.ts';
import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import { asksForTier, changesVerbosity } from '../../../canonical/request.ts';
import { placeProviderMembers } from './provider-members.ts';
import type { WriteContext } from './write-context.ts';
import { writeFormat } from './write-format.ts';
import { writeConversation } from './write-messages.ts';
import { signatureOf } from './write-results.ts';
import { writeSettings } from './write-settings.ts';
import { writeTools } from './write-tools.ts';

/**
 * The members of the body.
 *
 * @throws GatewayError `not_portable` that names a member that the model doesn't support
 */
export function writeRequest(context: WriteContext): Readonly<Record<string, JsonNode>> {
  const { request, drop } = context;
  if (request.endUserId !== undefined) drop(request.names.endUserId);
  if (asksForTier(request)) drop(request.names.serviceTier);
  if (changesVerbosity(request)) drop(request.names.verbosity);
  for (const mark of cacheMarksIn(request)) drop(mark);
  const isSent = (data: ProviderData): boolean => signatureOf(data) !== undefined;
  for (const name of unsentProviderData(request, isSent)) drop(name);
  const format = writeFormat(context);
  const providerMembers = placeProviderMembers(context);
  return {
    ...writeConversation(context, format.instructions),
    ...writeTools(context),
    generationConfig: writeSettings(context, format.config, providerMembers.generationConfig),
    ...providerMembers.root,
  };
}
