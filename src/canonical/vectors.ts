/**
 * The vectors of an embedding reply, and their forms on the wire. OpenAI's APIs write a vector as a
 * list of numbers or as Base64 of its 32-bit floats, little endian; Google's only as a list.
 */
import { parseBounded } from '../bounded-json.ts';
import { items } from '../json.ts';

/**
 * A vector as floats or, if its numbers are to be passed on digit for digit, as the text in which
 * the upstream wrote them.
 */
export type Vector = Float32Array | NumberText;

/**
 * A list of numbers as the upstream wrote them, without white space. Each character is one of
 * sixteen and takes four bits: a reply of 2,048 vectors is kept whole before anything of it is
 * passed on, and its text would be twice as large.
 */
export interface NumberText {
  readonly length: number;
  readonly characters: number;
  readonly packed: Uint8Array;
}

export interface VectorForm {
  readonly keepsText: boolean;
  /** Vectors are scaled to unit length, so their numbers are computed and not kept as text. */
  readonly scalesToUnitLength: boolean;
}

/**
 * Reads a vector from the JSON text of a list of numbers or of a Base64 string; undefined if it is
 * neither, is empty, or has a number that no 32-bit float can hold.
 */
export function readVector(json: string, form: VectorForm): Vector | undefined {
  const value = parseBounded(json);
  if (typeof value === 'string') {
    const floats = floatsFromBase64(value);
    return floats !== undefined && form.scalesToUnitLength ? ofUnitLength(floats) : floats;
  }
  const numbers = finiteNumbers(items(value));
  if (numbers === undefined) return undefined;
  if (form.scalesToUnitLength) return ofUnitLength(numbers);
  return form.keepsText ? packed(json, numbers.length) : Float32Array.from(numbers);
}

function finiteNumbers(values: readonly unknown[]): readonly number[] | undefined {
  if (values.length === 0) return undefined;
  const numbers: number[] = [];
  for (const value of values) {
    if (typeof value !== 'number' || !Number.isFinite(Math.fround(value))) return undefined;
    numbers.push(value);
  }
  return numbers;
}

const base64Text = /^[A-Za-z0-9+/]+={0,2}$/;
const floatBytes = 4;

function floatsFromBase64(text: string): Float32Array | undefined {
  if (!base64Text.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || bytes.length % floatBytes !== 0) return undefined;
  const floats = new Float32Array(bytes.length / floatBytes);
  for (let index = 0; index < floats.length; index += 1) {
    const float = bytes.readFloatLE(index * floatBytes);
    if (!Number.isFinite(float)) return undefined;
    floats[index] = float;
  }
  return floats;
}

/** A vector of zeros has no direction and stays unchanged. */
function ofUnitLength(numbers: ArrayLike<number>): Float32Array {
  const floats = Float32Array.from(numbers);
  let sum = 0;
  for (let index = 0; index < numbers.length; index += 1) sum += (numbers[index] ?? 0) ** 2;
  const norm = Math.sqrt(sum);
  if (norm === 0) return floats;
  for (let index = 0; index < floats.length; index += 1) {
    floats[index] = (numbers[index] ?? 0) / norm;
  }
  return floats;
}

export function vectorBytes(vector: Vector): number {
  return isFloats(vector) ? vector.byteLength : vector.packed.byteLength;
}

export function base64Of(vector: Vector): string {
  const floats = isFloats(vector) ? vector : floatsIn(vector);
  const bytes = Buffer.allocUnsafe(floats.length * floatBytes);
  for (let index = 0; index < floats.length; index += 1) {
    bytes.writeFloatLE(floats[index] ?? 0, index * floatBytes);
  }
  return bytes.toString('base64');
}

/** Nine digits are the fewest from which every 32-bit float can be read back. */
const floatDigits = 9;

export function numberList(vector: Vector): string {
  if (!isFloats(vector)) return `[${unpacked(vector)}]`;
  const texts: string[] = [];
  for (const float of vector) texts.push(float.toPrecision(floatDigits));
  return `[${texts.join(',')}]`;
}

function isFloats(vector: Vector): vector is Float32Array {
  return vector instanceof Float32Array;
}

function floatsIn(text: NumberText): Float32Array {
  return Float32Array.from(finiteNumbers(items(parseBounded(numberList(text)))) ?? []);
}

/** All characters of a list of numbers. The place of each is its code of four bits. */
const alphabet = Buffer.from('0123456789-+.eE,');
const noCode = 16;
const codes: Uint8Array = codesOf(alphabet);

function codesOf(characters: Uint8Array): Uint8Array {
  const table = new Uint8Array(256).fill(noCode);
  for (const [code, character] of characters.entries()) table[character] = code;
  return table;
}

/** @param json a list of numbers; its brackets and white space have no code and are left out */
function packed(json: string, length: number): NumberText {
  const text = Buffer.from(json, 'latin1');
  let characters = 0;
  for (const byte of text) {
    const code = codes[byte] ?? noCode;
    if (code === noCode) continue;
    text[characters] = code;
    characters += 1;
  }
  const pairs = new Uint8Array(Math.ceil(characters / 2));
  for (let index = 0; index < characters; index += 2) {
    const second = index + 1 < characters ? (text[index + 1] ?? 0) : 0;
    pairs[index / 2] = ((text[index] ?? 0) << 4) | second;
  }
  return { length, characters, packed: pairs };
}

function unpacked({ characters, packed: pairs }: NumberText): string {
  const text = Buffer.allocUnsafe(pairs.length * 2);
  let at = 0;
  for (const pair of pairs) {
    text[at] = alphabet[pair >> 4] ?? 0;
    text[at + 1] = alphabet[pair & 0xf] ?? 0;
    at += 2;
  }
  return text.toString('latin1', 0, characters);
}
