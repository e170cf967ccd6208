/** Scans a request body, with or without elided strings. */
import { setImmediate } from 'node:timers/promises';
import { type GatewayError, isGatewayError } from '../../../errors.ts';
import { mayHoldExactNumbers, parseExactly } from '../../../exact-numbers.ts';
import { type JsonValue, parseJson } from '../../../json.ts';
import { type Body, joinedBody, originalBytes } from '../../body/body.ts';
import { Tape, type Value } from '../tape.ts';
import { invalidJson } from '../text.ts';
import { scanInSteps } from './in-steps.ts';
import { scanJson } from './scan.ts';
import type { JsonScan } from './walk.ts';

/** @throws GatewayError as `scanJson` does */
export function scanBody(body: Body): Tape {
  try {
    return tapeOf(body, scanJson(body.text));
  } catch (error) {
    if (body.elisions.length === 0 || !isGatewayError(error)) throw error;
    // The elided text is not valid JSON: either the body is not, and a scan of all of it finds the
    // right offset, or it is, and an elision lies inside a long list of numbers. The full text
    // replaces the elided one in every holder of this body, so that its memory is not taken twice.
    Object.assign(body, joinedBody(body.chunks));
    return tapeOf(body, scanJson(body.text));
  }
}

/** Texts up to this size are scanned without yielding to the event loop. */
export const largeTextBytes = 1_048_576;

/** As {@link scanBody}, but yields between sections: for texts of more than 1 MiB. */
export async function scanBodyInTurns(body: Body): Promise<Tape> {
  try {
    return tapeOf(body, await scanText(body.text));
  } catch (error) {
    if (body.elisions.length === 0 || !isGatewayError(error)) throw error;
    Object.assign(body, joinedBody(body.chunks));
    return tapeOf(body, await scanText(body.text));
  }
}

function tapeOf(body: Body, { cells, definesTools }: JsonScan): Tape {
  return new Tape(body, cells, definesTools);
}

async function scanText(text: Uint8Array): Promise<JsonScan> {
  const scan = scanInSteps(text);
  for (;;) {
    const step = scan.next();
    if (step.done === true) return step.value;
    await setImmediate();
  }
}

/**
 * Parses the value between `start` and `end` of the text of a scanned body, with its elided bytes.
 *
 * @throws GatewayError `invalid_request` with the reason `invalid_json` if an elision contains a
 * control character
 */
export function parsePart(
  body: Body,
  start: number,
  end: number,
  parse: (text: string) => JsonValue | undefined = parseJson,
): JsonValue {
  const value = parse(originalBytes(body, start, end).toString('utf8'));
  if (value === undefined) throw findElidedFault(body) ?? invalidJson(0);
  return value;
}

/**
 * The parsed value. Meant for small ones: a large string is copied.
 *
 * @throws GatewayError as {@link parsePart} does
 */
export function parsedValue(tape: Tape, value: Value): JsonValue {
  const start = tape.start(value);
  const end = tape.end(value);
  if (tape.length(value) !== end - start) return parsePart(tape.body, start, end);
  if (tape.isString(value)) return tape.text(value);
  const parsed = parseJson(tape.bytes.toString('utf8', start, end));
  if (parsed === undefined) throw invalidJson(start);
  return parsed;
}

/**
 * Parses a whole scanned body as `parseExactly` does. Only its text is searched for numbers that a
 * double would change: elisions contain none, and a large body is mostly elided.
 *
 * @throws GatewayError as {@link parsePart} does
 */
export function parseBodyExactly(body: Body): JsonValue {
  const isPlain = !mayHoldExactNumbers(body.text.toString('latin1'));
  return parsePart(body, 0, body.text.length, isPlain ? parseJson : parseExactly);
}

/**
 * Looks for the one error that the scan of an elided body misses, a control character in an
 * elision, by scanning all of its bytes.
 */
export function findElidedFault({ elisions, chunks }: Body): GatewayError | undefined {
  if (elisions.length === 0) return undefined;
  try {
    scanJson(joinedBody(chunks).text);
    return undefined;
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}
