/** Walks JSON values of any depth without recursion: how deep they are the caller chooses. */
import { GatewayError } from '../errors.ts';
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  invalidJson,
  type JsonText,
  openBrace,
  openBracket,
  quote,
  scalarEnd,
  spaceEnd,
  stringEnd,
} from './json-text.ts';
import { type MemberNames, memberNames } from './member-names.ts';

/** Deeper nesting is refused: recursive code further down the road would overflow its stack. */
const maxDepth = 64;
const maxValues = 500_000;

/** Goes through the values of one object, one after another. */
export interface JsonWalk {
  /** Where the value that begins at `at` ends. Its limits hold for all values of one walk. */
  valueEnd(at: number): number;
}

/** A walk through the values of one object, which is the first level of depth itself. */
export function jsonWalk(text: JsonText): JsonWalk {
  const { bytes } = text;
  // The containers around the place we are at: the names of an object, undefined for an array.
  const open: (MemberNames | undefined)[] = [];
  const namesByDepth: MemberNames[] = [];
  let values = 0;

  /** Enters containers up to the first scalar and passes it, or up to the end of an empty one. */
  function descend(start: number): number {
    let at = start;
    for (;;) {
      values += 1;
      if (values > maxValues) throw tooManyValues();
      const first = bytes[at];
      if (first !== openBrace && first !== openBracket) return scalarEnd(text, at);
      enter(first, at);
      at = spaceEnd(bytes, at + 1);
      if (bytes[at] === closing()) return at;
      at = valueStart(at);
    }
  }

  /** Leaves containers up to the next value's beginning, or the outermost one's end. */
  function ascend(start: number): number {
    let at = start;
    while (open.length > 0) {
      at = spaceEnd(bytes, at);
      if (bytes[at] === comma) return valueStart(spaceEnd(bytes, at + 1));
      if (bytes[at] !== closing()) throw invalidJson(at);
      open.pop();
      at += 1;
    }
    return at;
  }

  function enter(first: number, at: number): void {
    // The object walked through is a level too.
    if (open.length + 1 === maxDepth) throw tooDeep(at);
    if (first === openBracket) {
      open.push(undefined);
      return;
    }
    const names = namesByDepth[open.length] ?? memberNames(bytes);
    namesByDepth[open.length] = names;
    names.clear();
    open.push(names);
  }

  function closing(): number {
    return open.at(-1) === undefined ? closeBracket : closeBrace;
  }

  function valueStart(at: number): number {
    const names = open.at(-1);
    return names === undefined ? at : afterColon(bytes, nameEnd(text, at, names));
  }

  return {
    valueEnd(start) {
      let at = start;
      do {
        at = ascend(descend(at));
      } while (open.length > 0);
      return at;
    },
  };
}

/**
 * Where the member's name that begins at `at` ends, past its closing quote.
 *
 * @throws GatewayError what {@link MemberNames.add} throws
 */
export function nameEnd(text: JsonText, at: number, names: MemberNames): number {
  if (text.bytes[at] !== quote) throw invalidJson(at);
  const end = stringEnd(text, at);
  names.add(at + 1, end - 1);
  return end;
}

/** Where the value begins, past the colon that follows a name. */
export function afterColon(bytes: Uint8Array, at: number): number {
  const end = spaceEnd(bytes, at);
  if (bytes[end] !== colon) throw invalidJson(end);
  return spaceEnd(bytes, end + 1);
}

function tooDeep(at: number): GatewayError {
  return new GatewayError(
    'invalid_request',
    `The request body is nested deeper than ${maxDepth} levels at byte ${at}. Flatten it.`,
    { reason: 'too_deep' },
  );
}

function tooManyValues(): GatewayError {
  return new GatewayError(
    'invalid_request',
    `The request body has more than ${maxValues} values. Send fewer.`,
    { reason: 'too_many_values' },
  );
}
