/**
 * Finds the top-level members of a JSON object, and refuses any body that two parsers might read
 * differently: the gateway could check one model and the upstream run another.
 */
import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../../../errors.ts';
import { decodeString } from '../../decode.ts';
import { closeBrace, comma, invalidJson, jsonText, openBrace, quote, spaceEnd } from '../text.ts';
import { addName, namesAt } from './member-names.ts';
import { afterColon, definesTools, jsonWalk, valueEnd } from './walk.ts';

/** A part of a body in byte offsets, end exclusive, without surrounding white space. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One member of a JSON object. */
export interface Member {
  /** Decoded: `mod\u0065l` becomes `model`. */
  readonly name: string;
  /** Includes the quotes. */
  readonly nameSpan: Span;
  readonly value: Span;
}

/**
 * The top-level members of a body, in order. Runs once, before the body is used to authorise
 * anything and before any `JSON.parse`.
 *
 * @throws GatewayError `invalid_request` with the reason `invalid_json`, `not_an_object`,
 * `duplicate_key` (at any depth, by decoded names), `name_too_long` (over 4,096 bytes), `too_deep`
 * (over 64 levels), `too_many_values` (over 500,000, or 10,000 members in one object), `bom` or
 * `invalid_utf8`
 */
export function scanJsonObject(body: Uint8Array): readonly Member[] {
  return scanJson(body).members;
}

/** The result of a scan. */
export interface JsonScan {
  readonly members: readonly Member[];
  /** The number of values at all depths, those of the members included. */
  readonly values: number;
  /** An object below the top level has a member of a name in `definitionNames`. */
  readonly definesTools: boolean;
}

/** As {@link scanJsonObject}, and counts the values. @throws GatewayError as that does */
export function scanJson(body: Uint8Array): JsonScan {
  const text = jsonText(body);
  const { bytes } = text;
  const members: Member[] = [];
  const walk = jsonWalk(text);
  const names = namesAt(walk.namesByDepth, 0);

  let at = bodyStart(body) + 1;
  if (bytes[at] !== quote) at = spaceEnd(bytes, at);
  let more = bytes[at] !== closeBrace;
  while (more) {
    const nameSpan = { start: at, end: addName(names, text, at) };
    const valueStart = afterColon(bytes, nameSpan.end);
    const value = { start: valueStart, end: valueEnd(walk, valueStart, 1) };
    const name = decodeString(bytes, nameSpan.start + 1, nameSpan.end - 1);
    members.push({ name, nameSpan, value });
    at = value.end;
    if (bytes[at] !== comma && bytes[at] !== closeBrace) at = spaceEnd(bytes, at);
    more = bytes[at] === comma;
    if (more) at = bytes[at + 1] === quote ? at + 1 : spaceEnd(bytes, at + 1);
  }
  if (bytes[at] !== closeBrace) throw invalidJson(at);
  const rest = spaceEnd(bytes, at + 1);
  if (rest !== bytes.length) throw invalidJson(rest);
  return { members, values: walk.values, definesTools: definesTools(walk) };
}

/** The offset of the opening brace of the body. @throws GatewayError as `scanJson` does */
export function bodyStart(body: Uint8Array): number {
  checkEncoding(body);
  const start = body[0] === openBrace ? 0 : spaceEnd(body, 0);
  if (start === body.length) throw invalidJson(start);
  if (body[start] !== openBrace) throw notAnObject();
  return start;
}

function checkEncoding(body: Uint8Array): void {
  if (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf) {
    throw new GatewayError(
      'invalid_request',
      'The request body begins with a byte order mark (BOM). Send it without one.',
      { reason: 'bom' },
    );
  }
  if (!isUtf8(body)) {
    throw new GatewayError(
      'invalid_request',
      'The request body is not valid UTF-8. Send JSON encoded as UTF-8.',
      { reason: 'invalid_utf8' },
    );
  }
}

function notAnObject(): GatewayError {
  return new GatewayError('invalid_request', 'The request body must be one JSON object: {…}.', {
    reason: 'not_an_object',
  });
}
