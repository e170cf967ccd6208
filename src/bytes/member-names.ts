/** The names seen so far in one JSON object, so that the second of two equal ones is refused. */
import { GatewayError } from '../errors.ts';
import { decodeString } from './decode.ts';
import { backslash } from './json-text.ts';

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

/** The names of one object. */
export interface MemberNames {
  /** Forgets all names: another object begins. */
  clear(): void;
  /**
   * Adds the name between two quotes; `start` and `end` leave the quotes out.
   *
   * @throws GatewayError `invalid_request` with the reason `duplicate_key` where the object has
   *   this name already, however it is escaped; `name_too_long`; `too_many_values` past 10,000
   */
  add(start: number, end: number): void;
}

/** Serves one object after another, so that many small ones need no memory each. */
export function memberNames(bytes: Uint8Array): MemberNames {
  // Two entries a name: where it starts and where it ends.
  const inPlace: number[] = [];
  let decoded: Set<string> | undefined;
  let count = 0;

  function decodeAll(): Set<string> {
    const names = new Set<string>();
    for (let index = 0; index < inPlace.length; index += 2) {
      names.add(decodeString(bytes, inPlace[index] ?? 0, inPlace[index + 1] ?? 0));
    }
    return names;
  }

  function isInPlace(start: number, end: number): boolean {
    for (let index = 0; index < inPlace.length; index += 2) {
      if (sameBytes(bytes, inPlace[index] ?? 0, inPlace[index + 1] ?? 0, start, end)) return true;
    }
    return false;
  }

  return {
    clear() {
      inPlace.length = 0;
      decoded = undefined;
      count = 0;
    },
    add(start, end) {
      count += 1;
      if (count > maxMembers) throw tooManyMembers();
      if (end - start > maxNameBytes) throw nameTooLong(start);
      if (decoded === undefined && count <= maxNamesInPlace && isPlain(bytes, start, end)) {
        if (isInPlace(start, end)) throw duplicateName(start);
        inPlace.push(start, end);
        return;
      }
      decoded ??= decodeAll();
      decoded.add(decodeString(bytes, start, end));
      if (decoded.size < count) throw duplicateName(start);
    },
  };
}

function isPlain(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > maxBytesInPlace) return false;
  for (let at = start; at < end; at += 1) {
    if (bytes[at] === backslash) return false;
  }
  return true;
}

function sameBytes(
  bytes: Uint8Array,
  start: number,
  end: number,
  otherStart: number,
  otherEnd: number,
): boolean {
  if (end - start !== otherEnd - otherStart) return false;
  for (let index = 0; index < end - start; index += 1) {
    if (bytes[start + index] !== bytes[otherStart + index]) return false;
  }
  return true;
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
