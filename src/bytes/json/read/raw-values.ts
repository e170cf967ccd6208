/** Finds the JSON text of single values in a scanned body, as the caller wrote it. */
import { originalBytes } from '../../body/body.ts';
import type { ScannedBody } from '../scan/body.ts';
import type { Span } from '../scan/scan.ts';
import { closeBracket, openBracket } from '../text.ts';
import { membersOf } from './members.ts';
import { firstInside, nextInside, skipValue } from './skip.ts';

/**
 * The text of the value at a path such as `messages[2].content[0].input`; undefined if there is
 * none. Names in the path have neither dots nor brackets.
 */
export type RawValues = (path: string) => string | undefined;

/** The values in an object or array, by the last step of their path: `.input` or `[0]`. */
type Inside = ReadonlyMap<string, Span>;

/** Makes the search. Each object and array on the way to a value is read once. */
export function rawValues({ body, members }: ScannedBody): RawValues {
  const root: Inside = new Map(members.map(({ name, value }) => [name, value]));
  const known = new Map<string, Inside>();
  const insideOf = (path: string): Inside => {
    const found = known.get(path) ?? readInside(body.text, spanOf(path));
    known.set(path, found);
    return found;
  };
  const spanOf = (path: string): Span | undefined => {
    const step = lastStep.exec(path)?.[0];
    return step === undefined ? root.get(path) : insideOf(path.slice(0, -step.length)).get(step);
  };
  return (path) => {
    const span = spanOf(path);
    return span && originalBytes(body, span.start, span.end).toString('utf8');
  };
}

const lastStep = /(?:\.[^.[\]]*|\[\d+\])$/;

function readInside(text: Buffer, span: Span | undefined): Inside {
  if (span === undefined) return new Map();
  if (text[span.start] !== openBracket) {
    return new Map(membersOf(text, span).map(({ name, value }) => [`.${name}`, value]));
  }
  const elements = new Map<string, Span>();
  let start = firstInside(text, span.start);
  while (text[start] !== closeBracket) {
    const end = skipValue(text, start);
    elements.set(`[${elements.size}]`, { start, end });
    start = nextInside(text, end);
  }
  return elements;
}
