/** Reads the four forms of `input`: a text, texts, token ids, and lists of token ids. */
import { type Body, originalLength } from '../../bytes/body/body.ts';
import { kindAt } from '../../bytes/json/read/members.ts';
import { skipValue } from '../../bytes/json/read/skip.ts';
import type { Span } from '../../bytes/json/scan/scan.ts';
import type { InputSize } from '../../call.ts';
import { eachElement } from '../../dialects/prompt-size.ts';
import { GatewayError } from '../../errors.ts';

/** The limit of OpenAI's API. */
const maxInputs = 2_048;

/**
 * The size of each input; one for a text or a list of token ids.
 *
 * @throws GatewayError `invalid_request` that names the input
 */
export function readInputs(body: Body, value: Span): readonly InputSize[] {
  const { text } = body;
  switch (kindAt(text, value)) {
    case 'string':
      if (value.end - value.start === 2) throw refused('input', 'must not be empty');
      return [textInput(body, value)];
    case 'array':
      return readList(body, value);
    default:
      throw refused('input', forms);
  }
}

const forms = 'must be a string, a list of strings, a list of token ids, or a list of such lists';

function readList(body: Body, list: Span): readonly InputSize[] {
  const { text } = body;
  const inputs: InputSize[] = [];
  let ids = 0;
  let first: string | undefined;
  eachElement(text, list.start, (start, index) => {
    const value = { start, end: skipValue(text, start) };
    const kind = kindAt(text, value);
    first ??= kind;
    if (kind !== first) throw refused(`input[${index}]`, 'must have the same type as input[0]');
    if (kind === 'string') inputs.push(textInput(body, value));
    else if (kind === 'array') inputs.push(tokenInput(countIds(text, start, index)));
    else if (kind === 'number') ids += 1;
    else throw refused(`input[${index}]`, 'must be a string, a token id or a list of token ids');
    return value.end;
  });
  if (first === undefined) throw refused('input', 'must not be an empty list');
  if (inputs.length > maxInputs) {
    throw refused('input', `has ${inputs.length} inputs; at most ${maxInputs} are allowed`);
  }
  return ids === 0 ? inputs : [tokenInput(ids)];
}

/** The number of token ids in the list at `start`, the input at `index`. */
function countIds(text: Buffer, start: number, index: number): number {
  let count = 0;
  eachElement(text, start, (at) => {
    const end = skipValue(text, at);
    if (kindAt(text, { start: at, end }) !== 'number') {
      throw refused(`input[${index}]`, 'must be a list of token ids, which are numbers');
    }
    count += 1;
    return end;
  });
  return count;
}

function textInput(body: Body, { start, end }: Span): InputSize {
  return { textBytes: originalLength(body, start, end) - 2, tokens: 0, media: [] };
}

function tokenInput(tokens: number): InputSize {
  return { textBytes: 0, tokens, media: [] };
}

function refused(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_request', `\`${param}\` ${problem}.`, { param });
}
