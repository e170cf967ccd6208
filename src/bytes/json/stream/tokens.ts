/**
 * Finds the names and values of one JSON document that arrives in chunks of any size, without
 * buffering it, and captures ranges of it. Validates the structure, but not the spelling of
 * numbers, literals and escapes.
 */

import { parseJson } from '../../../json.ts';
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  isSpace,
  openBrace,
  openBracket,
  quote,
} from '../text.ts';

/** Deeper nesting is treated as a syntax error. */
const maxDepth = 1024;

/** Shorter strings are searched byte by byte; for longer ones a native search is faster. */
const shortStringBytes = 64;

/**
 * Is called for every name and value. Offsets are into the chunk being written, without white
 * space; `depth` is the number of open containers around the name or value.
 */
export interface JsonListener {
  nameBegins(at: number, depth: number): void;
  nameEnds(chunk: Buffer, end: number, depth: number): void;
  /** `first` is the first byte of the value, which determines its kind. */
  valueBegins(first: number, at: number, depth: number): void;
  valueEnds(chunk: Buffer, end: number, depth: number): void;
}

/**
 * What may come next outside a token: `end` is the end of a container, `rest` the white space after
 * the document, and `nothing` the state after a syntax error.
 */
type Expected =
  | 'value'
  | 'value_or_end'
  | 'name'
  | 'name_or_end'
  | 'colon'
  | 'comma_or_end'
  | 'rest'
  | 'nothing';

/**
 * Creates a tokenizer. Everything after a structural error is ignored. With `skipsNumbers`, numbers
 * and literals in arrays are neither reported nor checked, nor the commas between them: in a reply
 * of vectors, finding the end of a list is ten times as fast as finding each number.
 */
export function jsonTokens(listener: JsonListener, { skipsNumbers } = { skipsNumbers: false }) {
  // For every open container, whether it is an object.
  const open: boolean[] = [];
  let expected: Expected = 'value';
  let token:
    | 'none'
    | 'name'
    | 'string'
    | 'escape_in_name'
    | 'escape_in_string'
    | 'word'
    | 'numbers' = 'none';
  // The next quote and backslash in the current chunk at or after the position; -1 if not searched
  // yet.
  let nextQuote = -1;
  let nextBackslash = -1;
  // The same for what may follow the numbers in an array.
  const afterNumbers = [quote, closeBracket, openBracket, openBrace].map((byte) => ({
    byte,
    next: -1,
  }));

  function structure(chunk: Buffer, at: number): void {
    const byte = chunk[at] ?? 0;
    if (isSpace(byte)) return;
    const wantsValue = expected === 'value' || expected === 'value_or_end';
    if (byte === comma && expected === 'comma_or_end') {
      expected = open.at(-1) ? 'name' : 'value';
    } else if (byte === colon && expected === 'colon') {
      expected = 'value';
    } else if (byte === closeBrace || byte === closeBracket) {
      endContainer(chunk, at, byte === closeBrace);
    } else if (byte === quote && (expected === 'name' || expected === 'name_or_end')) {
      token = 'name';
      listener.nameBegins(at, open.length);
    } else if (wantsValue && beginsNumbers(byte)) {
      token = 'numbers';
    } else if (wantsValue) {
      beginValue(byte, at);
    } else {
      expected = 'nothing';
    }
  }

  function beginValue(byte: number, at: number): void {
    const isContainer = byte === openBrace || byte === openBracket;
    if (isContainer ? open.length === maxDepth : byte !== quote && !isWordByte(byte)) {
      expected = 'nothing';
      return;
    }
    const depth = open.length;
    if (isContainer) {
      open.push(byte === openBrace);
      expected = byte === openBrace ? 'name_or_end' : 'value_or_end';
    } else {
      token = byte === quote ? 'string' : 'word';
    }
    listener.valueBegins(byte, at, depth);
  }

  function beginsNumbers(byte: number): boolean {
    return skipsNumbers && open.at(-1) === false && isWordByte(byte);
  }

  /** The end of the numbers, literals, commas and space of an array. */
  function numbers(chunk: Buffer, from: number): number {
    let end = chunk.length;
    for (const stop of afterNumbers) {
      if (stop.next < from) stop.next = indexOrEnd(chunk, stop.byte, from);
      end = Math.min(end, stop.next);
    }
    if (end < chunk.length) {
      token = 'none';
      expected = chunk[end] === closeBracket ? 'comma_or_end' : 'value';
    }
    return end;
  }

  function endContainer(chunk: Buffer, at: number, isObject: boolean): void {
    const empty = isObject ? 'name_or_end' : 'value_or_end';
    if (open.at(-1) !== isObject || (expected !== 'comma_or_end' && expected !== empty)) {
      expected = 'nothing';
      return;
    }
    open.pop();
    endValue(chunk, at + 1);
  }

  function endValue(chunk: Buffer, end: number): void {
    expected = open.length > 0 ? 'comma_or_end' : 'rest';
    listener.valueEnds(chunk, end, open.length);
  }

  function word(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length && isWordByte(chunk[at] ?? 0)) at += 1;
    if (at < chunk.length) {
      token = 'none';
      endValue(chunk, at);
    }
    return at;
  }

  function string(chunk: Buffer, from: number): number {
    const at = stringStop(chunk, from);
    if (at === chunk.length) return at;
    const isName = token === 'name';
    if (chunk[at] === backslash) {
      token = isName ? 'escape_in_name' : 'escape_in_string';
      return at + 1;
    }
    token = 'none';
    if (isName) {
      expected = 'colon';
      listener.nameEnds(chunk, at + 1, open.length);
    } else {
      endValue(chunk, at + 1);
    }
    return at + 1;
  }

  /** The next quote or backslash, or the end. Never searches a byte of a long string twice. */
  function stringStop(chunk: Buffer, from: number): number {
    const short = Math.min(from + shortStringBytes, chunk.length);
    for (let at = from; at < short; at += 1) {
      if (chunk[at] === quote || chunk[at] === backslash) return at;
    }
    if (nextQuote < short) nextQuote = indexOrEnd(chunk, quote, short);
    if (nextBackslash < short) nextBackslash = indexOrEnd(chunk, backslash, short);
    return Math.min(nextQuote, nextBackslash);
  }

  function step(chunk: Buffer, at: number): number {
    switch (token) {
      case 'none':
        structure(chunk, at);
        return at + 1;
      case 'word':
        return word(chunk, at);
      case 'numbers':
        return numbers(chunk, at);
      case 'escape_in_name':
        token = 'name';
        return at + 1;
      case 'escape_in_string':
        token = 'string';
        return at + 1;
      default:
        return string(chunk, at);
    }
  }

  return {
    write(chunk: Buffer): void {
      nextQuote = -1;
      nextBackslash = -1;
      for (const stop of afterNumbers) stop.next = -1;
      let at = 0;
      while (at < chunk.length && expected !== 'nothing') at = step(chunk, at);
    },
    /** Ignores everything from here on. May be called by the listener. */
    stop(): void {
      expected = 'nothing';
    },
    expected: () => expected,
    depth: () => open.length,
    inToken: () => token !== 'none',
    isWhole: () => expected === 'rest' || (token === 'word' && open.length === 0),
  };
}

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const index = chunk.indexOf(byte, from);
  return index === -1 ? chunk.length : index;
}

function isWordByte(byte: number): boolean {
  if (byte >= 0x30 && byte <= 0x39) return true;
  const lower = byte | 0x20;
  return (lower >= 0x61 && lower <= 0x7a) || byte === 0x2b || byte === 0x2d || byte === 0x2e;
}

/** Captures one range at a time; reusable. */
export class RangeCapture {
  readonly #limitBytes: number;
  #start: number | undefined;
  #captured: Uint8Array[] = [];
  #capturedBytes = 0;

  /** @param limitBytes a longer range is dropped while it is still arriving */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** Begins a range at this offset of the current chunk; an unfinished range is dropped. */
  begin(at: number | undefined): void {
    this.#start = at;
    this.#captured = [];
    this.#capturedBytes = 0;
  }

  /** Must be called at the end of each chunk, before the next. */
  endChunk(chunk: Uint8Array): void {
    if (this.#start === undefined) return;
    const length = chunk.length - this.#start;
    if (!this.#fits(length)) return this.begin(undefined);
    // Copied, because the memory of the chunk may be reused.
    this.#captured.push(Uint8Array.prototype.slice.call(chunk, this.#start));
    this.#capturedBytes += length;
    this.#start = 0;
  }

  /** The range up to this offset; undefined if none was begun or it is longer than the limit. */
  finish(chunk: Uint8Array, end: number): string | undefined {
    if (this.#start === undefined) return undefined;
    const last = chunk.subarray(this.#start, end);
    const whole = this.#fits(last.length) ? Buffer.concat([...this.#captured, last]) : undefined;
    this.begin(undefined);
    return whole?.toString();
  }

  /** The string of which the range is the JSON text; undefined for any other text. */
  finishString(chunk: Uint8Array, end: number): string | undefined {
    const text = this.finish(chunk, end);
    const value = text === undefined ? undefined : parseJson(text);
    return typeof value === 'string' ? value : undefined;
  }

  #fits(bytes: number): boolean {
    return this.#capturedBytes + bytes <= this.#limitBytes;
  }
}
