/** Writes the body of `generateContent`. The model and streaming are part of the path. */

import type { ProviderData } from '../../../canonical/provider-data.ts';
import type { JsonNode } from '../../../canonical/raw-json.ts';
import {
  asksForTier,
  cacheMarksIn,
  changesVerbosity,
  unsentProviderData,
} from '../../../canonical/request.ts';
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { notPortable } from '../../not-portable.ts';
import type { WriteContext } from './write-context.ts';
import { signatureOf, writeConversation } from './write-messages.ts';
import { writeFormat, writeSettings } from './write-settings.ts';
import { writeTools } from './write-tools.ts';

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

/** Members next to `generationConfig` rather than inside it. */
const rootNames: readonly string[] = ['safetySettings', 'cachedContent', 'labels'];

function placeProviderMembers({ request, drop }: WriteContext): {
  readonly root: JsonObject;
  readonly generationConfig: JsonObject;
} {
  let root: JsonObject = {};
  let generationConfig: JsonObject = {};
  for (const { provider, name, value, at, vital } of request.providerMembers) {
    if (provider !== 'gemini') {
      if (vital)
        throw notPortable(at, 'This model has no equivalent of this member. Leave it out.');
      drop(at);
      continue;
    }
    const path = name.split('.').filter((step) => step !== 'generationConfig');
    if (rootNames.includes(path[0] ?? '')) root = withValueAt(root, path, value);
    else generationConfig = withValueAt(generationConfig, path, value);
  }
  return { root, generationConfig };
}

/** The object with the value set at the path; existing objects are merged. */
function withValueAt(holder: JsonObject, path: readonly string[], value: JsonValue): JsonObject {
  const [name, ...rest] = path;
  if (name === undefined) return isJsonObject(value) ? { ...holder, ...value } : holder;
  const before = member(holder, name);
  const inside = isJsonObject(before) ? before : {};
  if (rest.length > 0) return { ...holder, [name]: withValueAt(inside, rest, value) };
  return { ...holder, [name]: isJsonObject(value) ? { ...inside, ...value } : value };
}
