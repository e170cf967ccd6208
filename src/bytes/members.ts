/**
 * Reads parts of a scanned body without parsing all of it: a body of 5 MB is mostly one picture,
 * and what decides about a call is a few short members.
 *
 * Every span must come from {@link scanJsonObject} or from here: these functions skip, they do not
 * check again.
 */
import { type JsonValue, parseJson } from '../json.ts';
import { asBuffer, decodeString, utf8Text } from './decode.ts';
import type { Member, Span } from './json-scan.ts';
import {
  backslash,
  closeBrace,
  closeBracket,
  comma,
  isSpace,
  openBrace,
  openBracket,
  quote,
  spaceEnd,
} from './json-text.ts';

/** Up to here a string is walked byte by byte; a longer one is worth a native search. */
const shortStringBytes = 32;

/** The six kinds of RFC 8259 §1. */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

/** What kind of value a span holds, known by its first byte. */
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

/** The value itself, parsed. Meant for small ones: a big string is copied. */
export function valueAt(body: Uint8Array, span: Span): JsonValue {
  const value = parseJson(utf8Text(body, span.start, span.end));
  if (value === undefined) throw notScanned();
  return value;
}

/** The member of that decoded name; a scanned object has no two. */
export function findMember(members: readonly Member[], name: string): Member | undefined {
  return members.find((member) => member.name === name);
}

/** How many bytes a string has at most once it is decoded; 0 for what is no string. */
export function stringBytes(body: Uint8Array, span: Span): number {
  return kindAt(body, span) === 'string' ? span.end - span.start - 2 : 0;
}

/** The elements of the array in a span; none if the span holds something else. */
export function elementsOf(body: Uint8Array, span: Span): readonly Span[] {
  if (body[span.start] !== openBracket) return [];
  const bytes = asBuffer(body);
  const elements: Span[] = [];

  let start = spaceEnd(bytes, span.start + 1);
  while (bytes[start] !== closeBracket) {
    const end = valueEnd(bytes, start);
    elements.push({ start, end });
    start = nextStart(bytes, end);
  }
  return elements;
}

/** The members of the object in a span; none if the span holds something else. */
export function membersOf(body: Uint8Array, span: Span): readonly Member[] {
  if (body[span.start] !== openBrace) return [];
  const bytes = asBuffer(body);
  const members: Member[] = [];

  let start = spaceEnd(bytes, span.start + 1);
  while (bytes[start] !== closeBrace) {
    const nameSpan = { start, end: stringEnd(bytes, start) };
    const valueStart = spaceEnd(bytes, spaceEnd(bytes, nameSpan.end) + 1);
    const value = { start: valueStart, end: valueEnd(bytes, valueStart) };
    const name = decodeString(bytes, nameSpan.start + 1, nameSpan.end - 1);
    members.push({ name, nameSpan, value });
    start = nextStart(bytes, value.end);
  }
  return members;
}

/** Where the next element or member begins, past the comma; or the closing bracket. */
function nextStart(bytes: Buffer, valueEnd: number): number {
  const at = spaceEnd(bytes, valueEnd);
  return bytes[at] === comma ? spaceEnd(bytes, at + 1) : at;
}

function valueEnd(bytes: Buffer, start: number): number {
  switch (bytes[start]) {
    case quote:
      return stringEnd(bytes, start);
    case openBrace:
    case openBracket:
      return containerEnd(bytes, start);
    default:
      return wordEnd(bytes, start);
  }
}

function containerEnd(bytes: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  while (at < bytes.length) {
    switch (bytes[at]) {
      case quote:
        at = stringEnd(bytes, at);
        continue;
      case openBrace:
      case openBracket:
        depth += 1;
        break;
      case closeBrace:
      case closeBracket:
        depth -= 1;
        if (depth === 0) return at + 1;
        break;
      default:
    }
    at += 1;
  }
  throw notScanned();
}

/** Where a number or a literal ends: at a comma, a bracket or white space. */
function wordEnd(bytes: Buffer, start: number): number {
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === comma || byte === closeBrace || byte === closeBracket || isSpace(byte)) return at;
  }
  throw notScanned();
}

function stringEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  for (const short = start + shortStringBytes; at < short; at += 1) {
    if (bytes[at] === quote) return at + 1;
    if (bytes[at] === backslash) at += 1;
  }
  let end = bytes.indexOf(quote, at);
  while (isEscaped(bytes, end, at)) end = bytes.indexOf(quote, end + 1);
  if (end === -1) throw notScanned();
  return end + 1;
}

/** Whether an odd number of backslashes comes before the byte; those before `from` are paired. */
function isEscaped(bytes: Buffer, at: number, from: number): boolean {
  let run = at;
  while (run > from && bytes[run - 1] === backslash) run -= 1;
  return (at - run) % 2 === 1;
}

function notScanned(): RangeError {
  return new RangeError('There is no scanned JSON value at this span.');
}
