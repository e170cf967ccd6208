/**
 * Collects the ids in a large JSON reply while it streams: the one of the reply, and those of the
 * elements of one of its lists. Memory use does not grow with the reply.
 */
import { parseJson } from '../../../json.ts';
import { asBuffer } from '../../decode.ts';
import { openBrace, openBracket, quote } from '../text.ts';
import { rangeCapture } from './range-capture.ts';
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

interface Position {
  readonly listName: string;
  memberName: string | undefined;
  elementMember: string | undefined;
  isDocument: boolean;
  isInList: boolean;
  isObject: boolean;
  elementId: string | undefined;
  own: string | undefined;
  readonly ids: string[];
}

export function watchIds(listName: string): WatchedIds {
  const name = rangeCapture(limitBytes);
  const text = rangeCapture(limitBytes);
  const position = startOf(listName);
  const tokens = jsonTokens({
    nameBegins: (at, depth) => {
      if (isNamed(position, depth)) name.begin(at);
    },
    nameEnds: (chunk, end, depth) => {
      if (isNamed(position, depth)) takeName(position, depth, name.finish(chunk, end));
    },
    valueBegins: (first, at, depth) => {
      enter(position, depth, first);
      if (first === quote && isId(position, depth)) text.begin(at);
    },
    valueEnds: (chunk, end, depth) => {
      if (isId(position, depth)) takeId(position, depth, text.finish(chunk, end));
      leave(position, depth);
    },
  });
  return {
    write: (chunk) => {
      const bytes = asBuffer(chunk);
      tokens.write(bytes);
      name.endChunk(bytes);
      text.endChunk(bytes);
    },
    own: () => position.own,
    ofElements: () => position.ids,
  };
}

function startOf(listName: string): Position {
  return {
    listName,
    memberName: undefined,
    elementMember: undefined,
    isDocument: false,
    isInList: false,
    isObject: false,
    elementId: undefined,
    own: undefined,
    ids: [],
  };
}

/** Members of the document have depth 1, elements of the list 2, and their members 3. */
function isNamed({ isInList, isObject }: Position, depth: number): boolean {
  return depth === 1 || (isInList && isObject && depth === 3);
}

function isId(position: Position, depth: number): boolean {
  const { isDocument, memberName, elementMember } = position;
  if (!isDocument || !isNamed(position, depth)) return false;
  return (depth === 1 ? memberName : elementMember) === 'id';
}

function takeName(position: Position, depth: number, text: string | undefined): void {
  const name = stringIn(text);
  if (depth === 1) position.memberName = name;
  else position.elementMember = name;
}

function takeId(position: Position, depth: number, text: string | undefined): void {
  const id = stringIn(text);
  if (depth === 1) position.own = id;
  else position.elementId = id;
}

function enter(position: Position, depth: number, first: number): void {
  const { isDocument, memberName, listName } = position;
  if (depth === 0) position.isDocument = first === openBrace;
  if (depth === 1) {
    position.isInList = isDocument && memberName === listName && first === openBracket;
  }
  if (depth === 2) {
    position.isObject = first === openBrace;
    position.elementId = undefined;
  }
}

function leave(position: Position, depth: number): void {
  const { isInList, elementId, ids } = position;
  if (depth === 2 && isInList && elementId !== undefined && ids.length < maxElements) {
    ids.push(elementId);
  }
  if (depth === 1) position.isInList = false;
}

function stringIn(text: string | undefined): string | undefined {
  const value = text === undefined ? undefined : parseJson(text);
  return typeof value === 'string' ? value : undefined;
}
