/** Tells events of a relayed chat stream that may go on as they are by a few searches. */
import { beginsWith } from '../../bytes/sse.ts';

const dataMark = Buffer.from('data:');
const choicesName = Buffer.from('"choices"');
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * How many bytes of whole events, from the first on, are plain: each one line of data with an
 * object that has `choices`, and a blank line. Whatever else there is must be looked into.
 */
export function plainLength(block: Buffer): number {
  let choicesAt = -1;
  for (let at = 0; at < block.length; ) {
    const lineEnd = block.indexOf(lineFeed, at);
    const end = plainEnd(block, at, lineEnd);
    if (end === -1) return at;
    // What an earlier event lacked was found behind it.
    if (choicesAt < at) choicesAt = block.indexOf(choicesName, at);
    if (choicesAt === -1 || choicesAt > lineEnd) return at;
    at = end;
  }
  return block.length;
}

/** Where the event ends whose one line ends at `lineEnd`, -1 where it is not plain. */
function plainEnd(block: Buffer, at: number, lineEnd: number): number {
  if (lineEnd === -1 || !beginsWith(block, at, dataMark)) return -1;
  const first = at + dataMark.length;
  if (block[block[first] === space ? first + 1 : first] !== openBrace) return -1;
  const hasReturn = block[lineEnd - 1] === carriageReturn;
  if (block[hasReturn ? lineEnd - 2 : lineEnd - 1] !== closeBrace) return -1;
  if (!hasReturn) return block[lineEnd + 1] === lineFeed ? lineEnd + 2 : -1;
  return block[lineEnd + 1] === carriageReturn && block[lineEnd + 2] === lineFeed
    ? lineEnd + 3
    : -1;
}
