/**
 * Places members for Google at their paths in the request, and reports those for other providers.
 */
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { notPortable, type Writing } from './writing.ts';

/** Google's members, by their location in the request. */
export interface OwnMembers {
  readonly root: JsonObject;
  readonly generationConfig: JsonObject;
}

/** Members next to `generationConfig` rather than inside it. */
const rootNames: readonly string[] = ['safetySettings', 'cachedContent', 'labels'];

/** @throws GatewayError `not_portable` for a vital member that only another provider understands */
export function ownMembers({ request, drop }: Writing): OwnMembers {
  let root: JsonObject = {};
  let generationConfig: JsonObject = {};
  for (const { provider, name, value, at, vital } of request.providerMembers) {
    if (provider !== 'gemini') {
      if (vital) throw notPortable(at, 'The model has no counterpart to this. Leave it out.');
      drop(at);
      continue;
    }
    const path = name.split('.').filter((step) => step !== 'generationConfig');
    if (rootNames.includes(path[0] ?? '')) root = placed(root, path, value);
    else generationConfig = placed(generationConfig, path, value);
  }
  return { root, generationConfig };
}

/** The object with the value set at the path; existing objects are merged. */
function placed(holder: JsonObject, path: readonly string[], value: JsonValue): JsonObject {
  const [name, ...rest] = path;
  if (name === undefined) return isJsonObject(value) ? { ...holder, ...value } : holder;
  const before = member(holder, name);
  const inside = isJsonObject(before) ? before : {};
  if (rest.length > 0) return { ...holder, [name]: placed(inside, rest, value) };
  return { ...holder, [name]: isJsonObject(value) ? { ...inside, ...value } : value };
}
