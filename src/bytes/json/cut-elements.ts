/**
 * Finds the spans to cut from a JSON array so that some of its elements are removed. Each span
 * includes the comma and the space after the elements or, at the end of the array, before them. All
 * other bytes stay.
 */

import type { Tape, Value } from './tape.ts';
import type { Span } from './text.ts';

/** The spans to cut, in order; none if the value is no array. */
export function cutElements(
  tape: Tape,
  array: Value,
  isCut: (element: Value, index: number) => boolean,
): readonly Span[] {
  const cuts: Span[] = [];
  let cutStart: number | undefined;
  let keptEnd: number | undefined;
  let lastEnd = 0;
  for (const [index, element] of tape.elements(array).entries()) {
    const start = tape.start(element);
    lastEnd = tape.end(element);
    if (isCut(element, index)) cutStart ??= start;
    else {
      if (cutStart !== undefined) cuts.push({ start: cutStart, end: start });
      cutStart = undefined;
      keptEnd = lastEnd;
    }
  }
  if (cutStart !== undefined) cuts.push({ start: keptEnd ?? cutStart, end: lastEnd });
  return cuts;
}
