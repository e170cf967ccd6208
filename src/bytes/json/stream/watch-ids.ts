/**
 * Collects the ids in a large JSON reply while it streams: the one of the reply, and those of the
 * elements of one of its lists. Memory use does not grow with the reply.
 */
import { asBuffer } from '../../decode.ts';
import { openBrace, openBracket, quote } from '../text.ts';
import { RangeCapture } from './range-capture.ts';
import { jsonTokens } from './tokens.ts';

export interface WatchedIds {
  write(chunk: Uint8Array): void;
  /** The member `id` of the document. */
  own(): string | undefined;
  /** The members `id` of the elements that are complete. */
  ofElements(): readonly string[];
}

/** Names and ids are short; a longer one is not read. */
const limitBytes = 1_024;
/** Far more elements than any real reply has. */
const maxElements = 10_000;

export function watchIds(listName: string): WatchedIds {
  const name = new RangeCapture(limitBytes);
  const text = new RangeCapture(limitBytes);
  const ids: string[] = [];
  // The last names and ids, by depth: the document's members have 1, those of an element 3.
  const names: (string | undefined)[] = [];
  const found: (string | undefined)[] = [];
  let isDocument = false;
  let isInList = false;
  let isObject = false;

  const isNamed = (depth: number): boolean => depth === 1 || (isInList && isObject && depth === 3);
  const isId = (depth: number): boolean => isDocument && isNamed(depth) && names[depth] === 'id';

  const tokens = jsonTokens({
    nameBegins: (at, depth) => {
      if (isNamed(depth)) name.begin(at);
    },
    nameEnds: (chunk, end, depth) => {
      if (isNamed(depth)) names[depth] = name.finishString(chunk, end);
    },
    valueBegins: (first, at, depth) => {
      if (depth === 0) isDocument = first === openBrace;
      if (depth === 1) isInList = isDocument && names[1] === listName && first === openBracket;
      if (depth === 2) {
        isObject = first === openBrace;
        found[3] = undefined;
      }
      if (first === quote && isId(depth)) text.begin(at);
    },
    valueEnds: (chunk, end, depth) => {
      if (isId(depth)) found[depth] = text.finishString(chunk, end);
      const id = found[3];
      if (depth === 2 && isInList && id !== undefined && ids.length < maxElements) ids.push(id);
      if (depth === 1) isInList = false;
    },
  });
  return {
    write: (chunk) => {
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      name.endChunk(bytes);
      text.endChunk(bytes);
    },
    own: () => found[1],
    ofElements: () => ids,
  };
}
