/**
 * Finds the spans to cut from a JSON array so that some of its elements are removed. Each span
 * includes the comma and the space after the elements or, at the end of the array, before them. All
 * other bytes stay.
 */
import { firstInside, nextInside, skipValue } from './read/skip.ts';
import type { Span } from './scan/scan.ts';
import { closeBracket } from './text.ts';

/** The spans to cut, in order. `array` is the span of an array in a scanned text. */
export function cutElements(
  text: Buffer,
  array: Span,
  isCut: (element: Span, index: number) => boolean,
): readonly Span[] {
  const cuts: Span[] = [];
  let cutStart: number | undefined;
  let keptEnd: number | undefined;
  let lastEnd = array.start + 1;
  let start = firstInside(text, array.start);
  for (let index = 0; text[start] !== closeBracket; index += 1) {
    const end = skipValue(text, start);
    if (isCut({ start, end }, index)) cutStart ??= start;
    else {
      if (cutStart !== undefined) cuts.push({ start: cutStart, end: start });
      cutStart = undefined;
      keptEnd = end;
    }
    lastEnd = end;
    start = nextInside(text, end);
  }
  if (cutStart !== undefined) cuts.push({ start: keptEnd ?? cutStart, end: lastEnd });
  return cuts;
}
