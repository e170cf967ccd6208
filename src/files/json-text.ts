/** Checks the text of a JSON file, strictly enough that every JSON parser reads it alike. */
import { wholeBody } from '../bytes/body/body.ts';
import { asBuffer } from '../bytes/decode.ts';
import { scanBody } from '../bytes/json/scan/body.ts';
import { root } from '../bytes/json/tape.ts';
import { ConfigurationError, isGatewayError } from '../errors.ts';

/**
 * The names of the members of the object in a file.
 *
 * @param form what the file should look like, for the error about another value
 * @throws ConfigurationError that says where the text is wrong and how to fix it
 */
export function scanFile(bytes: Uint8Array, form: string): readonly string[] {
  try {
    const tape = scanBody(wholeBody(asBuffer(bytes)));
    return tape.members(root).map((member) => tape.name(member));
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    // The scanner's message is about a request body; only its byte offset is of use here.
    const [, offset] = /at byte (\d+)/.exec(error.message) ?? [];
    const location = offset === undefined ? '' : ` at ${lineAndColumn(bytes, Number(offset))}`;
    const [problem, remedy] = problems.get(error.reason) ?? ['is not an object', `Write ${form}`];
    throw new ConfigurationError(`the text ${problem}${location}. ${remedy}.`);
  }
}

const problems: ReadonlyMap<unknown, readonly [problem: string, remedy: string]> = new Map([
  ['invalid_json', ['is not valid JSON', 'Fix it there']],
  ['duplicate_key', ['names a member twice in one object', 'Remove one of the two']],
  ['name_too_long', ['has a name of over 4,096 bytes', 'Shorten it']],
  ['too_deep', ['is nested deeper than 64 levels', 'Flatten it']],
  ['too_many_values', ['has too many values', 'Shorten it']],
  ['bom', ['begins with a byte order mark', 'Save it as UTF-8 without one']],
  ['invalid_utf8', ['is not valid UTF-8', 'Save it as UTF-8']],
]);

function lineAndColumn(bytes: Uint8Array, offset: number): string {
  const lines = Buffer.from(bytes).subarray(0, offset).toString().split('\n');
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
}
