/** The text of a catalog as JSON: one object with a list of models, read alike by every parser. */
import { scanJsonObject } from '../../bytes/json/scan/scan.ts';
import { ConfigurationError, isGatewayError } from '../../errors.ts';
import { items, type JsonValue, member, parseJson } from '../../json.ts';

/**
 * The models of `{ "models": [ … ] }`, as JSON has them.
 *
 * @throws ConfigurationError that says where the text goes wrong, and the cure
 */
export function modelsIn(bytes: Uint8Array): readonly JsonValue[] {
  for (const { name } of scanned(bytes)) {
    if (name === 'models') continue;
    throw new ConfigurationError(`${JSON.stringify(name)} does not exist. Keep "models" alone.`);
  }
  const models = member(parseJson(Buffer.from(bytes).toString()), 'models');
  if (Array.isArray(models)) return items(models);
  throw new ConfigurationError('models must be a list. Write { "models": [ … ] }.');
}

function scanned(bytes: Uint8Array): ReturnType<typeof scanJsonObject> {
  try {
    return scanJsonObject(bytes);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    // The sentence speaks of a request; the place in it holds for a file too.
    const [, at] = /at byte (\d+)/.exec(error.message) ?? [];
    const place = at === undefined ? '' : ` at ${lineAndColumn(bytes, Number(at))}`;
    const [problem, cure] = sayings.get(error.reason) ?? ['can not be read', 'Shorten it'];
    throw new ConfigurationError(`the text ${problem}${place}. ${cure}.`);
  }
}

/** What is wrong and the cure, by the reason of the scan. */
const sayings: ReadonlyMap<unknown, readonly [problem: string, cure: string]> = new Map([
  ['invalid_json', ['is not valid JSON', 'Mend it there']],
  ['not_an_object', ['is not an object', 'Write { "models": [ … ] }']],
  ['duplicate_key', ['names a member twice in one object', 'Take one of the two out']],
  ['name_too_long', ['has a name of over 4,096 bytes', 'Shorten it']],
  ['too_deep', ['is nested deeper than 64 levels', 'Flatten it']],
  ['too_many_values', ['has more values than a catalog can need', 'Shorten it']],
  ['bom', ['begins with a byte order mark', 'Save it as UTF-8 without one']],
  ['invalid_utf8', ['is not valid UTF-8', 'Save it as UTF-8']],
]);

function lineAndColumn(bytes: Uint8Array, at: number): string {
  const lines = Buffer.from(bytes).subarray(0, at).toString().split('\n');
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
}
