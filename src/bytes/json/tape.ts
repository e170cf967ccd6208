/**
 * A scanned JSON text with the place of each of its values. Readers go from value to value, and
 * never pass the bytes between them again: a body of 5 MB is mostly one image, and only a few short
 * members decide how a call is handled.
 */
import { type Body, originalBytes, originalLength } from '../body/body.ts';
import { decodeString } from '../decode.ts';
import { backslash, openBrace, openBracket, quote } from './text.ts';
import { closingQuote, wordAt } from './words.ts';

/** A value of a tape: the number of its first cell. */
export type Value = number;

export const none: Value = -1;
export const root: Value = 0;

/** Above every value of a tape. */
const beyond: Value = 0x3fffffff;

/** A value has four cells. The first one has the offset of its first byte. */
export const cellsPerValue = 4;
/** The cell with the offset after the value's last byte. */
export const endCell = 1;
/** The cell with the value after this one and all that is in it. */
export const afterCell = 2;
/** The cell with the offset of the quote before a member's name. */
export const nameCell = 3;

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** Longer strings are no words: neither types nor names, ids or roles. */
export const maxShortBytes = 2048;

/** The values of a text, in its order. An object or array is followed by what is in it. */
export class Tape {
  readonly body: Body;
  readonly bytes: Buffer;
  readonly definesTools: boolean;
  readonly #cells: Int32Array;

  constructor(body: Body, cells: Int32Array, definesTools: boolean) {
    this.body = body;
    this.bytes = body.text;
    this.definesTools = definesTools;
    this.#cells = cells;
  }

  /** What it takes in memory besides the text. */
  get byteLength(): number {
    return this.#cells.byteLength;
  }

  /** The number of values in the root, at all depths. */
  get count(): number {
    return this.#cells.length / cellsPerValue - 1;
  }

  // What is asked of every value reads the cells itself: in cold code each call of a method counts.

  start(value: Value): number {
    return this.#cells[value] ?? 0;
  }

  end(value: Value): number {
    return this.#cells[value + endCell] ?? 0;
  }

  /** The value that follows this one in the text: the first one in it, if it has any. */
  first(value: Value): Value {
    return value + cellsPerValue;
  }

  /** The value after this one and all that is in it. */
  after(value: Value): Value {
    return this.#cells[value + afterCell] ?? 0;
  }

  /**
   * The first member of an object. It is not below `after(object)` if the object is empty, and
   * never for a value of another kind or `none`.
   */
  firstMember(object: Value): Value {
    const isObject = object !== none && this.bytes[this.#cells[object] ?? 0] === openBrace;
    return isObject ? object + cellsPerValue : beyond;
  }

  firstElement(array: Value): Value {
    const isArray = array !== none && this.bytes[this.#cells[array] ?? 0] === openBracket;
    return isArray ? array + cellsPerValue : beyond;
  }

  /**
   * The members of an object; empty for another value. It makes a list: what runs for each part of
   * a prompt goes from `firstMember` to `after` instead.
   */
  members(object: Value): readonly Value[] {
    return this.#list(this.firstMember(object), object);
  }

  elements(array: Value): readonly Value[] {
    return this.#list(this.firstElement(array), array);
  }

  #list(first: Value, container: Value): readonly Value[] {
    const values: Value[] = [];
    const end = this.after(container);
    for (let value = first; value < end; value = this.after(value)) values.push(value);
    return values;
  }

  kind(value: Value): JsonKind {
    switch (this.bytes[this.#cells[value] ?? 0]) {
      case openBrace:
        return 'object';
      case openBracket:
        return 'array';
      case quote:
        return 'string';
      case 0x74:
      case 0x66:
        return 'boolean';
      case 0x6e:
        return 'null';
      default:
        return 'number';
    }
  }

  isObject(value: Value): boolean {
    return this.bytes[this.#cells[value] ?? 0] === openBrace;
  }

  isArray(value: Value): boolean {
    return this.bytes[this.#cells[value] ?? 0] === openBracket;
  }

  isString(value: Value): boolean {
    return this.bytes[this.#cells[value] ?? 0] === quote;
  }

  isNull(value: Value): boolean {
    return this.bytes[this.#cells[value] ?? 0] === 0x6e;
  }

  name(value: Value): string {
    return wordAt(this.bytes, this.#cells[value + nameCell] ?? 0);
  }

  /** The offset of the quote before a member's name; 0 for an element and for the root. */
  nameStart(value: Value): number {
    return this.#cells[value + nameCell] ?? 0;
  }

  nameEnd(value: Value): number {
    return closingQuote(this.bytes, this.nameStart(value) + 1) + 1;
  }

  isNamed(value: Value, name: string): boolean {
    const { bytes } = this;
    const start = (this.#cells[value + nameCell] ?? 0) + 1;
    for (let index = 0; index < name.length; index += 1) {
      const byte = bytes[start + index] ?? 0;
      if (byte >= 0x80 || byte === backslash) return this.name(value) === name;
      if (byte !== name.charCodeAt(index)) return false;
    }
    return bytes[start + name.length] === quote;
  }

  /** The member of an object with this decoded name; `none` if there is none. */
  get(object: Value, name: string): Value {
    const cells = this.#cells;
    const end = cells[object + afterCell] ?? 0;
    let value = this.firstMember(object);
    while (value < end && !this.isNamed(value, name)) value = cells[value + afterCell] ?? end;
    return value < end ? value : none;
  }

  /** As {@link get}, for a member that is not null. */
  present(object: Value, name: string): Value {
    const value = this.get(object, name);
    return value === none || this.isNull(value) ? none : value;
  }

  text(string: Value): string {
    return decodeString(this.bytes, this.start(string) + 1, this.end(string) - 1);
  }

  /** The text of a short string; undefined for anything else, also for `none`. */
  shortText(value: Value): string | undefined {
    if (value === none) return undefined;
    const start = this.#cells[value] ?? 0;
    const length = (this.#cells[value + endCell] ?? 0) - start;
    if (this.bytes[start] !== quote || length > maxShortBytes) return undefined;
    return wordAt(this.bytes, start);
  }

  /** The size of the value as it was sent, with its elided bytes. */
  length(value: Value): number {
    return originalLength(this.body, this.start(value), this.end(value));
  }

  raw(value: Value): Buffer {
    return originalBytes(this.body, this.start(value), this.end(value));
  }
}
