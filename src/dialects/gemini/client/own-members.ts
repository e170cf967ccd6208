/** Places what callers write in Google's own words, and lists what is another provider's. */
import { isJsonObject, type JsonObject, type JsonValue, member } from '../../../json.ts';
import { notPortable, type Writing } from './writing.ts';

/** Members in Google's spelling, by where they stand in a request. */
export interface OwnMembers {
  readonly root: JsonObject;
  readonly generationConfig: JsonObject;
}

/** What stands beside `generationConfig`, not in it. */
const rootNames: readonly string[] = ['safetySettings', 'cachedContent', 'labels'];

/** @throws GatewayError `not_portable` for what another provider alone knows and is vital */
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

/** The object with a value at a path; objects that meet are merged. */
function placed(holder: JsonObject, path: readonly string[], value: JsonValue): JsonObject {
  const [name, ...rest] = path;
  if (name === undefined) return isJsonObject(value) ? { ...holder, ...value } : holder;
  const before = member(holder, name);
  const inside = isJsonObject(before) ? before : {};
  if (rest.length > 0) return { ...holder, [name]: placed(inside, rest, value) };
  return { ...holder, [name]: isJsonObject(value) ? { ...inside, ...value } : value };
}
