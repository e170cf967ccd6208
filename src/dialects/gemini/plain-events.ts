/**
 * Recognises, without parsing them, events of a native stream in which a model wrote one text and
 * nothing else, as nearly all are.
 */
import { stringEnd } from '../json-strings.ts';

/** From the start of the data to the text, in each order in which Google writes the members. */
const head = new RegExp(
  [
    String.raw`data: \{\s*"candidates"\s*:\s*\[\s*\{\s*(?:"index"\s*:\s*0\s*,\s*)?`,
    String.raw`"content"\s*:\s*\{\s*(?:"role"\s*:\s*"model"\s*,\s*)?"parts"\s*:\s*\[\s*\{\s*`,
    String.raw`(?:"thought"\s*:\s*true\s*,\s*)?"text"\s*:\s*"(?!")`,
  ].join(''),
  'y',
);
/** From the text to the end of the content. */
const tail =
  /"\s*(?:,\s*"thought"\s*:\s*true\s*)?\}\s*\](?:\s*,\s*"role"\s*:\s*"model")?\s*\}\s*[,}]/y;
/** Another candidate or a repeated member. */
const otherContent = '"content"';

/** Where a string starts and ends in the source text. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the texts of the events, which are one line of data each and given as latin1; undefined
 * unless each has a text that is not empty, and nothing else that a model wrote.
 */
export function plainTexts(events: string): readonly TextSpan[] | undefined {
  const texts: TextSpan[] = [];
  let otherAt = -1;
  for (let at = 0; at < events.length; ) {
    head.lastIndex = at;
    if (!head.test(events)) return undefined;
    const start = head.lastIndex;
    const end = stringEnd(events, start);
    tail.lastIndex = end;
    if (!tail.test(events)) return undefined;
    const lineEnd = events.indexOf('\n', end);
    if (lineEnd === -1) return undefined;
    // Searched again only after it is passed; otherwise each event would be searched to the end.
    if (otherAt < end) otherAt = indexOrEnd(events, otherContent, tail.lastIndex);
    if (otherAt < lineEnd) return undefined;
    texts.push({ start, end });
    at = events.indexOf('data: ', lineEnd);
    if (at === -1) at = events.length;
  }
  return texts;
}

function indexOrEnd(text: string, searched: string, from: number): number {
  const at = text.indexOf(searched, from);
  return at === -1 ? text.length : at;
}
