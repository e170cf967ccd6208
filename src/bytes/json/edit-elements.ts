/**
 * Replaces and removes elements of a JSON array in its bytes. All other elements, and the space
 * around them, are kept byte for byte.
 */
import { type Body, originalBytes } from '../body/body.ts';
import type { Tape, Value } from './tape.ts';

export function editElements(
  tape: Tape,
  array: Value,
  edits: ReadonlyMap<number, string | undefined>,
): string {
  const { body, bytes } = tape;
  const kept: string[] = [];
  const elements = tape.elements(array);
  // From after a bracket or a comma up to the next one: the element and the space around it.
  let from = tape.start(array) + 1;
  for (const [index, element] of elements.entries()) {
    const start = tape.start(element);
    const end = tape.end(element);
    const isLast = index === elements.length - 1;
    const to = isLast ? tape.end(array) - 1 : bytes.indexOf(',', end);
    if (!edits.has(index)) kept.push(textOf(body, from, to));
    else {
      const replacement = edits.get(index);
      if (replacement !== undefined) {
        kept.push(textOf(body, from, start) + replacement + textOf(body, end, to));
      }
    }
    from = to + 1;
  }
  return `[${kept.join(',')}]`;
}

function textOf(body: Body, start: number, end: number): string {
  return originalBytes(body, start, end).toString('utf8');
}
