/** Scans a request body, with or without gaps in its text. */
import { setImmediate } from 'node:timers/promises';
import { type GatewayError, isGatewayError } from '../../../errors.ts';
import { mayHoldExactNumbers, parseExactly } from '../../../exact-numbers.ts';
import { type JsonValue, parseJson } from '../../../json.ts';
import { type Body, bytesOf, joinedBody } from '../../body/body.ts';
import { invalidJson } from '../text.ts';
import { scanInSteps } from './in-steps.ts';
import { type JsonScan, type Member, scanJson, scanJsonObject } from './scan.ts';

/** A caller's body after the scan: its bytes, and where its top-level members are. */
export interface ScannedBody {
  readonly body: Body;
  readonly members: readonly Member[];
}

/** A body that was scanned, and how much it holds. */
export type WholeScan = ScannedBody & JsonScan;

/** @throws GatewayError as `scanJsonObject` does */
export function scanBody(body: Body): WholeScan {
  try {
    return { body, ...scanJson(body.text) };
  } catch (error) {
    if (body.gaps.length === 0 || !isGatewayError(error)) throw error;
    // All of it tells where it is wrong; or it is right, and a gap lay in a list of numbers.
    // It takes the other's place in whatever holds the body, which was counted once.
    Object.assign(body, joinedBody(body.pieces));
    return { body, ...scanJson(body.text) };
  }
}

/** A text up to here is worth no turn of the event loop. */
export const largeTextBytes = 1_048_576;

/**
 * As {@link scanBody}, but in sections with a turn of the event loop between them: for texts of
 * more than 1 MiB. Most large bodies are pictures, and have a short text.
 */
export async function scanBodyInTurns(body: Body): Promise<WholeScan> {
  try {
    return { body, ...(await scanText(body.text)) };
  } catch (error) {
    if (body.gaps.length === 0 || !isGatewayError(error)) throw error;
    Object.assign(body, joinedBody(body.pieces));
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
 * The value that the text of a scanned body has from `start` to `end`, parsed with all its gaps.
 *
 * @throws GatewayError `invalid_request` with the reason `invalid_json`: a gap held a control
 *   character
 */
export function parsedPart(
  body: Body,
  start: number,
  end: number,
  parse: (text: string) => JsonValue | undefined = parseJson,
): JsonValue {
  const value = parse(bytesOf(body, start, end).toString('utf8'));
  if (value === undefined) throw faultInGaps(body) ?? invalidJson(0);
  return value;
}

/**
 * All of a scanned body as `parseExactly` reads it. Only its text is searched for such numbers: no
 * gap holds one, and a body is mostly gaps where it is large.
 *
 * @throws GatewayError as {@link parsedPart} does
 */
export function parsedExactly(body: Body): JsonValue {
  const isPlain = !mayHoldExactNumbers(body.text.toString('latin1'));
  return parsedPart(body, 0, body.text.length, isPlain ? parseJson : parseExactly);
}

/** What the scan of a body did not see: a control character in a gap. Looks at all of its bytes. */
export function faultInGaps({ gaps, pieces }: Body): GatewayError | undefined {
  if (gaps.length === 0) return undefined;
  try {
    scanJsonObject(joinedBody(pieces).text);
    return undefined;
  } catch (error) {
    if (isGatewayError(error)) return error;
    throw error;
  }
}
