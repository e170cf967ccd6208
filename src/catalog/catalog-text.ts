/** Parses the text of a catalog file, strictly enough that every JSON parser reads it alike. */
import { ConfigurationError } from '../errors.ts';
import { scanFile } from '../files/json-text.ts';
import { items, type JsonValue, member, parseJson } from '../json.ts';

/**
 * The models of `{ "models": [ … ] }`, as parsed JSON.
 *
 * @throws ConfigurationError that says where the text is wrong and how to fix it
 */
export function modelsIn(bytes: Uint8Array): readonly JsonValue[] {
  for (const name of scanFile(bytes, '{ "models": [ … ] }')) {
    if (name === 'models') continue;
    throw new ConfigurationError(`${JSON.stringify(name)} does not exist. Keep "models" alone.`);
  }
  const models = member(parseJson(Buffer.from(bytes).toString()), 'models');
  if (Array.isArray(models)) return items(models);
  throw new ConfigurationError('models must be a list. Write { "models": [ … ] }.');
}
