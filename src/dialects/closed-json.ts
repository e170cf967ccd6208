/** Completes JSON that was cut off, so that what arrived of it can be read. */
import { stringEnd } from '../json-strings.ts';

/** Returns the text without its last unfinished member or number, with all brackets closed. */
export function closedJson(text: string): string {
  const marks = /["{}[\],]/g;
  const open: string[] = [];
  /** The end of the last complete value. */
  let whole = 0;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    const at = mark.index;
    const sign = mark[0];
    if (sign === '"') {
      const end = stringEnd(text, at + 1);
      const isText = isValue(text, at, open.at(-1));
      if (end === text.length) {
        return (isText ? closedString(text) : text.slice(0, whole)) + closing(open);
      }
      // The text may end directly after the value, before the comma or bracket that follows it.
      if (isText) whole = end + 1;
      marks.lastIndex = end + 1;
      continue;
    }
    if (sign === '{' || sign === '[') open.push(sign === '{' ? '}' : ']');
    else if (sign !== ',') open.pop();
    whole = sign === ',' ? at : at + 1;
  }
  return text.slice(0, whole) + closing(open);
}

function closing(open: readonly string[]): string {
  return [...open].reverse().join('');
}

/** A string is a value after a colon, and anywhere in an array. */
function isValue(text: string, at: number, closer: string | undefined): boolean {
  return (
    closer === ']' ||
    text
      .slice(Math.max(0, at - 64), at)
      .trimEnd()
      .endsWith(':')
  );
}

/** Ends a string, without an escape that was cut off. */
function closedString(text: string): string {
  const escapeAt = text.lastIndexOf('\\', text.length - 1);
  let first = escapeAt;
  while (first > 0 && text.charCodeAt(first - 1) === 0x5c) first -= 1;
  const begins = escapeAt !== -1 && (escapeAt - first) % 2 === 0;
  const isCut = begins && /^\\(?:u[0-9a-fA-F]{0,3})?$/.test(text.slice(escapeAt));
  return `${isCut ? text.slice(0, escapeAt) : text}"`;
}
