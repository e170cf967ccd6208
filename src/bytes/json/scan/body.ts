/** Scans a request body, with or without elided strings. */
import { setImmediate } from 'node:timers/promises';
import { type GatewayError, isGatewayError } from '../../../errors.ts';
import { mayHoldExactNumbers, parseExactly } from '../../../exact-numbers.ts';
import { type JsonValue, parseJson } from '../../../json.ts';
import { type Body, joinedBody, originalBytes } from '../../body/body.ts';
import { invalidJson } from '../text.ts';
import { scanInSteps } from './in-steps.ts';
import { type JsonScan, type Member, scanJson, scanJsonObject } from './scan.ts';

/** A scanned request body and its top-level members. */
export interface ScannedBody {
  readonly body: Body;
  readonly members: readonly Member[];
}

/** A scanned body with its number of values. */
export type WholeScan = ScannedBody & JsonScan;

/**
 * Scans a body in one go.
 *
 * @throws GatewayError as `scanJsonObject` does
 */
export function scanBody(body: Body): WholeScan {
  try {
    return { body, ...scanJson(body.text) };
  } catch (error) {
    if (body.elisions.length === 0 || !isGatewayError(error)) throw error;
    // The elided text is not valid JSON: either the body is not, and a scan of all of it finds the
    // right offset, or it is, and an elision lies inside a long list of numbers. The full text
    // replaces the elided one in every holder of this body, so that its memory is not taken twice.
    Object.assign(body, joinedBody(body.chunks));
    return { body, ...scanJson(body.text) };
  }
}

/** Texts up to this size are scanned without yielding to the event loop. */
export const largeTextBytes = 1_048_576;

/**
 * As {@link scanBody}, but yields to the event loop between sections: for texts of more than 1 MiB.
 * Most large bodies are images, and have a short text.
 */
export async function scanBodyInTurns(body: Body): Promise<WholeScan> {
  try {
    return { body, ...(await scanText(body.text)) };
  } catch (error) {
    if (body.elisions.length === 0 || !isGatewayError(error)) throw error;
    Object.assign(body, joinedBody(body.chunks));
    return { body, ...(await scanText(body.text)) };
  }
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
    scanJsonObject(joinedBody(chunks).text);
    return undefined;
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}
