/** The names seen so far in one JSON object, so that the second of two equal ones is refused. */
import { GatewayError } from '../../../errors.ts';
import { decodeString } from '../../decode.ts';
import { invalidJson, type JsonText, plainEnd, quote, stringEnd } from '../text.ts';

/** More members than this in one object are refused: so many names are an attack on hash tables. */
const maxMembers = 10_000;

/**
 * A longer name, in bytes, is refused: V8 hashes strings past 16,383 characters by their length
 * alone, so that two thousand of them in a body of 32 MiB cost seconds.
 */
const maxNameBytes = 4096;

/** Up to here names are compared as bytes, in place; past it a set of decoded names is quicker. */
const maxNamesInPlace = 16;
const maxBytesInPlace = 64;

/**
 * The names of one object, and then of another: many small ones need no memory each. Only the
 * functions below change it.
 */
export interface MemberNames {
  count: number;
  /** Two entries a name: where it starts and where it ends. Those past `count` are left over. */
  readonly inPlace: number[];
  /** All names, once one of them can't be compared in place. */
  decoded: Set<string> | undefined;
}

/** No names yet. */
export function memberNames(): MemberNames {
  return { count: 0, inPlace: [], decoded: undefined };
}

/** Forgets all names: another object begins. */
export function clearNames(names: MemberNames): void {
  names.count = 0;
  names.decoded = undefined;
}

/**
 * Adds the member's name that begins at `at`, and gives where it ends, past its closing quote.
 *
 * @throws GatewayError `invalid_request` with the reason `duplicate_key` where the object has this
 *   name already, however it is escaped; `name_too_long`; `too_many_values` past 10,000
 */
export function addName(names: MemberNames, text: JsonText, at: number): number {
  const { bytes } = text;
  if (bytes[at] !== quote) throw invalidJson(at);
  const start = at + 1;
  const plain = plainEnd(bytes, start);
  const isPlain = bytes[plain] === quote;
  const end = isPlain ? plain : stringEnd(text, at) - 1;

  if (names.count === maxMembers) throw tooManyMembers();
  if (end - start > maxNameBytes) throw nameTooLong(start);
  const isShort = end - start <= maxBytesInPlace && names.count < maxNamesInPlace;
  const inPlace = isPlain && isShort && names.decoded === undefined;
  const isNew = inPlace
    ? addInPlace(names, bytes, start, end)
    : addDecoded(names, bytes, start, end);
  if (!isNew) throw duplicateName(start);
  names.count += 1;
  return end + 1;
}

function addInPlace(
  { inPlace, count }: MemberNames,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  for (let index = 0; index < 2 * count; index += 2) {
    const other = inPlace[index] ?? 0;
    const isAsLong = (inPlace[index + 1] ?? 0) - other === end - start;
    if (isAsLong && sameBytes(bytes, other, start, end)) return false;
  }
  inPlace[2 * count] = start;
  inPlace[2 * count + 1] = end;
  return true;
}

function sameBytes(bytes: Uint8Array, other: number, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    if (bytes[at] !== bytes[other + at - start]) return false;
  }
  return true;
}

function addDecoded(names: MemberNames, bytes: Uint8Array, start: number, end: number): boolean {
  names.decoded ??= decodeAll(names, bytes);
  names.decoded.add(decodeString(bytes, start, end));
  return names.decoded.size > names.count;
}

function decodeAll({ inPlace, count }: MemberNames, bytes: Uint8Array): Set<string> {
  const names = new Set<string>();
  for (let index = 0; index < 2 * count; index += 2) {
    names.add(decodeString(bytes, inPlace[index] ?? 0, inPlace[index + 1] ?? 0));
  }
  return names;
}

function duplicateName(start: number): GatewayError {
  return new GatewayError(
    'invalid_request',
    `The request body names a member twice in one object, at byte ${start}. Send each name once.`,
    { reason: 'duplicate_key' },
  );
}

function nameTooLong(start: number): GatewayError {
  return new GatewayError(
    'invalid_request',
    `The name of a member at byte ${start} is longer than ${maxNameBytes} bytes. Shorten it.`,
    { reason: 'name_too_long' },
  );
}

function tooManyMembers(): GatewayError {
  return new GatewayError(
    'invalid_request',
    `An object in the request body has more than ${maxMembers} members. Send fewer.`,
    { reason: 'too_many_values' },
  );
}
