/**
 * Places members for Google at their paths in the request, and reports those for other providers.
 */
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { notPortable, type WriteContext } from './write-context.ts';

/** Google's members, by their location in the request. */
export interface PlacedMembers {
  readonly root: JsonObject;
  readonly generationConfig: JsonObject;
}

/** Members next to `generationConfig` rather than inside it. */
const rootNames: readonly string[] = ['safetySettings', 'cachedContent', 'labels'];

/** @throws GatewayError `not_portable` for a vital member that only another provider understands */
export function placeProviderMembers({ request, drop }: WriteContext): PlacedMembers {
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
