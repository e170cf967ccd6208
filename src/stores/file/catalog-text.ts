/** Parses the text of a catalog file, strictly enough that every JSON parser reads it alike. */
import { scanJsonObject } from '../../bytes/json/scan/scan.ts';
import { ConfigurationError, isGatewayError } from '../../errors.ts';
import { items, type JsonValue, member, parseJson } from '../../json.ts';

/**
 * The models of `{ "models": [ … ] }`, as parsed JSON.
 *
 * @throws ConfigurationError that says where the text is wrong and how to fix it
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
    // The scanner's message is about a request body; only its byte offset is of use here.
    const [, offset] = /at byte (\d+)/.exec(error.message) ?? [];
    const location = offset === undefined ? '' : ` at ${lineAndColumn(bytes, Number(offset))}`;
    const [problem, remedy] = problems.get(error.reason) ?? ["can't be read", 'Shorten it'];
    throw new ConfigurationError(`the text ${problem}${location}. ${remedy}.`);
  }
}

/** The problem and its remedy, by the reason that the scanner gives. */
const problems: ReadonlyMap<unknown, readonly [problem: string, remedy: string]> = new Map([
  ['invalid_json', ['is not valid JSON', 'Fix it there']],
  ['not_an_object', ['is not an object', 'Write { "models": [ … ] }']],
  ['duplicate_key', ['names a member twice in one object', 'Remove one of the two']],
  ['name_too_long', ['has a name of over 4,096 bytes', 'Shorten it']],
  ['too_deep', ['is nested deeper than 64 levels', 'Flatten it']],
  ['too_many_values', ['has more values than a catalog can need', 'Shorten it']],
  ['bom', ['begins with a byte order mark', 'Save it as UTF-8 without one']],
  ['invalid_utf8', ['is not valid UTF-8', 'Save it as UTF-8']],
]);

function lineAndColumn(bytes: Uint8Array, offset: number): string {
  const lines = Buffer.from(bytes).subarray(0, offset).toString().split('\n');
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
}
