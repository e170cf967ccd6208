/**
 * Recognises, without parsing them, events of a native stream in which a model wrote one text and
 * nothing else, as nearly all are.
 */
import { stringEnd } from '../../json-strings.ts';

/** From the start of the data to the text, in each order in which Google writes the members. */
const head = new RegExp(
  [
    String.raw`data: \{\s*"candidates"\s*:\s*\[\s*\{\s*(?:"index"\s*:\s*0\s*,\s*)?`,
    String.raw`"content"\s*:\s*\{\s*(?:"role"\s*:\s*"model"\s*,\s*)?"parts"\s*:\s*\[\s*\{\s*`,
    String.raw`(?:"thought"\s*:\s*true\s*,\s*)?"text"\s*:\s*"`,
  ].join(''),
  'y',
);
/** From the text to the end of the content. */
const tail =
  /"\s*(?:,\s*"thought"\s*:\s*true\s*)?\}\s*\](?:\s*,\s*"role"\s*:\s*"model")?\s*\}\s*[,}]/y;
/** Another candidate or a repeated member. Searching for a rare first letter is faster. */
const otherContent = 'parts"';
const quote = 0x22;
/** Google's finish, usage and ids are shorter. Anything longer may hold what a model wrote. */
const maxMetadataLength = 2_048;

/** Where a string starts and ends in the source text. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the texts of events, which are one line of data each and given as latin1; undefined unless
 * each has a text that is not empty, and nothing else that a model wrote.
 */
export type PlainTexts = (events: string) => readonly TextSpan[] | undefined;

/** Creates the reader of one stream, in which nearly all events have the same frame. */
export function plainTexts(): PlainTexts {
  const headEnd = frameReader(head);
  const tailEnd = frameReader(tail);
  return (events) => {
    const texts: TextSpan[] = [];
    let otherAt = -1;
    for (let at = 0; at < events.length; ) {
      const start = headEnd(events, at);
      if (start === -1 || events.charCodeAt(start) === quote) return undefined;
      const end = stringEnd(events, start);
      const contentEnd = tailEnd(events, end);
      const lineEnd = events.indexOf('\n', end);
      if (contentEnd === -1 || lineEnd === -1) return undefined;
      if (lineEnd - contentEnd > maxMetadataLength) return undefined;
      // Searched again only after it is passed; otherwise each event would be searched to the end.
      if (otherAt < end) otherAt = indexOrEnd(events, otherContent, contentEnd);
      if (otherAt < lineEnd) return undefined;
      texts.push({ start, end });
      at = indexOrEnd(events, 'data: ', lineEnd);
    }
    return texts;
  };
}

/**
 * Returns the end of the pattern at a place, -1 if it does not match. The text that matched last is
 * compared first, which is faster than the pattern.
 */
function frameReader(pattern: RegExp): (text: string, at: number) => number {
  let known = '';
  return (text, at) => {
    const knownEnd = at + known.length;
    if (known !== '' && text.slice(at, knownEnd) === known) return knownEnd;
    pattern.lastIndex = at;
    if (!pattern.test(text)) return -1;
    known = text.slice(at, pattern.lastIndex);
    return pattern.lastIndex;
  };
}

function indexOrEnd(text: string, searched: string, from: number): number {
  const at = text.indexOf(searched, from);
  return at === -1 ? text.length : at;
}
