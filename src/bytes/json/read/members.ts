/**
 * Reads parts of a scanned body without parsing all of it: a body of 5 MB is mostly one image, and
 * only a few short members decide how the call is handled.
 *
 * Every span must come from {@link scanJsonObject} or from these functions, which do not validate
 * again.
 */
import { type JsonValue, parseJson } from '../../../json.ts';
import { asBuffer, decodeString } from '../../decode.ts';
import type { Member, Span } from '../scan/scan.ts';
import { closeBrace, openBrace, openBracket, quote } from '../text.ts';
import { afterName, firstInside, nextInside, notScanned, skipString, skipValue } from './skip.ts';

/** The kinds of JSON values (RFC 8259 §1). */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** The kind of the value in a span, from its first byte. */
export function kindAt(body: Uint8Array, span: Span): JsonKind {
  switch (body[span.start]) {
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

/** The parsed value. Meant for small ones: a large string is copied. */
export function valueAt(body: Uint8Array, span: Span): JsonValue {
  const value = parseJson(asBuffer(body).toString('utf8', span.start, span.end));
  if (value === undefined) throw notScanned();
  return value;
}

/** The member with this decoded name; a scanned object has at most one. */
export function findMember(members: readonly Member[], name: string): Member | undefined {
  for (const member of members) {
    if (member.name === name) return member;
  }
  return undefined;
}

/** The members of the object in a span; empty if the value is not an object. */
export function membersOf(body: Uint8Array, span: Span): readonly Member[] {
  if (body[span.start] !== openBrace) return [];
  const bytes = asBuffer(body);
  const members: Member[] = [];

  let start = firstInside(bytes, span.start);
  while (bytes[start] !== closeBrace) {
    const nameSpan = { start, end: skipString(bytes, start) };
    const valueStart = afterName(bytes, nameSpan.end);
    const value = { start: valueStart, end: skipValue(bytes, valueStart) };
    const name = decodeString(bytes, nameSpan.start + 1, nameSpan.end - 1);
    members.push({ name, nameSpan, value });
    start = nextInside(bytes, value.end);
  }
  return members;
}
