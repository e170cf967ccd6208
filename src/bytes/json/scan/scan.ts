/**
 * Finds the values of a JSON object, and refuses any body that two parsers might read
 * differently: the gateway could check one model and the upstream run another.
 */
import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../../../errors.ts';
import { invalidJson, jsonText, openBrace, spaceEnd } from '../text.ts';
import { type JsonScan, jsonWalk, scanOf, valueEnd } from './walk.ts';

/** The cells of every body that needs no more; a scan is one turn. */
const scratch = new Int32Array(16_384);

/**
 * Scans a body. Runs once, before the body is used to authorise anything and before any
 * `JSON.parse`.
 *
 * @throws GatewayError `invalid_request` with the reason `invalid_json`, `not_an_object`,
 * `duplicate_key` (at any depth, by decoded names), `name_too_long` (over 4,096 bytes), `too_deep`
 * (over 64 levels), `too_many_values` (over 500,000, or 10,000 members in one object), `bom` or
 * `invalid_utf8`
 */
export function scanJson(body: Uint8Array): JsonScan {
  const text = jsonText(body);
  const walk = jsonWalk(text, scratch);
  const end = valueEnd(walk, bodyStart(body), 0, 0);
  const rest = spaceEnd(text.bytes, end);
  if (rest !== text.bytes.length) throw invalidJson(rest);
  return scanOf(walk);
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
