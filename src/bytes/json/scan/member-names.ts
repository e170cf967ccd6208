/** Reads the member names of a JSON object: refuses duplicates, and notes definitions of tools. */
import { GatewayError } from '../../../errors.ts';
import { decodeString } from '../../decode.ts';
import { invalidJson, type JsonText, plainEnd, quote, stringEnd } from '../text.ts';
import { isWordAt } from '../words.ts';

/** The maximum number of members in one object: more would be an attack on hash tables. */
const maxMembers = 10_000;

/**
 * The maximum length of a name, in bytes. V8 hashes strings longer than 16,383 characters by their
 * length alone, so two thousand such names in a body of 32 MiB would take seconds to compare.
 */
const maxNameBytes = 4096;

export const definitionNames: readonly string[] = ['tools', 'tool', 'definition', 'definitions'];
const lowerT = 0x74;
const lowerD = 0x64;

/** Up to these limits names are compared as bytes; above them a set of decoded names is faster. */
const maxNamesInPlace = 16;
const maxBytesInPlace = 64;

/** Reused for other objects, so that many small ones take no extra memory. */
export interface MemberNames {
  count: number;
  /** The start and end of each name. Entries past `count` are stale. */
  readonly inPlace: number[];
  /** All names, decoded, once one of them can't be compared as bytes. */
  decoded: Set<string> | undefined;
  /** An object at this depth has had one of `definitionNames`. */
  definesTools: boolean;
}

export function namesAt(namesByDepth: MemberNames[], depth: number): MemberNames {
  const known = namesByDepth[depth];
  if (known !== undefined) {
    known.count = 0;
    known.decoded = undefined;
    return known;
  }
  const names: MemberNames = { count: 0, inPlace: [], decoded: undefined, definesTools: false };
  namesByDepth[depth] = names;
  return names;
}

/**
 * Adds the name at `at`, and returns its end, past the closing quote.
 *
 * @throws GatewayError `invalid_request` with the reason `duplicate_key` if the object already has
 * this name, however it is escaped; `name_too_long`; `too_many_values` above 10,000 members
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
  const { count, inPlace, decoded } = names;
  const isShort = end - start <= maxBytesInPlace && count < maxNamesInPlace;
  if (isPlain && isShort && decoded === undefined) {
    for (let index = 0; index < 2 * count; index += 2) {
      const other = inPlace[index] ?? 0;
      const isAsLong = (inPlace[index + 1] ?? 0) - other === end - start;
      if (isAsLong && sameBytes(bytes, other, start, end)) throw duplicateName(start);
    }
    inPlace[2 * count] = start;
    inPlace[2 * count + 1] = end;
  } else if (!addDecoded(names, bytes, start, end)) throw duplicateName(start);
  names.count += 1;
  const first = bytes[start];
  if (!isPlain) names.definesTools ||= definitionNames.includes(decodeString(bytes, start, end));
  else if (first === lowerT || first === lowerD) {
    names.definesTools ||= isDefinition(bytes, start, end);
  }
  return end + 1;
}

function isDefinition(bytes: Buffer, start: number, end: number): boolean {
  for (const name of definitionNames) {
    const isAsLong = name.length === end - start;
    if (isAsLong && isWordAt(bytes, start, name)) return true;
  }
  return false;
}

function sameBytes(bytes: Uint8Array, other: number, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    if (bytes[at] !== bytes[other + at - start]) return false;
  }
  return true;
}

function addDecoded(names: MemberNames, bytes: Buffer, start: number, end: number): boolean {
  names.decoded ??= decodeAll(names, bytes);
  names.decoded.add(decodeString(bytes, start, end));
  return names.decoded.size > names.count;
}

function decodeAll({ inPlace, count }: MemberNames, bytes: Buffer): Set<string> {
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
    { reason: 'duplicate_key', atByte: start },
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
