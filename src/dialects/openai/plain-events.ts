/**
 * Recognises, with a few searches, events of a relayed chat stream that can be passed on unchanged.
 */

const dataMark = 'data:';
const choicesName = '"choices"';
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * Returns the end of the run of plain events that starts at `start`, given whole events as latin1.
 * A plain event is one data line with an object that has `choices`, and a blank line. Any other
 * event must be inspected.
 */
export function plainEnd(text: string, start: number): number {
  let choicesAt = -1;
  for (let at = start; at < text.length; ) {
    const lineEnd = text.indexOf('\n', at);
    const end = endOfPlainEvent(text, at, lineEnd);
    if (end === -1) return at;
    // The last search may already have found the name in this event.
    if (choicesAt < at) choicesAt = text.indexOf(choicesName, at);
    if (choicesAt === -1 || choicesAt > lineEnd) return at;
    at = end;
  }
  return text.length;
}

/**
 * Returns the end of the event whose only line ends at `lineEnd`, or -1 if the event is not plain.
 */
function endOfPlainEvent(text: string, at: number, lineEnd: number): number {
  if (lineEnd === -1 || !text.startsWith(dataMark, at)) return -1;
  const first = at + dataMark.length;
  if (text.charCodeAt(text.charCodeAt(first) === space ? first + 1 : first) !== openBrace)
    return -1;
  const hasReturn = text.charCodeAt(lineEnd - 1) === carriageReturn;
  if (text.charCodeAt(hasReturn ? lineEnd - 2 : lineEnd - 1) !== closeBrace) return -1;
  if (!hasReturn) return text.charCodeAt(lineEnd + 1) === lineFeed ? lineEnd + 2 : -1;
  const isBlank =
    text.charCodeAt(lineEnd + 1) === carriageReturn && text.charCodeAt(lineEnd + 2) === lineFeed;
  return isBlank ? lineEnd + 3 : -1;
}
