/**
 * Replaces and removes elements of a JSON array in its bytes. All other elements, and the space
 * around them, are kept byte for byte.
 */
import { type Body, originalBytes } from '../body/body.ts';
import { firstInside, nextInside, skipValue } from './read/skip.ts';
import type { Span } from './scan/scan.ts';
import { closeBracket } from './text.ts';

/** The JSON text that replaces an element; undefined removes it. By the element's index. */
export type ElementEdits = ReadonlyMap<number, string | undefined>;

/** The edited array as JSON text. `array` is its span in the body's text. */
export function editElements(body: Body, array: Span, edits: ElementEdits): string {
  const { text } = body;
  const kept: string[] = [];
  // From after a bracket or a comma up to the next one: the element and the space around it.
  let from = array.start + 1;
  let start = firstInside(text, array.start);
  for (let index = 0; text[start] !== closeBracket; index += 1) {
    const end = skipValue(text, start);
    const next = nextInside(text, end);
    const isLast = text[next] === closeBracket;
    const to = isLast ? next : text.indexOf(',', end);
    if (!edits.has(index)) kept.push(textOf(body, from, to));
    else {
      const replacement = edits.get(index);
      if (replacement !== undefined) {
        kept.push(textOf(body, from, start) + replacement + textOf(body, end, to));
      }
    }
    from = to + 1;
    start = next;
  }
  return `[${kept.join(',')}]`;
}

function textOf(body: Body, start: number, end: number): string {
  return originalBytes(body, start, end).toString('utf8');
}
